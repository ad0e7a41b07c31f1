//! A better level in the policy's own order takes from a worse one: preemptive shortest-remaining-time,
//! least-attained-service and earliest-deadline are this rule with their order. Best effort takes nothing, and from
//! another tenant only what it holds beyond its guarantee is taken, as everywhere.
//!
//! Does badly with an order whose levels are noisy: every crossing costs a restart.

use super::{Reclaim, Weakest, is_served_first};
use crate::draft::Draft;
use crate::policy::order::Key;
use crate::view::AskView;
use consort_types::{AskId, Claim, Qos};

/// By the level of the order.
pub struct Level;

impl Reclaim for Level {
    /// The published policies stop whoever came last.
    fn minds_loss(&self) -> bool {
        false
    }

    fn could_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), weakest: &Weakest) -> bool {
        let is_firm = |ask: AskView<'_>| ask.spec().qos != Qos::BestEffort;
        draft.view().ask(claimant.0).is_some_and(is_firm) && claimant.1.level < weakest.level
    }

    fn may_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), victim: (AskId, Key)) -> Option<Claim> {
        let view = draft.view();
        let (first, second) = (view.ask(claimant.0)?, view.ask(victim.0)?);
        let is_spare = || first.tenant() == second.tenant() || draft.stands_without(&second);
        let is_entitled = first.spec().qos != Qos::BestEffort && is_served_first(draft, &first, &second);
        (is_entitled && claimant.1.level < victim.1.level && is_spare()).then_some(Claim::Order)
    }
}
