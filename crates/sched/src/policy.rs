//! The seam: a policy sees everything and fills a draft. And the kit: a policy made of four small opinions.
//!
//! To add a heuristic, write one file under `order`, `size`, `place` or `reclaim` and name a combination in
//! [`stock`]. To add a joint optimiser, implement [`Policy`]. There is no third way. Either may live in another crate: a
//! [`Registry`] is what a program knows, and `examples/joint-policy` shows a program that knows one more.

pub mod order;
pub mod pipeline;
pub mod place;
pub mod reclaim;
pub mod registry;
pub mod size;
pub mod stock;

pub use order::{Key, Order};
pub use pipeline::Pipeline;
pub use place::{Need, Place};
pub use reclaim::Reclaim;
pub use registry::{Entry, NotFound, Opinions, Registry};
pub use size::Size;

use crate::draft::Draft;
use crate::view::View;
use consort_types::Time;

/// A pure opinion about what should change.
///
/// It may look at everything in the view and at nothing else. What it must remember goes into the policy slot of
/// the state ([`Draft::remember`]), never into itself: the same state must give the same plan on any machine.
///
/// It explains itself: when a draft has a watched ask ([`Draft::watched`]) that it does not start, it notes why
/// ([`Draft::note`]), with [`Draft::why_waits`] where there is no room.
pub trait Policy: Send + Sync {
    /// What people call it, and under which name it remembers things. Another policy must not use it: it would read them.
    fn name(&self) -> &str;

    /// Whether one plan says all it has to say. If not, it is asked again after every plan that changed anything: what
    /// was granted a moment ago may be taken back by somebody who was looked at before.
    fn settles(&self) -> bool {
        true
    }

    /// Fills a draft. It need not be careful: the draft refuses overlaps and `check` judges the result.
    fn fill(&self, draft: &mut Draft<'_>);

    /// Whether what running jobs report can change what it decides: then every report is a reason to ask it again.
    fn heeds_reports(&self) -> bool {
        false
    }

    /// When time alone next changes its mind about what runs and waits, if it does. Asked after every plan, and again
    /// when something has started, since only then it is known since when it runs.
    fn next_change(&self, _view: &View<'_>, _now: Time) -> Option<Time> {
        None
    }
}
