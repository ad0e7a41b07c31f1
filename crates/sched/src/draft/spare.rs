//! What a tenant can spare: the part of preemption that guarantees decide.

use super::Draft;
use crate::view::AskView;
use consort_types::{KindId, Qos, TenantId, WHOLE};
use std::collections::BTreeMap;

type Amounts = BTreeMap<KindId, u64>;

impl Draft<'_> {
    /// Whether some tenant has less than its guarantee.
    pub(crate) fn has_unmet_guarantee(&self) -> bool {
        let accounts = self.state.ledger.tenants.iter().enumerate().flat_map(|(tenant, entry)| {
            let kinds = entry.accounts.iter().enumerate();
            kinds
                .map(move |(kind, account)| (TenantId(tenant as u32), KindId(kind as u32), account.guarantee))
        });
        let mut promised = accounts.filter(|(_, _, guarantee)| *guarantee > 0);
        promised.any(|(tenant, kind, guarantee)| self.standing(tenant, kind) < guarantee)
    }

    /// Whether a tenant stays within its guarantee of a kind with this much more.
    pub(crate) fn is_promised(&self, tenant: TenantId, kind: KindId, share: u64) -> bool {
        self.standing(tenant, kind) + share <= self.state.ledger.account(tenant, kind).guarantee
    }

    /// Whether an ask has a claim by its tenant's guarantee: it stays within it on some kind that it needs.
    pub(crate) fn may_claim(&self, ask: &AskView<'_>) -> bool {
        let is_promised = |(kind, share)| share > 0 && self.is_promised(ask.tenant(), kind, share);
        ask.spec().qos != Qos::BestEffort && self.least_needs(ask).into_iter().any(is_promised)
    }

    /// Whether a tenant keeps at least its guarantee without this ask, in every kind that the ask holds.
    pub fn stands_without(&self, victim: &AskView<'_>) -> bool {
        self.is_spare(victim.tenant(), &self.held(victim))
    }

    /// Whether a claimant may reclaim what a victim of another tenant holds, by the claimant's guarantee.
    ///
    /// Either the victim's tenant keeps its guarantee without the victim, and the claimant is within its guarantee of every
    /// kind that it needs and the victim holds. Or the victim is a gang that reaches beyond its tenant's guarantee and can only
    /// be stopped whole: then the claimant must be within its guarantee of *every* kind that it needs, the victim's
    /// tenant must hold more than its guarantee of one of these, and what is free once the claimant has started must
    /// cover the victim's guarantee again.
    ///
    /// It ends: a claimant of the second case is within its guarantee in all that it holds, so no rule may stop it unless
    /// its tenant grows; and the victim cannot use the same guarantee to return, because its tenant was above it. If
    /// the claimant could be above on some kind, three tenants could chase each other for ever
    /// (`scenarios/quotas/no-chase.txt`).
    ///
    /// Returns the kind of which the claimant's tenant has less than it is guaranteed.
    pub fn may_reclaim(&self, claimant: &AskView<'_>, victim: &AskView<'_>) -> Option<KindId> {
        let (held, needs) = (self.held(victim), self.most_needs(claimant));
        // There are no guarantees of parts of a host, of which no share is needed.
        let mut needs = needs.into_iter().filter(|(_, share)| *share > 0).peekable();
        needs.peek()?;
        let needs: Amounts = needs.collect();
        let is_promised = |(&kind, &share): (&KindId, &u64)| self.is_promised(claimant.tenant(), kind, share);
        if self.is_spare(victim.tenant(), &held) {
            let common: Vec<_> = needs.iter().filter(|(kind, _)| held.contains_key(kind)).collect();
            let is_claim = common.iter().all(|&need| is_promised(need));
            return common.first().filter(|_| is_claim).map(|need| *need.0);
        }
        let is_above = |kind: &KindId| {
            let promised = self.state.ledger.account(victim.tenant(), *kind).guarantee;
            needs.contains_key(kind) && self.standing(victim.tenant(), *kind) > promised
        };
        let is_covered = |(&kind, &share): (&KindId, &u64)| {
            let free = u64::from(self.free().total(kind)) * u64::from(WHOLE) + share;
            let left = free.saturating_sub(needs.get(&kind).copied().unwrap_or(0));
            self.missing(victim.tenant(), kind, share) <= left
        };
        let above = held.keys().find(|&kind| is_above(kind)).copied()?;
        (needs.iter().all(is_promised) && held.iter().all(is_covered)).then_some(above)
    }

    /// Thousandths of each kind that an ask holds.
    fn held(&self, ask: &AskView<'_>) -> Amounts {
        let mut held = Amounts::new();
        for grant in ask.grants() {
            *held.entry(self.state.cluster.device(grant.device).kind).or_default() += u64::from(grant.share);
        }
        held
    }

    /// What a tenant lacks of its guarantee once it has given this much back.
    fn missing(&self, tenant: TenantId, kind: KindId, share: u64) -> u64 {
        let promised = self.state.ledger.account(tenant, kind).guarantee;
        promised.saturating_sub(self.standing(tenant, kind).saturating_sub(share))
    }

    fn is_spare(&self, tenant: TenantId, held: &Amounts) -> bool {
        held.iter().all(|(&kind, &share)| self.missing(tenant, kind, share) == 0)
    }
}
