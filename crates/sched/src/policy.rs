//! The seam: a policy sees everything and fills a draft. And the kit: a policy made of four small opinions.
//!
//! To add a heuristic, write one file under `order`, `size`, `place` or `reclaim` and name a combination in
//! [`stock`]. To add a joint optimiser, implement [`Policy`]. There is no third way.

pub mod order;
pub mod pipeline;
pub mod place;
pub mod reclaim;
pub mod size;
pub mod stock;

pub use order::{Key, Order};
pub use pipeline::Pipeline;
pub use place::{Need, Place};
pub use reclaim::Reclaim;
pub use size::Size;

use crate::draft::Draft;

/// A pure opinion about what should change.
///
/// It may look at everything in the view and at nothing else. What it must remember goes into the policy slot of
/// the state ([`Draft::remember`]), never into itself: the same state must give the same plan on any machine.
pub trait Policy: Send + Sync {
    /// What people call it.
    fn name(&self) -> &str;

    /// Whether the news that something has come up may change its mind, or the time at which it wants to be asked
    /// again. Whoever says no is asked half as often.
    fn heeds_starts(&self) -> bool {
        true
    }

    /// Fills a draft. It need not be careful: the draft refuses overlaps and `check` judges the result.
    fn fill(&self, draft: &mut Draft<'_>);
}
