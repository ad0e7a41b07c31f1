//! Who goes first. One opinion per file.

mod deadline;
mod fair;
mod fifo;
mod least_attained;
mod priority;
mod remaining;
mod shortest;
mod shortest_area;

pub use deadline::Deadline;
pub use fair::Fair;
pub use fifo::Fifo;
pub use least_attained::LeastAttained;
pub use priority::Priority;
pub use remaining::ShortestRemaining;
pub use shortest::Shortest;
pub use shortest_area::ShortestArea;

use crate::draft::Draft;
use crate::view::View;
use consort_types::{AskId, TenantId, Time};

/// A place in line; smaller goes first, ties fall to the lowest id.
///
/// The level is what a reclaim rule may compare: something of a lower level may take from a higher one. The rank
/// orders within a level and never justifies taking anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Coarse.
    pub level: i64,
    /// Fine.
    pub rank: i64,
}

/// An order of those who wait (and, for preemption, of those who run).
pub trait Order: Send + Sync {
    /// The place of one ask.
    fn key(&self, view: &View<'_>, ask: AskId, now: Time) -> Key;

    /// Whether the key of a waiting ask can change while it waits. If not, lines are kept sorted between plans.
    fn moves(&self) -> bool {
        false
    }

    /// Whether tenants have shares that are compared before any key: within queues of one priority, the one with the least
    /// goes first, the lowest id on ties.
    fn shares(&self) -> bool {
        false
    }

    /// The share of a tenant, as things stand in the draft. Starting something raises the share of its tenant and of
    /// nobody else.
    fn share(&self, _draft: &Draft<'_>, _tenant: TenantId) -> u64 {
        0
    }

    /// Whether keys depend on what running jobs report.
    fn heeds_reports(&self) -> bool {
        false
    }

    /// When time alone next changes the order of things, if it does.
    fn next_change(&self, _view: &View<'_>, _now: Time) -> Option<Time> {
        None
    }
}
