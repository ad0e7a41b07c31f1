//! Shortest remaining time first. The remaining time is the level, so it also decides who may take from whom.
//!
//! Needs estimates, or jobs that report their work; with wrong ones it preempts work that was about to end. Something that runs counts as shorter
//! by its restart cost, so that nothing is interrupted for less than the interruption costs.

use super::{Key, Order};
use crate::belief::length;
use crate::view::View;
use consort_types::{AskId, Time};

/// Least time left first.
pub struct ShortestRemaining;

impl Order for ShortestRemaining {
    fn key(&self, view: &View<'_>, id: AskId, now: Time) -> Key {
        let Some(ask) = view.ask(id) else { return Key { level: i64::MAX, rank: i64::MAX } };
        let left = length::work_left(view, id, now).map(|left| match ask.running_since() {
            Some(_) => left - ask.spec().restart_cost,
            None => left,
        });
        Key { level: left.map_or(i64::MAX, |left| left.0), rank: ask.submitted().0 }
    }

    fn moves(&self) -> bool {
        true // a restart changes what is left
    }

    fn heeds_reports(&self) -> bool {
        true
    }
}
