//! How wide. One opinion per file.

mod widest;

pub use widest::Widest;

use crate::draft::Draft;
use crate::view::AskView;

/// Which widths to try for an ask, best first.
///
/// It sees the ask, and through the draft the view, the time and what is free; [`crate::Class::least`] and
/// [`crate::Class::most`] are the bounds of what the ask accepts. The same draft must give the same answer.
///
/// Must hold: step 0 is the widest, no later step asks for more of any role, and the last step is the least width of
/// the class. The pipeline finds the width by bisection and asks for room at the least width once for all asks of a
/// class (`pipeline.rs`, `lines/stuck.rs`), so both rely on it; `tests/laws.rs` in `consort-sim` checks it,
/// and `consort_sim::swarm::laws` is there for your own.
pub trait Size: Send + Sync {
    /// How many different widths there are to try; at least one.
    fn steps(&self, draft: &Draft<'_>, ask: &AskView<'_>) -> u32;

    /// Members of each role at one step.
    fn counts(&self, draft: &Draft<'_>, ask: &AskView<'_>, step: u32) -> Vec<u32>;
}
