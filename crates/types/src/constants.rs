//! Numbers that decide what an event means: how usage decays, how long a job backs off, how much is learned.
//!
//! They are part of the state and reach it through an event, so that a journal means tomorrow what it means today. A new
//! journal begins with [`Constants::today`], written out; a later version of the program may write others into its new
//! journals, and replays older ones with theirs.

use crate::time::Span;
use serde::{Deserialize, Serialize};

/// The constants of one journal.
///
/// [`Default`] gives those of version 0.1, which journals without them mean. It never changes: a field that comes later
/// gets the value that the program used before there was the field. What new journals get is [`Constants::today`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Constants {
    /// Backing off doubles up to here. A replica of a service that ran as long is well again: its failures are forgotten.
    pub longest_backoff: Span,
    /// How long an ask backs off after the world first refused to start it.
    pub refused_backoff: Span,
    /// Usage decays at the end of each such tick.
    pub usage_tick: Span,
    /// What is left of it then, of 2^32.
    pub usage_kept: u32,
    /// Jobs of which it is remembered in how much memory they did not fit.
    pub learned: u32,
}

impl Constants {
    /// Those of version 0.1, which journals mean that do not say.
    pub const FIRST: Constants = Constants {
        longest_backoff: Span::seconds(3600),
        refused_backoff: Span::seconds(5),
        usage_tick: Span::seconds(60),
        usage_kept: 4_292_900_401, // half is left after a day, which is 1440 ticks
        learned: 4096,
    };

    /// What is written into new journals.
    pub fn today() -> Self {
        Self::FIRST
    }
}

impl Default for Constants {
    fn default() -> Self {
        Self::FIRST
    }
}
