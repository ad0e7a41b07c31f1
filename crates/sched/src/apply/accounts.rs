//! What tenants hold and have used, and what jobs have: moved when something is granted, passed on or given back.
//!
//! Costs what the grants cost, and nothing for hosts where no node accounts for its own.

use super::progress::pace;
use crate::scheduler::Scheduler;
use crate::state::jobs::*;
use consort_types::*;

impl Scheduler {
    /// A tenant has this in its hands from now on.
    pub(super) fn hold(&mut self, tenant: TenantId, held: &Grant) {
        let (kind, amount) = self.state.cluster.amount(held);
        let (decay, coarseness) = (self.state.decay(), self.state.cluster.coarseness(kind));
        self.state.ledger.account_mut(tenant, kind).hold(decay, self.state.now, amount, coarseness);
    }

    pub(super) fn serve(&mut self, id: AskId, allocation: &Allocation, since: Time) {
        let ran = self.state.now - allocation.width_since(since);
        let job = self.state.jobs.get(id.job).expect("it is granted");
        let most = self.state.classes.get(job.stages[usize::from(id.stage)].class).members();
        let (pace, full) = pace(&self.state, job, &allocation.placement, most);
        let ask = self.ask_mut(id);
        ask.served = ask.served + ran;
        ask.worked = ask.worked + ran.scaled(pace, full);
        self.attain(id, &allocation.placement.grants, ran);
    }

    /// Notes that an ask ran on this for so long.
    pub(super) fn attain(&mut self, id: AskId, grants: &[Grant], ran: Span) {
        let thousandths: i128 = grants.iter().map(|grant| i128::from(grant.share)).sum();
        self.ask_mut(id).attained += thousandths * i128::from(ran.0);
        if self.state.cluster.pools.is_none() {
            return;
        }
        let mut host = Host::NONE;
        for grant in grants {
            let (kind, amount) = self.state.cluster.amount(grant);
            match self.state.cluster.pool_of(kind) {
                Some(Pool::Cpu) => host.cpu_milli += amount,
                Some(Pool::Memory) => host.memory_bytes += amount,
                None => {}
            }
        }
        self.state.jobs.get_mut(id.job).expect("it is granted").hosts.add(&host, ran);
    }

    /// Returns grants of an allocation: pays what was promised from them, settles the account, frees the rest.
    /// `owed` are parts it never held.
    pub(super) fn give_back(
        &mut self,
        id: AllocationId,
        allocation: &Allocation,
        grants: &[Grant],
        owed: &[Owed],
    ) {
        let tenant = self.state.jobs.get(id.ask.job).expect("it is granted").tenant;
        let is_leaving = matches!(allocation.phase, Phase::Releasing { .. });
        for grant in grants {
            let (kind, amount) = self.state.cluster.amount(grant);
            let account = self.state.ledger.account_mut(tenant, kind);
            account.committed -= amount;
            account.leaving -= if is_leaving { amount } else { 0 };
        }
        for held in in_hand(grants, owed) {
            self.release(tenant, &held, allocation.held_since);
        }
        for &beneficiary in &allocation.pledges {
            self.pay(id, beneficiary, grants);
        }
        for grant in grants {
            self.sync_device(grant.device);
        }
    }

    /// A tenant no longer has this in its hands, and is charged for it.
    pub(super) fn release(&mut self, tenant: TenantId, held: &Grant, since: Time) {
        self.state.cluster.release(held);
        let (kind, amount) = self.state.cluster.amount(held);
        let (decay, coarseness) = (self.state.decay(), self.state.cluster.coarseness(kind));
        self.state.ledger.account_mut(tenant, kind).release(decay, self.state.now, amount, coarseness);
        self.charge(tenant, held, since);
    }

    /// Charges an allocation for what it has in its hands, up to now.
    pub(super) fn charge_so_far(&mut self, id: AllocationId) {
        let tenant = self.state.jobs.get(id.ask.job).expect("it is granted").tenant;
        let now = self.state.now;
        let allocation = self.ask_mut(id.ask).allocation_mut().expect("it is granted");
        let since = std::mem::replace(&mut allocation.held_since, now);
        let grants: Vec<Grant> = allocation.granted().copied().collect();
        for held in in_hand(&grants, &allocation.owed.clone()) {
            self.charge(tenant, &held, since);
        }
    }

    /// Settles the use of a part of a device, or of a host, up to now.
    fn charge(&mut self, tenant: TenantId, held: &Grant, since: Time) {
        let (kind, amount) = self.state.cluster.amount(held);
        let unit = self.state.cluster.pool_of(kind).map_or(u64::from(WHOLE), Pool::unit);
        let span = (self.state.now - since).0.max(0) as u128;
        let used = span * u128::from(amount) / (u128::from(unit) * 1_000_000);
        self.state.ledger.account_mut(tenant, kind).usage_ms += used;
    }

    /// Passes on what was promised, if whoever it was promised to still waits for it.
    pub(super) fn pay(&mut self, giver: AllocationId, to: AllocationId, grants: &[Grant]) {
        if self.state.jobs.allocation(to).is_none_or(|found| found.owed.is_empty()) {
            return;
        }
        let tenant = self.state.jobs.get(to.ask.job).expect("it is owed something").tenant;
        // What it has so far was kept from everybody else since then, so it is used, though not all is there yet.
        self.charge_so_far(to);
        let allocation = self.ask_mut(to.ask).allocation_mut().expect("it is owed something");
        let is_paid =
            |part: &Owed| part.by == giver && grants.iter().any(|grant| grant.device == part.grant.device);
        let (paid, owed): (Vec<Owed>, Vec<Owed>) =
            std::mem::take(&mut allocation.owed).into_iter().partition(is_paid);
        let complete = owed.is_empty();
        allocation.owed = owed;
        for part in paid {
            self.state.cluster.hold(&part.grant);
            self.hold(tenant, &part.grant);
        }
        match self.phase(to) {
            Some(Phase::Planned) if complete => self.begin(to),
            Some(Phase::Running { .. }) if complete => self.changed.push(to), // the world is asked to resize it
            _ => {}
        }
    }
}

/// What is in the hands of an allocation: its grants, device by device, less what others still owe it.
pub(super) fn in_hand(grants: &[Grant], owed: &[Owed]) -> Vec<Grant> {
    let mut held = by_device(grants);
    for part in owed {
        let place = held.binary_search_by_key(&part.grant.device, |grant| grant.device);
        let grant = &mut held[place.expect("it is owed a part of what it was granted")];
        grant.share -= part.grant.share;
        grant.memory_bytes -= part.grant.memory_bytes;
    }
    held
}
