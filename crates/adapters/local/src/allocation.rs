//! The state of one allocation on this machine.
//!
//! ```text
//!            all up                    a worker failed, or gone is desired          nobody left
//! starting ──────────▶ released ────────────────────────────────────────▶ winding ─────────────▶ done
//!    └── one cannot start, or gone is desired ──────────────────────────────▲
//! ```
//! For: what the keeper has to remember between two looks.
//! Promises: everything here can be told again from the run folder and the records; only what was already reported, and
//! what a shim told its parent before its record was tampered with, is known here alone.
//! Never: does anything to a process or a file.

use crate::outcome::End;
use crate::report::Report;
use consort_agent::launch::{Order, ShimChild, Slot};
use consort_agent::process::Identity;
use consort_agent::status::{Exited, Lost, Started};
use consort_types::AllocationId;
use rustix::fd::OwnedFd;
use std::thread::JoinHandle;
use std::time::Instant;

/// One allocation.
pub(crate) struct Allocation {
    pub id: AllocationId,
    pub members: Vec<Member>,
    /// What its workers are to be; until they have been started, and only if this world starts them.
    pub orders: Vec<Order>,
    pub gone_is_desired: bool,
    /// Nobody waits for a report any more: when it is over it is removed.
    pub forgotten: bool,
    /// Workers may run. For a gang: the word was given.
    pub released: bool,
    pub told_started: bool,
    /// Why it is rolled back.
    pub refused: Option<String>,
    pub done: bool,
    /// Since when it is looked at again and again.
    pub restless: Option<Instant>,
}

/// One worker.
pub(crate) struct Member {
    pub slot: Slot,
    pub state: State,
    /// How often a shim was started for it by this world.
    pub tries: u32,
    /// How the last of them left, if it left without a record.
    pub left: Option<Departure>,
    /// Who has taken it on, once a shim was seen to. From then on nothing is started for it, whatever its files say.
    pub begun: Option<Started>,
    /// A process of it was seen although no shim was.
    pub seen: bool,
    /// How it ended, in the words of its shim to its parent.
    pub ended: Option<Exited>,
    /// What of its output was not kept.
    pub lost: Option<Lost>,
    /// What its shim left behind when it died: killed, and perhaps not gone yet.
    pub dying: Vec<Identity>,
    /// What removes the container that its shim left behind.
    pub removal: Option<JoinHandle<()>>,
}

/// How a shim left without a record, or why none was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Departure {
    pub why: String,
    /// Nothing speaks against another one: the slot is still open, and its lock keeps a second shim out.
    pub again: bool,
}

impl Departure {
    /// One after which another try would end the same way.
    pub fn for_good(why: impl Into<String>) -> Self {
        Self { why: why.into(), again: false }
    }
}

/// What is known of one worker.
pub(crate) enum State {
    /// Its folder is new: no shim of an earlier daemon can be about.
    Fresh,
    /// Its slot has to be looked at.
    Unsettled,
    /// Its shim is watched.
    Watched(Watch),
    /// Nothing of it is left.
    Over(End),
}

/// A shim that is watched.
pub(crate) struct Watch {
    pub pidfd: OwnedFd,
    pub token: u64,
    /// Present if it is our child: it has to be reaped, and tells us itself how it fares.
    pub child: Option<(ShimChild, Report)>,
    /// It has taken the slot.
    pub up: bool,
    /// It was asked to stop.
    pub asked: bool,
}

impl Allocation {
    pub fn new(id: AllocationId, members: Vec<Member>) -> Self {
        Self {
            id,
            members,
            orders: Vec::new(),
            gone_is_desired: false,
            forgotten: false,
            released: false,
            told_started: false,
            refused: None,
            done: false,
            restless: None,
        }
    }

    /// A gang waits for its last member.
    pub fn is_gang(&self) -> bool {
        self.members.len() > 1
    }

    /// Whoever still runs is to stop.
    pub fn is_winding(&self) -> bool {
        let failed = |member: &Member| match &member.state {
            State::Over(End::Exited(exited)) => !exited.is_success(),
            State::Over(_) => true,
            _ => false,
        };
        self.gone_is_desired || self.refused.is_some() || self.members.iter().any(failed)
    }

    /// How everybody ended, once everybody has.
    pub fn ends(&self) -> Option<Vec<End>> {
        let end = |member: &Member| match &member.state {
            State::Over(end) => Some(end.clone()),
            _ => None,
        };
        self.members.iter().map(end).collect()
    }
}

impl Member {
    pub fn new(slot: Slot, fresh: bool) -> Self {
        let state = if fresh { State::Fresh } else { State::Unsettled };
        Self {
            slot,
            state,
            tries: 0,
            left: None,
            begun: None,
            seen: false,
            ended: None,
            lost: None,
            dying: Vec::new(),
            removal: None,
        }
    }

    /// Its shim has taken the slot, or had.
    pub fn has_begun(&self) -> bool {
        match &self.state {
            State::Watched(watch) => watch.up,
            State::Over(end) => *end != End::Void,
            _ => false,
        }
    }
}
