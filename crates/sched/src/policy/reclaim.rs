//! Who may take from whom. One opinion per file.
//!
//! An opinion only says whether a claim is better. The kit does the rest, the same way for all: it takes nothing
//! before it knows that the claimant then fits, it takes no more than it needs, and the devices go to the claimant
//! and to nobody else.

mod guarantee;
mod level;
mod priority;

pub use guarantee::Guarantee;
pub use level::Level;
pub use priority::Priority;

use super::order::Key;
use crate::draft::Draft;
use crate::view::AskView;
use consort_types::{AskId, Claim, Qos};

/// Whether a queue is served no later than another. Nobody takes from a queue that is served before their own: it would
/// only be given back.
fn is_served_first(draft: &Draft<'_>, claimant: &AskView<'_>, victim: &AskView<'_>) -> bool {
    let priority = |ask: &AskView<'_>| draft.view().queue(ask.queue()).priority;
    priority(claimant) >= priority(victim)
}

/// The weakest claims among some who could be stopped; they need not be one and the same.
#[derive(Clone, Copy, Debug)]
pub struct Weakest {
    /// The lowest class, and within classes the lowest priority.
    pub claim: (Qos, i32),
    /// The highest level of the order.
    pub level: i64,
}

impl Weakest {
    /// The weaker of two.
    pub(crate) fn and(self, other: Weakest) -> Weakest {
        Weakest { claim: self.claim.min(other.claim), level: self.level.max(other.level) }
    }
}

/// A rule of entitlement. It must be a strict order on claims (if `a` may take from `b`, then `b`, put back in the
/// queue, may not take from `a`), or preemption would not terminate.
pub trait Reclaim: Send + Sync {
    /// Whether unmet guarantees are served before everything else. A rule that preempts for them must say so: otherwise a
    /// job would be started on a free device while another is stopped for a guarantee which that device would have met.
    fn serves_guarantees(&self) -> bool {
        false
    }

    /// Whether of equal claims the one that loses least is stopped, and not the one that came last.
    fn minds_loss(&self) -> bool {
        true
    }

    /// Whether there may be anybody from whom `claimant` may take, going by the weakest of those who hold what it could
    /// use. Saves looking at all of them; where it says no, `may_take` would say no to each.
    fn could_take(&self, _draft: &Draft<'_>, _claimant: (AskId, Key), _weakest: &Weakest) -> bool {
        true
    }

    /// The claim by which `claimant` may take what `victim` holds, as things stand in the draft; `None` if it may not.
    /// Goes into the plan, so that the victim's owner can be told.
    fn may_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), victim: (AskId, Key)) -> Option<Claim>;
}
