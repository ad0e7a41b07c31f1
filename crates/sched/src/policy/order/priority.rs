//! Higher priority first; within a priority, first come, first served.
//!
//! Does badly when nobody limits who may ask for high priority: the low ones starve.

use super::{Key, Order};
use crate::view::View;
use consort_types::{AskId, Time};

/// Higher priority first.
pub struct Priority;

impl Order for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn key(&self, view: &View<'_>, ask: AskId, _now: Time) -> Key {
        let Some(ask) = view.ask(ask) else { return Key { level: i64::MAX, rank: i64::MAX } };
        Key { level: -i64::from(ask.spec().priority), rank: ask.submitted().0 }
    }
}
