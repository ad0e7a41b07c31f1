//! A scenario once it has been read: what is there, what is done, and what is expected when.

use crate::workload::{Cluster, Submission};
use crate::world::{Act, Delays};
use consort_sched::policy::Entry;
use consort_types::{Capabilities, Time};

/// One story.
pub(super) struct Story {
    pub cluster: Cluster,
    pub policy: Entry,
    pub delays: Delays,
    pub capabilities: Capabilities,
    pub submissions: Vec<Submission>,
    /// In order of time, as written.
    pub acts: Vec<(Time, Act)>,
    /// When the controller crashes, once everything of that instant has happened.
    pub crashes: Vec<Time>,
    /// In the order of the file.
    pub blocks: Vec<Block>,
}

/// One block of expectations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Its lines in the file, counted from 0, the last one excluded.
    pub lines: std::ops::Range<usize>,
    /// The moment it speaks of; none for the end of the story.
    pub at: Option<Time>,
    pub what: What,
    /// What the file says.
    pub expected: Vec<String>,
}

/// What a block is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Where every job is, and why.
    Jobs,
    /// What every tenant holds.
    Tenants,
    /// What happened since the last such block.
    Events,
}
