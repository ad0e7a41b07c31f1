//! The state, saved at one position of the journal and brought back.
//!
//! A saved state is a shortcut past the beginning of a journal, never a truth of its own: whoever cannot read one, or
//! finds that its hash differs, replays the journal from its first event. So the layout may change freely as long as
//! [`LAYOUT`] changes with it.

use crate::free::Free;
use crate::lines::Lines;
use crate::policy::Policy;
use crate::scheduler::Scheduler;
use crate::state::State;
use consort_types::Capabilities;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Rises whenever anything in the state is laid out differently.
pub const LAYOUT: u32 = 13;

/// The whole state at one position of the journal.
#[derive(Clone, Serialize, Deserialize)]
pub struct Saved(State);

impl Saved {
    /// How many events it has seen.
    pub fn seen(&self) -> u64 {
        self.0.seen
    }

    /// What the scheduler's `state_hash` was.
    pub fn state_hash(&self) -> u64 {
        self.0.digest()
    }
}

impl Scheduler {
    /// A copy of the state, to be written down by somebody else while we go on.
    pub fn save(&self) -> Saved {
        Saved(self.state.clone())
    }

    /// A scheduler that goes on from a saved state, as if it had applied every event before it.
    pub fn restore(policy: Arc<dyn Policy>, capabilities: Capabilities, saved: Saved) -> Self {
        let free = Free::of(&saved.0.cluster);
        Self { state: saved.0, free, lines: Lines::default(), ..Self::new(policy, capabilities) }
    }
}
