//! The state of things as sentences: where every job is and why, what every tenant holds.
//!
//! Reasons are those of `explain`. Only ids are replaced by the names that the story uses.

use super::chronicle::Chronicle;
use consort_sched::{Ending, Scheduler};
use consort_types::narrate::{Names, places, span};
use consort_types::*;

/// A time to the last nanosecond, since here every second counts: `1h2s`, `1m30.5s`.
pub(super) fn exact(time: Time) -> String {
    let (mut rest, mut shown) = (time.0.unsigned_abs(), String::new());
    for (size, unit) in [(86_400_000_000_000u64, "d"), (3_600_000_000_000, "h"), (60_000_000_000, "m")] {
        if rest >= size {
            shown += &format!("{}{unit}", rest / size);
            rest %= size;
        }
    }
    if rest > 0 || shown.is_empty() {
        let fraction = format!("{:09}", rest % 1_000_000_000);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        shown += &format!("{}{point}{fraction}s", rest / 1_000_000_000);
    }
    shown
}

/// `a`, `a.train`, `a[2]`, `a.work[2-4]`: an ask, or a row of them.
pub(super) fn asks(spec: &JobSpec, first: AskId, last_task: u32) -> String {
    let stage = &spec.stages[usize::from(first.stage)];
    let path = match spec.stages.len() {
        1 => spec.name.clone(),
        _ => format!("{}.{}", spec.name, stage.name),
    };
    match stage.form {
        Form::Gang => path,
        _ => format!("{path}[{}]", span(first.task, last_task)),
    }
}

/// How a job ended, in a word.
pub(super) fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Succeeded => "succeeded",
        Ending::Failed => "failed",
        Ending::Cancelled => "cancelled",
    }
}

/// One or more lines for every job that was submitted so far, in order of submission.
pub(super) fn jobs(scheduler: &Scheduler, chronicle: &Chronicle, now: Time) -> Vec<String> {
    let mut lines = vec![];
    for (name, fate) in &chronicle.submitted {
        let id = match fate {
            Err(refusal) => {
                lines.push(format!("{name} was refused: {refusal}"));
                continue;
            }
            Ok(id) => *id,
        };
        match (chronicle.ended.get(&id), scheduler.explain(now, id)) {
            (Some((how, at)), _) => lines.push(format!("{name} ended: {} at {}", ending(*how), exact(*at))),
            (None, Some(explanation)) => lines.extend(job(scheduler, chronicle, now, &explanation)),
            (None, None) => lines.push(format!("{name} is nowhere: this is a bug")),
        }
    }
    lines
}

fn job(scheduler: &Scheduler, chronicle: &Chronicle, now: Time, explanation: &Explanation) -> Vec<String> {
    let spec = chronicle.spec(explanation.job);
    let mut lines = vec![];
    for (index, (ask, reason)) in explanation.asks.iter().enumerate() {
        // What is said of one holds for all up to the next that is spoken of.
        let last = match explanation.asks.get(index + 1) {
            Some((next, _)) if next.stage == ask.stage => next.task - 1,
            _ => spec.stages[usize::from(ask.stage)].form.asks() - 1,
        };
        let words = scheduler.view().ask(*ask).and_then(|ask| ask.last_words(now));
        let words = words.map_or(String::new(), |words| format!("; {words}"));
        let doing = doing(scheduler, chronicle, *ask, reason);
        lines.push(format!("{} {doing}{words}", asks(spec, *ask, last)));
    }
    lines
}

fn doing(scheduler: &Scheduler, chronicle: &Chronicle, id: AskId, reason: &Reason) -> String {
    let view = scheduler.view();
    let cast = chronicle.cast();
    let here = || places(view.ask(id).map_or(&[], |ask| ask.grants()), &cast);
    let list = |names: Vec<String>| names.join(" and ");
    match reason {
        Reason::Running { apart: Some(level), .. } => format!("runs on {}, not within one {level}", here()),
        Reason::Running { .. } => format!("runs on {}", here()),
        Reason::Resizing { from, to, in_place, after, .. } => {
            let next = view.ask(id).and_then(|ask| ask.resizing());
            let there = places(next.map_or(&[], |(next, _)| &next.grants), &cast);
            let how = if *in_place { "runs on" } else { "is releasing" };
            let then = if *in_place { "is being resized" } else { "is being restarted" };
            let after: Vec<String> = after.iter().map(|giver| cast.ask(giver.ask)).collect();
            let once = match after.is_empty() {
                true => String::new(),
                false => format!(" that {} is releasing", list(after)),
            };
            format!("{how} {} and {then} from {from} to {to} workers on {there}{once}", here())
        }
        Reason::Starting => format!("is starting on {}", here()),
        Reason::Releasing => format!("is releasing {}", here()),
        Reason::Promised(from) => {
            let from = from.iter().map(|giver| cast.ask(giver.ask)).collect();
            format!("is promised {} that {} is releasing", here(), list(from))
        }
        Reason::AfterJobs(jobs) => {
            let names = jobs.iter().map(|&job| cast.job(job)).collect();
            format!("waits for {}", list(names))
        }
        Reason::AfterStages(stages) => format!("waits for stage {}", list(stages.clone())),
        Reason::EarlierAttempt { .. } => reason.to_string(),
        Reason::BackingOff { until, last } => format!("retries at {}: {last}", exact(*until)),
        Reason::NoRoom { .. } | Reason::Ceiling { .. } | Reason::HostCeiling { .. } => {
            format!("waits: {reason}")
        }
        Reason::Done
        | Reason::Next
        | Reason::Paused
        | Reason::Behind { .. }
        | Reason::Deferred { .. }
        | Reason::NotReached => reason.to_string(),
    }
}

/// What every tenant holds.
pub(super) fn tenants(scheduler: &Scheduler) -> Vec<String> {
    let view = scheduler.view();
    let tenants = view.tenants().map(|(id, tenant)| {
        let of_hosts = Pool::ALL.into_iter().map(|pool| (pool, view.pool_account(id, pool).held));
        let of_hosts = of_hosts.filter(|(_, held)| *held > 0).map(|(pool, held)| pool.words(held));
        let held: Vec<String> = view
            .kinds()
            .map(|(kind, spec)| (view.account(id, kind).held, &spec.name))
            .filter(|(held, _)| *held > 0)
            .map(|(held, kind)| format!("{} {kind}", held as f64 / f64::from(WHOLE)))
            .chain(of_hosts)
            .collect();
        match held.is_empty() {
            true => (tenant, format!("tenant {} holds nothing", tenant.name)),
            false => (tenant, format!("tenant {} holds {}", tenant.name, held.join(" and "))),
        }
    });
    // The tenant that every cluster has is worth a line only when it holds something.
    tenants
        .filter(|(tenant, line)| tenant.name != crate::workload::DEFAULT || !line.ends_with("nothing"))
        .map(|(_, line)| line)
        .collect()
}
