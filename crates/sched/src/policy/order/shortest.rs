//! Shortest job first: by the declared estimate, those without one last.
//!
//! The classic that minimises mean waiting time on one machine when estimates are right and nothing is preempted.
//! Does badly for long jobs under steady load (they wait for ever) and for wide short jobs at the head of a strict
//! queue (they block everybody behind them).

use super::{Key, Order};
use crate::view::View;
use consort_types::{AskId, Time};

/// Shortest estimate first.
pub struct Shortest;

impl Order for Shortest {
    fn key(&self, view: &View<'_>, ask: AskId, _now: Time) -> Key {
        let estimate = view.ask(ask).and_then(|ask| ask.spec().estimate);
        Key { level: 0, rank: estimate.map_or(i64::MAX, |estimate| estimate.0) }
    }
}
