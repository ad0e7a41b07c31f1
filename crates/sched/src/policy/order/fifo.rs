//! First come, first served: by time of submission, ties by id.
//!
//! Does badly when one long job arrives a minute before a hundred short ones.

use super::{Key, Order};
use crate::view::View;
use consort_types::{AskId, Time};

/// First come, first served.
pub struct Fifo;

impl Order for Fifo {
    fn key(&self, view: &View<'_>, ask: AskId, _now: Time) -> Key {
        Key { level: 0, rank: view.ask(ask).map_or(i64::MAX, |ask| ask.submitted().0) }
    }
}
