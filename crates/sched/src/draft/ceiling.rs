//! Keeps tenants below their ceilings.
//!
//! All that a tenant holds counts as its use: devices, what its jobs asked for of hosts, and what was only counted for them.
//! Judged is what a job asks for. So a ceiling on processors or memory keeps nothing from starting that does not ask for
//! any, and what is counted may take a tenant above it. Processors that are granted as devices are asked for: where a world
//! counts hosts, a tenant gets no more of them than its ceiling on processors either.

use super::Draft;
use crate::view::AskView;
use consort_types::*;
use std::collections::BTreeMap;

impl Draft<'_> {
    /// Whether a tenant may not have all it can get of some kind.
    pub(crate) fn is_limited(&self, tenant: TenantId) -> bool {
        self.state.ledger.tenant(tenant).accounts.iter().any(|account| account.ceiling.is_some())
    }

    /// The most of a kind that a tenant may hold.
    pub(crate) fn ceiling_of(&self, tenant: TenantId, kind: KindId) -> Option<u64> {
        let own = self.state.ledger.account(tenant, kind).ceiling;
        let cluster = &self.state.cluster;
        if !self.capabilities.counts_hosts || !cluster.is_processors(kind) {
            return own;
        }
        // In both accounts a processor is 1000.
        let of_pool =
            cluster.pool_kind(Pool::Cpu).and_then(|pool| self.state.ledger.account(tenant, pool).ceiling);
        own.into_iter().chain(of_pool).min()
    }

    /// Whether a tenant may hold so much more; `returned` of its own comes back to it in the same move.
    pub(super) fn below_ceiling(&self, tenant: TenantId, kind: KindId, share: u64, returned: u64) -> bool {
        let account = self.state.ledger.account(tenant, kind);
        let Some(ceiling) = self.ceiling_of(tenant, kind) else { return true };
        let committed = self.accounts.get(&(tenant, kind)).map_or(0, |change| change.0);
        (account.committed + committed).saturating_add(share) <= ceiling.saturating_add(returned)
    }

    /// Whether the tenant of an ask may hold this amount of a kind in this placement. Of a pool only what the ask asked for
    /// is judged.
    pub(super) fn may_hold(
        &self,
        ask: &AskView<'_>,
        (kind, amount): (KindId, u64),
        placement: &Placement,
        after: &[AllocationId],
    ) -> bool {
        let tenant = ask.tenant();
        if self.ceiling_of(tenant, kind).is_none() {
            return true;
        }
        let judged = match self.state.cluster.pool_of(kind) {
            None => amount,
            Some(_) => amount.min(self.asked_of(ask, kind, placement)),
        };
        let returned = || self.returned(after, placement, tenant, kind);
        judged == 0 || self.below_ceiling(tenant, kind, judged, returned())
    }

    /// What an ask asks for of a pool, as wide as it is placed.
    fn asked_of(&self, ask: &AskView<'_>, pool: KindId, placement: &Placement) -> u64 {
        let (cluster, counts_hosts) = (&self.state.cluster, self.capabilities.counts_hosts);
        let mut devices = placement.devices();
        let mut sum = 0u64;
        for (role, fill) in ask.class().roles.iter().zip(&placement.fills) {
            let shape = &role.shapes[usize::from(fill.shape)];
            let mut mine = devices.by_ref().take(fill.count as usize * shape.devices as usize);
            let kind = mine.next().map_or(pool, |grant| cluster.device(grant.device).kind);
            mine.for_each(drop);
            let asked = shape.asked_of_pools(cluster, kind, fill.count, counts_hosts);
            sum =
                asked.filter(|(of, _)| *of == pool).fold(sum, |sum, (_, amount)| sum.saturating_add(amount));
        }
        sum
    }

    /// What the tenant certainly gives back to itself through these givers: the part of the placement that is not
    /// free now, on devices where nobody but the tenant gives and nothing else was promised in this draft.
    fn returned(&self, after: &[AllocationId], placement: &Placement, tenant: TenantId, kind: KindId) -> u64 {
        let cluster = &self.state.cluster;
        let amount = |grant: &Grant| cluster.amount(grant).1 as i64;
        let mut wants: BTreeMap<DeviceId, i64> = BTreeMap::new();
        for grant in placement.grants.iter().filter(|grant| cluster.device(grant.device).kind == kind) {
            *wants.entry(grant.device).or_default() += amount(grant);
        }
        let promised = |device: DeviceId| {
            self.moves.iter().any(|change| match change {
                Move::Start { placement, .. } | Move::Resize { placement, .. } => {
                    placement.grants.iter().any(|grant| grant.device == device)
                }
                _ => false,
            })
        };
        let mut returned = 0;
        for (device, want) in wants {
            let (mut own, mut others) = (0, false);
            for giver in after {
                let held: i64 = self.given(*giver, device).iter().map(amount).sum();
                let is_own = self.state.jobs.get(giver.ask.job).is_some_and(|job| job.tenant == tenant);
                own += if is_own { held } else { 0 };
                others |= !is_own && held > 0;
            }
            if own > 0 && !others && !promised(device) {
                let (share, memory) = cluster.unheld(device);
                let free = if cluster.is_pool(device) { memory } else { i64::from(share) };
                let missing = want - free.max(0);
                returned += missing.clamp(0, own) as u64;
            }
        }
        returned
    }

    /// What an allocation that this draft stops or resizes gives back of a device.
    fn given(&self, giver: AllocationId, device: DeviceId) -> Vec<Grant> {
        let grants = match self.resized.get(&giver.ask) {
            Some((_, less)) => less.clone(),
            None => self.state.stoppable(giver),
        };
        grants.into_iter().filter(|grant| grant.device == device).collect()
    }
}
