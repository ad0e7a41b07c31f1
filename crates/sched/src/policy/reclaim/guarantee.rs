//! A tenant below its guarantee preempts tenants above theirs, once what is free does not meet it.
//!
//! The claimant stays within its guarantee, and the victim's tenant must be able to spare the victim; see
//! `Draft::may_reclaim` for when a gang that is wider than its tenant's guarantee is stopped, and why this ends. Does badly
//! when guarantees add up to more than the cluster has (some cannot be kept, and this rule reports it to no one), and for
//! requests that accept several kinds: to stop such a gang they must be within their guarantee of each.

use super::{Reclaim, Weakest};
use crate::draft::Draft;
use crate::policy::order::Key;
use consort_types::{AskId, Claim, Qos};

/// By the tenants' guarantees.
pub struct Guarantee;

impl Reclaim for Guarantee {
    fn serves_guarantees(&self) -> bool {
        true
    }

    fn could_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), _weakest: &Weakest) -> bool {
        draft.view().ask(claimant.0).is_some_and(|claimant| draft.may_claim(&claimant))
    }

    fn may_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), victim: (AskId, Key)) -> Option<Claim> {
        let view = draft.view();
        let (claimant, victim) = (view.ask(claimant.0)?, view.ask(victim.0)?);
        if claimant.spec().qos == Qos::BestEffort || claimant.tenant() == victim.tenant() {
            return None;
        }
        let kind = draft.may_reclaim(&claimant, &victim)?;
        let guarantee = view.account(claimant.tenant(), kind).guarantee;
        Some(Claim::Guarantee { used: draft.standing(claimant.tenant(), kind), guarantee })
    }
}
