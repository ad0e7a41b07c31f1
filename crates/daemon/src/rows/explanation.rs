//! Why one job is where it is, what would let it start, and what happened to it.

use super::jobs::{Summary, Words, beside, engine, meanwhile};
use crate::telling;
use consort_api::shapes::{AskReason, Explanation};
use consort_sched::{Doing, JobView, Reading};
use consort_types::file::value::grouped;
use consort_types::*;

/// Parts that get a sentence each.
const TOLD: usize = 20;

/// The answer to `explain`.
pub fn explanation(reading: &Reading<'_>, now: Time, words: &Words<'_>, id: JobId) -> Option<Explanation> {
    let view = reading.view();
    let job = view.job(id)?;
    let found = reading.explain(now, id)?;
    let name = job.spec().name.clone();
    let told = |(ask, reason): &(AskId, Reason)| {
        let found = view.ask(*ask);
        let engine = found.as_ref().and_then(|ask| engine(words, ask));
        let last = found.and_then(|ask| ask.last_words(now));
        let lead = match reason {
            // The sentence is about the tenant, so that it needs a verb for the job.
            Reason::Ceiling { .. } | Reason::HostCeiling { .. } => "waits: ",
            _ => "",
        };
        (*ask, beside(format!("{lead}{}", meanwhile(reason, now, engine)), last))
    };
    let told: Vec<(AskId, String)> = found.asks.iter().map(told).collect();
    let part = |ask: AskId| story::part(job.spec(), ask);
    let mut sentences: Vec<String> = match job.ending() {
        Some(why) => vec![format!("Job {id} ({name}) is ending: {}.", why.told(job.spec()))],
        None => vec![],
    };
    let counts = Counts::of_stages(reading, &job);
    let is_counted = |ask: &AskId| counts.iter().any(|(stage, _)| *stage == ask.stage);
    let is_one = told.len() == 1 && counts.is_empty();
    let is_over = |ask: &AskId| view.ask(*ask).is_some_and(|ask| ask.doing() == Doing::Done);
    let asks = told.iter().filter(|(ask, _)| !(is_counted(ask) && is_over(ask)));
    let asks = asks.map(|(ask, reason)| AskReason {
        ask: ask.to_string(),
        part: part(*ask),
        reason: reason.clone(),
    });
    let asks: Vec<AskReason> = asks.collect();
    sentences.extend(counts.iter().map(|(stage, counts)| counts.sentence(&job, *stage)));
    // Tasks are counted; of those that wait, the first says why. Everything else is told one by one.
    let mut is_new = std::collections::BTreeSet::new();
    let waits = |ask: &AskId| view.ask(*ask).is_some_and(|ask| ask.doing() == Doing::Waiting);
    let is_worth = |(ask, _): &&(AskId, String)| !is_counted(ask) || (waits(ask) && is_new.insert(ask.stage));
    let worth: Vec<&(AskId, String)> = told.iter().filter(is_worth).collect();
    sentences.extend(worth.iter().take(TOLD).map(|(ask, reason)| {
        let who = match part(*ask) {
            _ if is_counted(ask) => format!("The first pending {}", one_of(&job, ask.stage)),
            part if is_one || part.is_empty() => format!("Job {id} ({name})"),
            part => format!("{}{}", part[..1].to_uppercase(), &part[1..]),
        };
        format!("{who} {reason}.")
    }));
    if worth.len() > TOLD {
        sentences.push(format!("And {} more parts.", worth.len() - TOLD));
    }
    let remedies = reading.remedies(now, id).iter().map(ToString::to_string).collect();
    let story = telling::story(job.story(), job.spec());
    let state = Summary::of(reading, &job).state(&job);
    Some(Explanation { id: id.0, name, state, sentences, asks, remedies, story })
}

/// What the tasks of a bag, or the replicas of a service, are doing.
#[derive(Default)]
struct Counts {
    held: u64,
    waiting: u64,
    running: u64,
    ended: u64,
    /// Those of them that failed for good.
    failed: u64,
    /// Attempts that failed so far.
    failures: u64,
}

impl Counts {
    /// Of each stage that has more than one task.
    fn of_stages(reading: &Reading<'_>, job: &JobView<'_>) -> Vec<(u16, Counts)> {
        let view = reading.view();
        let stages = job.spec().stages.iter().map(|stage| stage.form.asks());
        let mut counts: Vec<(u16, Counts)> = vec![];
        for (stage, tasks) in (0u16..).zip(stages).filter(|(_, tasks)| *tasks > 1) {
            let mut count = Counts::default();
            let asks = (0..tasks).filter_map(|task| view.ask(AskId { job: job.id(), stage, task }));
            for ask in asks {
                match ask.doing() {
                    Doing::Blocked => count.held += 1,
                    Doing::Waiting | Doing::Planned => count.waiting += 1,
                    Doing::Starting | Doing::Running | Doing::Releasing => count.running += 1,
                    Doing::Done if ask.has_failed() => count.failed += 1,
                    Doing::Done => count.ended += 1,
                }
                count.failures += u64::from(ask.failures());
            }
            counts.push((stage, count));
        }
        counts
    }

    /// `Job 9 (sweep) has 1,000,000 tasks: 999,000 waiting, 8 running, 992 ended, 3 failed attempts.`
    fn sentence(&self, job: &JobView<'_>, stage: u16) -> String {
        let (spec, id) = (job.spec(), job.id());
        let form = &spec.stages[usize::from(stage)];
        let what = one_of(job, stage);
        let of_stage = if spec.stages.len() > 1 { format!(" in stage {}", form.name) } else { String::new() };
        let all = grouped(u64::from(form.form.asks()));
        let mut parts = vec![
            format!("{} waiting", grouped(self.waiting)),
            format!("{} running", grouped(self.running)),
            format!("{} ended", grouped(self.ended)),
        ];
        if self.held > 0 {
            parts.insert(0, format!("{} held", grouped(self.held)));
        }
        if self.failed > 0 {
            parts.push(format!("{} failed", grouped(self.failed)));
        }
        let plural = if self.failures == 1 { "" } else { "s" };
        parts.push(format!("{} failed attempt{plural}", grouped(self.failures)));
        format!("Job {id} ({}) has {all} {what}s{of_stage}: {}.", spec.name, parts.join(", "))
    }
}

/// What one of many in a stage is called.
fn one_of(job: &JobView<'_>, stage: u16) -> &'static str {
    match job.spec().stages[usize::from(stage)].form {
        Form::Service { .. } => "replica",
        Form::Bag { .. } | Form::Gang => "task",
    }
}
