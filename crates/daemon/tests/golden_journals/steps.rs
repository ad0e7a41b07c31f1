//! What a scheduler knows in the course of a journal, as two short digests for every [`WINDOW`] events: of the facts after
//! each of these events, and of the reasons after the last.
//!
//! Facts (phases, placements, counters, accounts, devices) follow from the journal alone; no later version may differ in
//! one of them. Reasons are what the policy says about pending asks, so they change when the policy does. Only plain
//! numbers and names go into a digest, in a fixed order: a field that a later version adds changes nothing.

use crate::story::Story;
use crate::told_reason;
use consort_sched::{Scheduler, View};
use consort_types::{DeviceId, Digest};
use serde_json::Value;
use std::hash::{Hash, Hasher};

/// Events of one step. Keeps the files small, and the test quick: explaining every pending job takes longer than an event.
const WINDOW: usize = 32;

/// After some events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The last of them, counted from 1.
    pub event: usize,
    pub facts: u32,
    pub reasons: u32,
}

impl Step {
    fn parse(line: &str) -> Self {
        let number = |text: &str| u32::from_str_radix(text, 16).expect("a number in base 16");
        let [event, facts, reasons] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("three numbers: {line}")
        };
        Step {
            event: event.parse().expect("the number of an event"),
            facts: number(facts),
            reasons: number(reasons),
        }
    }

    /// The events that it is about.
    pub fn events(&self) -> String {
        format!("events {} to {}", (self.event - 1) / WINDOW * WINDOW + 1, self.event)
    }
}

/// Every step of a story.
pub fn all(story: &Story) -> Vec<Step> {
    let mut scheduler = Scheduler::new(story.policy(), story.capabilities());
    let (mut steps, mut event_number, mut window) = (vec![], 0, Digest::seeded(1));
    let mut end = |scheduler: &mut Scheduler, window: &mut Digest, event| {
        let facts = short(&std::mem::replace(window, Digest::seeded(1)));
        steps.push(Step { event, facts, reasons: reasons(scheduler) });
    };
    let torn = story.shelf().each_event(0, |_, event| {
        scheduler.apply(&event);
        scheduler.forget_outboxes();
        facts(&scheduler.view(), &mut window);
        event_number += 1;
        if event_number % WINDOW == 0 {
            end(&mut scheduler, &mut window, event_number);
        }
    });
    assert_eq!(torn.expect("the journal can be read"), None, "the journal is whole");
    if event_number % WINDOW != 0 {
        end(&mut scheduler, &mut window, event_number);
    }
    steps
}

pub fn read(text: &str) -> Vec<Step> {
    text.lines().map(Step::parse).collect()
}

pub fn write(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("{} {:08x} {:08x}\n", step.event, step.facts, step.reasons)).collect()
}

/// The first step in which two tellings differ.
pub fn first_difference<'a>(then: &'a [Step], now: &[Step], of: impl Fn(&Step) -> u32) -> Option<&'a Step> {
    let events = |steps: &[Step]| steps.iter().map(|step| step.event).collect::<Vec<_>>();
    assert_eq!(events(then), events(now), "the same steps of the same journal");
    then.iter().zip(now).find(|(then, now)| of(then) != of(now)).map(|(then, _)| then)
}

fn short(digest: &Digest) -> u32 {
    (digest.finish() >> 32) as u32
}

fn facts(view: &View<'_>, digest: &mut Digest) {
    let now = view.now();
    (now.0, view.next_job().0, view.living_count()).hash(digest);
    for job in view.jobs() {
        let ending = job.ending().map(|why| format!("{:?}", why.ending()));
        (job.id().0, job.is_paused(), ending, job.submitted().0).hash(digest);
        for ask in job.asks().filter_map(|id| view.ask(id)) {
            (ask.id().stage, ask.id().task, format!("{:?}", ask.doing()), ask.attempt()).hash(digest);
            ask.fills().iter().for_each(|fill| (fill.shape, fill.count).hash(digest));
            ask.grants()
                .iter()
                .for_each(|grant| (grant.device.0, grant.share, grant.memory_bytes).hash(digest));
            (ask.queued().0, ask.not_before().0, ask.turn(), ask.last_spell().0).hash(digest);
            (ask.preemptions(), ask.restarts(), ask.failures()).hash(digest);
            (ask.served_until(now).0, ask.worked_until(now).0, ask.attained_until(now)).hash(digest);
        }
    }
    for (tenant, _) in view.tenants() {
        for (kind, _) in view.kinds() {
            let account = view.account(tenant, kind);
            (account.guarantee, account.ceiling, account.held, account.usage_device_ms).hash(digest);
            view.recent(tenant, kind).hash(digest);
        }
    }
    for node in view.nodes() {
        (node.usable, node.fenced, node.suspect, node.drained).hash(digest);
        for position in 0..node.devices {
            let device = view.device(DeviceId(node.first.0 + position));
            (device.held, device.foreign, device.ill).hash(digest);
        }
    }
}

fn reasons(scheduler: &mut Scheduler) -> u32 {
    let mut digest = Digest::seeded(2);
    let reading = scheduler.reading();
    let now = reading.view().now();
    for job in reading.view().jobs() {
        let explained = reading.explain(now, job.id()).expect("it is alive");
        for (ask, reason) in &explained.asks {
            let mut told = told_reason::facts(*ask, reason);
            without_words(&mut told);
            told.to_string().hash(&mut digest);
        }
    }
    short(&digest)
}

/// How something is worded may change.
fn without_words(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("words");
            fields.values_mut().for_each(without_words);
        }
        Value::Array(list) => list.iter_mut().for_each(without_words),
        _ => {}
    }
}
