//! Estimate times width: the quasi-shortest-service-first of Helios (SC'21), without its predictor.
//!
//! A narrow long job and a wide short one count the same if they use the same device-time. We take the estimate
//! that the job declares; Helios learns it from the history of users and names.
//! Does badly when estimates are wrong by the factor that widths differ.

use super::{Key, Order};
use crate::view::View;
use consort_types::{AskId, Time};

/// Smallest product of estimate and width first.
pub struct ShortestArea;

impl Order for ShortestArea {
    fn key(&self, view: &View<'_>, ask: AskId, _now: Time) -> Key {
        let area = view.ask(ask).and_then(|ask| {
            let width = i64::try_from(ask.class().width()).unwrap_or(i64::MAX);
            Some(ask.spec().estimate?.times(width).0)
        });
        Key { level: 0, rank: area.unwrap_or(i64::MAX) }
    }
}
