//! The state of one attempt in Slurm.
//!
//! ```text
//!              found by its tag
//!          ┌───────────────────────────┐
//!          │                           ▼
//! wanted ──┴─ not there: submitted ─▶ in Slurm ─▶ over
//!    └── refused, or gone is desired before it was submitted ──▲
//! ```
//! For: what the poller has to remember between two looks.
//! Promises: everything here can be told again from Slurm and the shared folder; only what was already reported is known
//! here alone.
//! Never: talks to anybody.

use crate::shapes::Job;
use consort_types::{AllocationId, Grace, Grant, Placement};
use std::time::{Duration, Instant};

/// One attempt.
pub(crate) struct Attempt {
    pub id: AllocationId,
    /// Absent for one of which only its going is desired.
    pub placement: Option<Placement>,
    /// Names of its nodes where there is no placement, if they are written down.
    pub nodes: Option<Vec<String>>,
    pub grace: Grace,
    pub state: State,
    pub told_started: bool,
    /// Nobody waits for a report any more.
    pub forgotten: bool,
    pub gone_is_desired: bool,
    /// Why it is taken back although it is desired.
    pub refused: Option<String>,
    pub leaving: Option<Leaving>,
    /// Since when it says itself that it ended, and not that it succeeded.
    pub recorded: Option<Instant>,
    pub done: bool,
}

/// Where it is.
pub(crate) enum State {
    /// It has to be submitted.
    Wanted {
        not_before: Instant,
        /// It may have been submitted already: look for its tag first.
        search: bool,
    },
    /// Slurm has it.
    InSlurm {
        job: u64,
        /// Since when we know.
        since: Instant,
        /// What Slurm last said of it and of its parts.
        rows: Rows,
        /// In how many looks Slurm did not know it.
        missing: u32,
    },
    /// Nothing of it is left.
    Over,
}

/// What Slurm said of a job and of its parts, and what that comes to. Worked out once: it is asked about far more often
/// than it changes.
#[derive(Default)]
pub(crate) struct Rows {
    all: Vec<Job>,
    /// Absent while nothing was said.
    sight: Option<Sight>,
}

impl Rows {
    /// What was said.
    pub fn all(&self) -> &[Job] {
        &self.all
    }

    /// What it comes to, if anything was said.
    pub fn sight(&self) -> Option<Sight> {
        self.sight
    }

    /// Whether anything is said that was not known.
    pub fn update(&mut self, now: &[&Job]) -> bool {
        if self.all.iter().eq(now.iter().copied()) {
            return false;
        }
        self.all = now.iter().map(|&row| row.clone()).collect();
        self.sight = (!self.all.is_empty()).then(|| sight(&self.all));
        true
    }
}

/// It is on its way out.
pub(crate) struct Leaving {
    /// Since when.
    pub since: Instant,
    /// When its workers were asked to go.
    pub asked: Option<Instant>,
    /// When Slurm was last told to end it.
    pub cancelled: Option<Instant>,
}

/// How long a sign may take before Slurm is asked.
const SOON: Duration = Duration::from_millis(700);

/// States in which nothing of a job is left.
const FINAL: &[&str] = &[
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "LAUNCH_FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
];

/// What Slurm's rows about one job come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// It waits for Slurm to start it.
    Pending,
    /// It runs, or is being ended.
    Up,
    /// It is over.
    Over,
}

/// What a job of one or more parts does, all in all.
pub(crate) fn sight(rows: &[Job]) -> Sight {
    let is_over = |row: &Job| row.is(FINAL) && !row.is(&["COMPLETING"]);
    let is_pending = |row: &Job| {
        row.is(&["PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "CONFIGURING"])
    };
    if rows.iter().all(is_over) {
        Sight::Over
    } else if rows.iter().any(|row| is_pending(row) && !row.is(&["COMPLETING"])) {
        Sight::Pending
    } else {
        Sight::Up
    }
}

/// The row that speaks for all: the part that something happened to, else the first.
pub(crate) fn speaker(rows: &[Job]) -> Option<&Job> {
    let telling = ["OUT_OF_MEMORY", "NODE_FAIL", "TIMEOUT", "PREEMPTED", "BOOT_FAIL", "DEADLINE"];
    let found = telling.iter().find_map(|word| rows.iter().find(|row| row.is(&[word])));
    found.or_else(|| rows.iter().min_by_key(|row| row.id))
}

impl Attempt {
    pub fn new(id: AllocationId, state: State) -> Self {
        Self {
            id,
            placement: None,
            nodes: None,
            grace: Grace::default(),
            state,
            told_started: false,
            forgotten: false,
            gone_is_desired: false,
            refused: None,
            leaving: None,
            recorded: None,
            done: false,
        }
    }

    /// Its number in Slurm.
    pub fn job(&self) -> Option<u64> {
        match self.state {
            State::InSlurm { job, .. } => Some(job),
            _ => None,
        }
    }

    /// What it was granted.
    pub fn grants(&self) -> &[Grant] {
        self.placement.as_ref().map_or(&[], |placement| &placement.grants)
    }

    /// Whether it ran when Slurm was last asked about it.
    pub fn is_up(&self) -> bool {
        matches!(&self.state, State::InSlurm { rows, .. } if rows.sight() == Some(Sight::Up))
    }

    /// Whether nobody knows where it is.
    pub fn may_be_anywhere(&self) -> bool {
        self.placement.is_none() && self.nodes.is_none()
    }

    /// Something is going to happen to it of which only Slurm can tell. One that starts gives a sign itself, mostly
    /// sooner than a look would show it.
    pub fn is_restless(&self) -> bool {
        match &self.state {
            State::InSlurm { since, .. } => {
                self.leaving.is_some()
                    || self.recorded.is_some()
                    || (!self.told_started && since.elapsed() > SOON)
            }
            _ => false,
        }
    }

    /// Its waiting is counted from now.
    pub fn waits_anew(&mut self) {
        if let State::InSlurm { since, .. } = &mut self.state {
            *since = Instant::now();
        }
    }

    /// It runs, everybody knows, and nobody wants anything else: only news can change that.
    pub fn is_settled(&self) -> bool {
        self.told_started && !self.gone_is_desired && !self.is_restless()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u64, state: &[&str]) -> Job {
        Job { id, state: state.iter().map(|&word| word.into()).collect(), ..Job::default() }
    }

    #[test]
    fn parts_are_seen_as_one() {
        assert_eq!(sight(&[row(1, &["PENDING"])]), Sight::Pending);
        assert_eq!(sight(&[row(1, &["RUNNING"]), row(2, &["PENDING"])]), Sight::Pending);
        assert_eq!(sight(&[row(1, &["RUNNING"]), row(2, &["RUNNING"])]), Sight::Up);
        assert_eq!(sight(&[row(1, &["COMPLETED"]), row(2, &["COMPLETING", "COMPLETED"])]), Sight::Up);
        assert_eq!(sight(&[row(1, &["COMPLETING"])]), Sight::Up);
        assert_eq!(sight(&[row(1, &["COMPLETED"]), row(2, &["CANCELLED"])]), Sight::Over);
        assert_eq!(sight(&[row(1, &["SUSPENDED"])]), Sight::Up);
        assert_eq!(sight(&[row(1, &["FAILED", "REQUEUED"])]), Sight::Over);
    }

    #[test]
    fn only_news_is_news() {
        let mut rows = Rows::default();
        assert_eq!(rows.sight(), None);
        let (first, second) = (row(1, &["RUNNING"]), row(2, &["PENDING"]));
        assert!(rows.update(&[&first, &second]));
        assert_eq!((rows.sight(), rows.all().len()), (Some(Sight::Pending), 2));
        assert!(!rows.update(&[&first, &second]));
        assert!(rows.update(&[&first]));
        assert_eq!(rows.sight(), Some(Sight::Up));
    }

    #[test]
    fn the_part_that_something_happened_to_speaks() {
        let rows = [row(1, &["CANCELLED"]), row(2, &["NODE_FAIL"])];
        assert_eq!(speaker(&rows).unwrap().id, 2);
        assert_eq!(speaker(&[row(5, &["FAILED"]), row(4, &["COMPLETED"])]).unwrap().id, 4);
    }
}
