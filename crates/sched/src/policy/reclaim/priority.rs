//! Higher class or higher priority takes from lower.
//!
//! Best effort gives way to everybody above it; otherwise a strictly higher priority takes, but from another tenant
//! only what that tenant holds beyond its guarantee: else it would take it back, and so on for ever. Does badly
//! when two teams keep raising their priorities against each other: give them quotas.

use super::{Reclaim, Weakest, is_served_first};
use crate::draft::Draft;
use crate::policy::order::Key;
use crate::view::AskView;
use consort_types::{AskId, Claim, Qos};

/// By class, then by priority.
pub struct Priority;

impl Reclaim for Priority {
    fn could_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), weakest: &Weakest) -> bool {
        let Some(claimant) = draft.view().ask(claimant.0) else { return false };
        let claim = (claimant.spec().qos, claimant.spec().priority);
        claim.0 != Qos::BestEffort && (weakest.claim.0 == Qos::BestEffort || claim > weakest.claim)
    }

    fn may_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), victim: (AskId, Key)) -> Option<Claim> {
        let view = draft.view();
        let (claimant, victim) = (view.ask(claimant.0)?, view.ask(victim.0)?);
        if claimant.spec().qos == Qos::BestEffort || !is_served_first(draft, &claimant, &victim) {
            return None;
        }
        if victim.spec().qos == Qos::BestEffort {
            return Some(Claim::BestEffort);
        }
        let rank = |ask: &AskView<'_>| (ask.spec().qos, ask.spec().priority);
        let claim = Claim::Priority { claimant: rank(&claimant), victim: rank(&victim) };
        let is_spare = || claimant.tenant() == victim.tenant() || draft.stands_without(&victim);
        (rank(&claimant) > rank(&victim) && is_spare()).then_some(claim)
    }
}
