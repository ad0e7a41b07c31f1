//! What those who look can read without asking the poller: how Slurm is reached, what it says of our jobs, and whether
//! it answers.

use crate::engine::About;
use consort_agent::news::locked;
use consort_agent::progress::Faults;
use consort_types::AllocationId;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The board.
pub struct Board {
    about: About,
    written: Mutex<Written>,
    faults: Faults,
}

#[derive(Default)]
struct Written {
    attempts: BTreeMap<AllocationId, String>,
    away: Option<(Instant, String)>,
    /// Since when an answer is waited for.
    asking: Option<Instant>,
    polled: Option<(Instant, Duration)>,
    nodes: usize,
    /// Rows of the last answers that could not be read.
    skipped: usize,
}

impl Board {
    pub(crate) fn new(about: About) -> Self {
        Self { about, written: Mutex::default(), faults: Faults::default() }
    }

    /// How Slurm is reached.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// What Slurm last said of an attempt: `Slurm job 12 is pending: Resources`.
    pub fn attempt(&self, id: AllocationId) -> Option<String> {
        let said = locked(&self.written).attempts.get(&id).cloned();
        match (said, self.faults.of(id)) {
            (Some(said), Some(fault)) => Some(format!("{said}; {fault}")),
            (said, fault) => said.or(fault),
        }
    }

    /// What is wrong with files of progress, to be kept up to date.
    pub(crate) fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// Since when Slurm does not answer, and in what way.
    pub fn away(&self) -> Option<(Duration, String)> {
        let written = locked(&self.written);
        let waiting = written.asking.map(|since| (since.elapsed(), "it takes its time".to_owned()));
        written.away.as_ref().map(|(since, words)| (since.elapsed(), words.clone())).or(waiting)
    }

    /// How long ago all nodes and jobs were looked at, how long that took, and how many nodes there are.
    pub fn polled(&self) -> Option<(Duration, Duration, usize)> {
        let written = locked(&self.written);
        written.polled.map(|(at, took)| (at.elapsed(), took, written.nodes))
    }

    /// How many rows of Slurm's last answers could not be read and were left out.
    pub fn unreadable(&self) -> usize {
        locked(&self.written).skipped
    }

    /// Told once for each change.
    pub(crate) fn skipped(&self, rows: usize) {
        let before = std::mem::replace(&mut locked(&self.written).skipped, rows);
        match (before, rows) {
            (before, rows) if before == rows => {}
            (_, 0) => tracing::info!("all rows of Slurm's answers are readable again"),
            (_, rows) => tracing::warn!(rows, "skipped rows of Slurm's answers that cannot be parsed"),
        }
    }

    pub(crate) fn tell(&self, id: AllocationId, words: Option<String>) {
        let mut written = locked(&self.written);
        match words {
            Some(words) => drop(written.attempts.insert(id, words)),
            None => drop(written.attempts.remove(&id)),
        }
    }

    pub(crate) fn asks(&self) {
        locked(&self.written).asking.get_or_insert_with(Instant::now);
    }

    pub(crate) fn answered(&self) {
        let mut written = locked(&self.written);
        (written.away, written.asking) = (None, None);
    }

    pub(crate) fn silent(&self, words: &str) {
        let mut written = locked(&self.written);
        let asked = written.asking.take().unwrap_or_else(Instant::now);
        let since = written.away.as_ref().map_or(asked, |(since, _)| *since);
        written.away = Some((since, words.to_owned()));
    }

    pub(crate) fn looked(&self, took: Duration, nodes: usize) {
        let mut written = locked(&self.written);
        (written.polled, written.nodes) = (Some((Instant::now(), took)), nodes);
    }
}
