//! Higher class or higher priority takes from lower.
//!
//! Best effort gives way to everybody above it; otherwise a strictly higher priority takes, but from another tenant
//! only what that tenant holds beyond its guarantee: else it would take it back, and so on for ever. Does badly
//! when two teams keep raising their priorities against each other: give them quotas.

use super::{Reclaim, Weakest, is_served_first};
use crate::draft::Draft;
use crate::policy::order::Key;
use crate::view::AskView;
use consort_types::{AskId, Qos};

/// By class, then by priority.
pub struct Priority;

impl Reclaim for Priority {
    fn could_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), weakest: &Weakest) -> bool {
        let Some(claimant) = draft.view().ask(claimant.0) else { return false };
        let claim = (claimant.spec().qos, claimant.spec().priority);
        claim.0 != Qos::BestEffort && (weakest.claim.0 == Qos::BestEffort || claim > weakest.claim)
    }

    fn may_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), victim: (AskId, Key)) -> bool {
        let view = draft.view();
        let (Some(claimant), Some(victim)) = (view.ask(claimant.0), view.ask(victim.0)) else { return false };
        if claimant.spec().qos == Qos::BestEffort || !is_served_first(draft, &claimant, &victim) {
            return false;
        }
        if victim.spec().qos == Qos::BestEffort {
            return true;
        }
        let claim = |ask: &AskView<'_>| (ask.spec().qos, ask.spec().priority);
        let is_spare = || claimant.tenant() == victim.tenant() || draft.stands_without(&victim);
        claim(&claimant) > claim(&victim) && is_spare()
    }
}
