//! The firmer class of service first, then higher priority; within a priority, first come, first served.
//!
//! Class counts before priority because it does so when devices are taken back: were best effort started ahead of
//! others, it would be interrupted the next time anything happens.
//!
//! Does badly when nobody limits who may ask for high priority: the low ones starve.

use super::{Key, Order};
use crate::view::View;
use consort_types::{AskId, Time};

/// Firmer class first, then higher priority.
pub struct Priority;

impl Order for Priority {
    fn key(&self, view: &View<'_>, ask: AskId, _now: Time) -> Key {
        let Some(ask) = view.ask(ask) else { return Key { level: i64::MAX, rank: i64::MAX } };
        let (class, priority) = (ask.spec().qos as i64, i64::from(ask.spec().priority));
        Key { level: -(class << 33) - priority, rank: ask.submitted().0 }
    }
}
