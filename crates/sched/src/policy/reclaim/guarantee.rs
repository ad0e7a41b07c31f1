//! A tenant below its guarantee takes from tenants above theirs, and never pushes one below.
//!
//! Only what a tenant holds beyond its promise can be taken, and only by somebody who stays within theirs, so two
//! tenants cannot take the same device from each other in turn. Does badly when guarantees add up to more than the
//! cluster has: then some promise cannot be kept, and nobody is told by this rule.

use super::{Reclaim, Weakest};
use crate::draft::Draft;
use crate::policy::order::Key;
use consort_types::{AskId, Qos};

/// By the tenants' guarantees.
pub struct Guarantee;

impl Reclaim for Guarantee {
    fn could_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), _weakest: &Weakest) -> bool {
        let view = draft.view();
        let Some(claimant) = view.ask(claimant.0).filter(|ask| ask.spec().qos != Qos::BestEffort) else {
            return false;
        };
        draft.least_needs(&claimant).into_iter().any(|(kind, share)| {
            let promised = view.account(claimant.tenant(), kind).guarantee;
            promised > 0 && share > 0 && draft.standing(claimant.tenant(), kind) + share <= promised
        })
    }

    fn may_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), victim: (AskId, Key)) -> bool {
        let view = draft.view();
        let (Some(claimant), Some(victim)) = (view.ask(claimant.0), view.ask(victim.0)) else { return false };
        if claimant.spec().qos == Qos::BestEffort || claimant.tenant() == victim.tenant() {
            return false;
        }
        draft.stands_without(&victim)
            && draft.most_needs(&claimant).into_iter().any(|(kind, share)| {
                let promised = view.account(claimant.tenant(), kind).guarantee;
                let holds = victim.grants().iter().any(|grant| view.kind_of(grant.device) == kind);
                // Nobody is promised a part of a host.
                holds && share > 0 && draft.standing(claimant.tenant(), kind) + share <= promised
            })
    }
}
