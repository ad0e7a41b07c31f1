//! Earliest deadline first; those without a deadline last, first come, first served.
//!
//! Optimal on one machine with preemption when everything can be met. Does badly under overload: it spends devices
//! on deadlines that are already lost.

use super::{Key, Order};
use crate::view::View;
use consort_types::{AskId, Time};

/// Earliest deadline first.
pub struct Deadline;

impl Order for Deadline {
    fn key(&self, view: &View<'_>, ask: AskId, _now: Time) -> Key {
        let Some(ask) = view.ask(ask) else { return Key { level: i64::MAX, rank: i64::MAX } };
        Key { level: ask.spec().deadline.unwrap_or(Time::NEVER).0, rank: ask.submitted().0 }
    }
}
