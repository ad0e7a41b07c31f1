//! What happened to one job: its last few entries, each with the time, the attempt and the cause.
//!
//! Written by `apply` and therefore the same after every replay. An entry names others by what they were called then,
//! so that it can be read after they are gone.

use crate::cluster::Thousandths;
use crate::id::AskId;
use crate::input::Outcome;
use crate::job::{Form, JobSpec};
use crate::plan::Claim;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Entries that are kept of one job.
const KEPT: usize = 8;

/// The last entries, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Story(Vec<Entry>);

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// When it happened.
    pub at: Time,
    /// The part of the job it happened to.
    pub ask: AskId,
    /// The attempt it happened to; 0 if it happened to the job.
    pub attempt: u32,
    /// What it was.
    pub what: Happened,
}

/// What happened to a job, or to an attempt of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happened {
    /// Devices were taken for a job with a better claim.
    Preempted {
        /// Which part of which job.
        by: AskId,
        /// What that job is called.
        name: String,
        /// Whose it is.
        tenant: String,
        /// The rule; absent where the journal does not say.
        claim: Option<Claim>,
    },
    /// The policy interrupted it for no other job.
    Yielded,
    /// The work failed.
    Failed {
        /// How.
        outcome: Outcome,
        /// The words of the world, if any.
        why: Option<Arc<str>>,
        /// When it is tried again; never, if no retries left.
        again_at: Option<Time>,
    },
    /// The world ended it without being asked to.
    Interrupted {
        /// The words of the world, if any.
        why: Option<Arc<str>>,
    },
    /// The world could not start it.
    StartRefused {
        /// The words of the world.
        why: Arc<str>,
        /// When it is tried again.
        again_at: Time,
    },
    /// The node was given up.
    NodeLost {
        /// Its name.
        node: Arc<str>,
    },
    /// A device became unhealthy, and the job was moved off it.
    DeviceUnhealthy {
        /// The name of its node.
        node: Arc<str>,
        /// Its position there.
        device: u32,
        /// The words of the world.
        why: Arc<str>,
    },
    /// Another attempt is up.
    Started,
    /// A user paused the job.
    Paused,
    /// A user resumed the job.
    Resumed,
    /// A user cancelled the job. Entered when it has ended, and kept with its end.
    Cancelled,
    /// It got another placement.
    Resized {
        /// Workers that it had.
        from: u32,
        /// Workers that it has; the same where it was only moved.
        to: u32,
        /// Whether it ran on. Otherwise the next attempt starts with the new placement.
        in_place: bool,
    },
    /// The world did not resize it; it runs on as it did.
    ResizeRefused {
        /// Workers that it has.
        from: u32,
        /// Workers that it was to have.
        to: u32,
        /// The words of the world.
        why: Arc<str>,
    },
}

impl Story {
    /// Adds an entry; the oldest goes when there are too many.
    pub fn push(&mut self, entry: Entry) {
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push(entry);
    }

    /// The entries, the oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }
}

impl Entry {
    /// In one word, for programs.
    pub fn kind(&self) -> &'static str {
        match self.what {
            Happened::Preempted { .. } => "preempted",
            Happened::Yielded => "yielded",
            Happened::Failed { .. } => "failed",
            Happened::Interrupted { .. } => "interrupted",
            Happened::StartRefused { .. } => "start-refused",
            Happened::NodeLost { .. } => "node-lost",
            Happened::DeviceUnhealthy { .. } => "device-unhealthy",
            Happened::Started => "started",
            Happened::Resized { .. } => "resized",
            Happened::ResizeRefused { .. } => "resize-refused",
            Happened::Paused => "paused",
            Happened::Resumed => "resumed",
            Happened::Cancelled => "cancelled",
        }
    }

    /// In words, without the time: `attempt 1 was preempted for job 17 (train-b, tenant blue): priority 5 over 0`.
    pub fn told(&self, spec: &JobSpec) -> String {
        let part = part(spec, self.ask);
        let part = if part.is_empty() { part } else { format!("{part}, ") };
        match self.attempt {
            0 => self.what.to_string(), // of the whole job
            attempt => format!("{part}attempt {attempt} {}{}", self.what, self.next()),
        }
    }

    /// How it goes on.
    fn next(&self) -> String {
        let again = |at: Time| {
            let how = match rounded((at - self.at).max(Span::ZERO)) {
                Span::ZERO => "is pending without a back-off".into(),
                wait => format!("starts after a back-off of {wait}"),
            };
            format!("; attempt {} {how}", self.attempt + 1)
        };
        match &self.what {
            Happened::Failed { again_at: Some(at), .. } | Happened::StartRefused { again_at: at, .. } => {
                again(*at)
            }
            Happened::Failed { again_at: None, .. } => "; no retries left".into(),
            Happened::Resized { in_place: false, .. } => {
                format!("; attempt {} goes on from there", self.attempt + 1)
            }
            _ => String::new(),
        }
    }
}

/// To the millisecond.
fn rounded(span: Span) -> Span {
    Span(span.0 / 1_000_000 * 1_000_000)
}

/// Which part of its job an ask is; empty for a job that has only one.
pub fn part(spec: &JobSpec, ask: AskId) -> String {
    let Some(stage) = spec.stages.get(usize::from(ask.stage)) else { return String::new() };
    let task = match stage.form {
        Form::Gang => String::new(),
        Form::Bag { .. } => format!("task {}", stage.index(ask.task)),
        Form::Service { .. } => format!("replica {}", ask.task),
    };
    match (spec.stages.len(), task.is_empty()) {
        (1, _) => task,
        (_, true) => format!("stage {}", stage.name),
        (_, false) => format!("{task} of stage {}", stage.name),
    }
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |why: &Option<Arc<str>>| why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        match self {
            Happened::Preempted { by, name, tenant, claim } => {
                write!(f, "was preempted for job {} ({name}, tenant {tenant})", by.job)?;
                claim.map_or(Ok(()), |claim| write!(f, ": {}", claim.told(tenant)))
            }
            Happened::Yielded => f.write_str("was interrupted by the policy"),
            Happened::Failed { outcome: Outcome::Succeeded, .. } => {
                f.write_str("ended, although replicas of a service must not")
            }
            Happened::Failed { outcome, why, .. } => write!(f, "{outcome}{}", said(why)),
            Happened::Interrupted { why } => write!(f, "was stopped outside Consort{}", said(why)),
            Happened::StartRefused { why, .. } => write!(f, "could not be started: {why}"),
            Happened::NodeLost { node } => write!(f, "lost node {node}"),
            Happened::DeviceUnhealthy { node, device, why } => {
                write!(f, "was moved off device {device} of node {node}: unhealthy ({why})")
            }
            Happened::Started => f.write_str("is up"),
            Happened::Resized { from, to, .. } if from == to => f.write_str("was moved to other devices"),
            Happened::Resized { from, to, .. } => write!(f, "was resized from {from} to {to} workers"),
            Happened::ResizeRefused { from, to, why } => {
                write!(f, "could not be resized from {from} to {to} workers: {why}")
            }
            Happened::Paused => f.write_str("paused"),
            Happened::Resumed => f.write_str("resumed"),
            Happened::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl Claim {
    /// The rule in words, for a claimant of this tenant.
    pub fn told(self, tenant: &str) -> String {
        match self {
            Claim::Guarantee { used, guarantee } => {
                let (used, guarantee) = (Thousandths(used), Thousandths(guarantee));
                format!("guarantee of {tenant}, {used} of {guarantee} devices used")
            }
            Claim::BestEffort => "best-effort jobs are preempted first".into(),
            Claim::Priority { claimant, victim } if claimant.0 == victim.0 => {
                format!("priority {} over {}", claimant.1, victim.1)
            }
            Claim::Priority { claimant, victim } => format!("{} over {}", claimant.0, victim.0),
            Claim::Order => "ahead in the policy's order".into(),
        }
    }

    /// In one word, for programs.
    pub fn word(self) -> &'static str {
        match self {
            Claim::Guarantee { .. } => "guarantee",
            Claim::BestEffort => "best-effort",
            Claim::Priority { .. } => "priority",
            Claim::Order => "order",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Cause;
    use crate::{JobId, Shape};

    fn entry(attempt: u32, what: Happened) -> Entry {
        Entry { at: Time::seconds(100), ask: AskId::whole(JobId(3)), attempt, what }
    }

    #[test]
    fn entries_say_who_took_what_and_by_which_rule() {
        let spec = JobSpec::gang("a", 1, Shape::any());
        let by = |claim| Happened::Preempted {
            by: AskId::whole(JobId(17)),
            name: "train-b".into(),
            tenant: "blue".into(),
            claim,
        };
        let guarantee = Claim::Guarantee { used: 2000, guarantee: 4000 };
        assert_eq!(
            entry(1, by(Some(guarantee))).told(&spec),
            "attempt 1 was preempted for job 17 (train-b, tenant blue): guarantee of blue, 2 of 4 devices used"
        );
        assert_eq!(
            entry(2, by(None)).told(&spec),
            "attempt 2 was preempted for job 17 (train-b, tenant blue)"
        );
        let outcome = Outcome::Failed { code: 137, cause: Cause::Exit };
        let failed = |again_at| Happened::Failed { outcome, why: None, again_at };
        assert_eq!(
            entry(1, failed(Some(Time::seconds(110)))).told(&spec),
            "attempt 1 failed with status 137; attempt 2 starts after a back-off of 10s"
        );
        assert_eq!(entry(3, failed(None)).told(&spec), "attempt 3 failed with status 137; no retries left");
        let ill = Happened::DeviceUnhealthy { node: "a".into(), device: 3, why: "Xid 79".into() };
        assert_eq!(
            entry(1, ill).told(&spec),
            "attempt 1 was moved off device 3 of node a: unhealthy (Xid 79)"
        );
        assert_eq!(entry(0, Happened::Paused).told(&spec), "paused");
        let resized = |from, to, in_place| entry(1, Happened::Resized { from, to, in_place }).told(&spec);
        assert_eq!(resized(2, 4, true), "attempt 1 was resized from 2 to 4 workers");
        assert_eq!(
            resized(4, 2, false),
            "attempt 1 was resized from 4 to 2 workers; attempt 2 goes on from there"
        );
        assert_eq!(resized(2, 2, true), "attempt 1 was moved to other devices");
        let mut bag = spec.clone();
        bag.stages[0].form = Form::Bag { tasks: 9 };
        let of_task =
            Entry { ask: AskId { task: 4, ..AskId::whole(JobId(3)) }, ..entry(1, Happened::Started) };
        assert_eq!(of_task.told(&bag), "task 4, attempt 1 is up");
        for (what, words) in [(Happened::Paused, "paused"), (Happened::Cancelled, "cancelled")] {
            assert_eq!(entry(0, what).told(&bag), words, "of all tasks");
        }
    }

    #[test]
    fn only_the_last_entries_are_kept() {
        let mut story = Story::default();
        (1..=20).for_each(|attempt| story.push(entry(attempt, Happened::Started)));
        let kept: Vec<u32> = story.entries().iter().map(|entry| entry.attempt).collect();
        assert_eq!(kept, (13..=20).collect::<Vec<u32>>());
    }
}
