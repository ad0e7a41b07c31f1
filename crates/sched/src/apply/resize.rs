//! Running allocations get another placement: in place, or by a restart.
//!
//! ```text
//! in place     running ─▶ promised ─▶ asked ─┬─ resized ──▶ running on the new placement
//!                 │  others give back  ▲     └─ refused ──▶ running on the old one
//!                 └────────────────────┘
//! by restart   running ─▶ releasing ─▶ ended ─▶ the next attempt: planned, starting, running
//! ```
//! What is new is held, or promised, from the plan on; what is given up stays held until the world has confirmed that
//! nothing is left on it. So both placements count as use meanwhile, and no device is ever in two hands.
//!
//! A resize that was only promised, or that waits for a restart, is called off when a device that it is to get is lost or
//! becomes unhealthy. One that the world was asked for cannot be: members may already work there, so losing any device
//! of either placement ends the attempt.

use super::accounts::in_hand;
use super::allocations::doubled;
use crate::scheduler::Scheduler;
use crate::state::jobs::*;
use consort_types::*;
use std::sync::Arc;

impl Scheduler {
    /// A plan gives a running allocation another placement.
    pub(super) fn resize(
        &mut self,
        id: AllocationId,
        placement: &Placement,
        after: &[AllocationId],
        in_place: bool,
    ) {
        let tenant = self.state.jobs.get(id.ask.job).expect("check saw it").tenant;
        let allocation = self.state.jobs.allocation(id).expect("check saw it");
        let (has, wants) = (by_device(&allocation.placement.grants), by_device(&placement.grants));
        let (more, less) = (beyond(&wants, &has), beyond(&has, &wants));
        if !more.is_empty() {
            self.charge_so_far(id);
        }
        let mut owed = vec![];
        for grant in &more {
            self.commit_to(tenant, grant, after, &mut owed);
        }
        self.leave_soon(tenant, &less);
        self.pledge(after, id);
        self.holders.note(id.ask);
        let allocation = self.ask_mut(id.ask).allocation_mut().expect("check saw it");
        let Phase::Running { since } = allocation.phase else { unreachable!("check saw that it runs") };
        let generation = in_place.then_some(allocation.width.generations + 1);
        allocation.width.generations += u32::from(in_place);
        let is_asked = in_place && owed.is_empty();
        allocation.owed = owed;
        allocation.width.resizing =
            Some(Box::new(Resizing { placement: placement.clone(), more, less, generation }));
        if !in_place {
            allocation.phase = Phase::Releasing { ran_since: Some(since), then: Then::Resize };
            self.forget_limit(id, Some(since));
        }
        if is_asked || !in_place {
            self.changed.push(id);
        }
    }

    /// The world has done it.
    pub(super) fn resized(&mut self, id: AllocationId) {
        self.count_run(id);
        let now = self.state.now;
        let allocation = self.ask_mut(id.ask).allocation_mut().expect("accept saw it");
        let resizing = *allocation.width.resizing.take().expect("accept saw it");
        let (from, to) = (allocation.placement.members(), resizing.placement.members());
        let (held_since, pledges) = (allocation.held_since, std::mem::take(&mut allocation.pledges));
        allocation.placement = resizing.placement;
        allocation.width.generation = resizing.generation.expect("accept saw it");
        let ask = self.ask_mut(id.ask);
        ask.resizes = Resizes { last: Some(now), ..Resizes::default() };
        self.give_up_part(id, &resizing.less, held_since, &pledges);
        self.holders.note(id.ask);
        self.tell(id, Happened::Resized { from, to, in_place: true });
    }

    /// The world does not do it: the old placement stands again, and whoever was promised a part of it waits anew.
    pub(super) fn resize_refused(&mut self, id: AllocationId, why: &Arc<str>) {
        let now = self.state.now;
        let &Constants { refused_backoff: refused, longest_backoff: longest, .. } = self.state.constants();
        let allocation = self.state.jobs.allocation(id).expect("accept saw it");
        let resizing = allocation.width.resizing.as_deref().expect("accept saw it");
        let (from, to) = (allocation.placement.members(), resizing.placement.members());
        self.keep_placement(id);
        let ask = self.ask_mut(id.ask);
        ask.resizes.refusals += 1;
        ask.resizes.not_before = Some(now + doubled(refused, ask.resizes.refusals, longest));
        self.tell(id, Happened::ResizeRefused { from, to, why: why.clone() });
        self.changed.push(id);
    }

    /// It is told to end while a resize is on its way. What the world was asked to use may be in use, so it is held until
    /// the end; what was only reserved is free again. What it was going to give up stays promised: it all comes back.
    pub(super) fn settle_resize(&mut self, id: AllocationId) {
        let Some(allocation) = self.state.jobs.allocation(id) else { return };
        if allocation.asked().is_none() {
            return self.call_off_resize(id);
        }
        self.count_run(id);
        let tenant = self.state.jobs.get(id.ask.job).expect("it is granted").tenant;
        let allocation = self.ask_mut(id.ask).allocation_mut().expect("it is granted");
        let resizing = allocation.width.resizing.take().expect("just seen");
        allocation.placement.grants.extend(resizing.more);
        self.stay(tenant, &resizing.less);
    }

    /// The same for an attempt that ends for a restart: it still ends, but nothing is kept for the next one.
    pub(super) fn call_off_restart(&mut self, id: AllocationId) {
        let then = self.state.jobs.allocation(id).map(|allocation| allocation.phase);
        let Some(Phase::Releasing { ran_since, then: Then::Resize }) = then else { return };
        self.call_off_resize(id);
        let tenant = self.state.jobs.get(id.ask.job).expect("it is granted").tenant;
        let allocation = self.ask_mut(id.ask).allocation_mut().expect("it is granted");
        allocation.phase = Phase::Releasing { ran_since, then: Then::Requeue };
        let grants = allocation.placement.grants.clone();
        self.leave_soon(tenant, &grants);
    }

    /// A device that it was going to get is lost. Whether that calls the resize off; if not, the allocation itself is hit.
    pub(super) fn loses_new_device(&mut self, id: AllocationId, last: Last) {
        match self.phase(id) {
            Some(Phase::Running { .. }) => self.keep_placement(id),
            _ => {
                self.set_last(id.ask, last);
                self.call_off_restart(id);
            }
        }
    }

    /// Whether a resize is on its way of which the world has not heard, or hears only when the next attempt starts.
    pub(super) fn is_reserved_only(&self, id: AllocationId) -> bool {
        let found = self.state.jobs.allocation(id);
        found.is_some_and(|found| found.width.resizing.is_some() && found.asked().is_none())
    }

    /// Nothing comes of a resize: what it was going to get is free again, what it was going to give up it keeps.
    pub(super) fn call_off_resize(&mut self, id: AllocationId) {
        let Some(job) = self.state.jobs.get(id.ask.job) else { return };
        let tenant = job.tenant;
        let allocation = self.ask_mut(id.ask).allocation_mut().expect("it is granted");
        let Some(resizing) = allocation.width.resizing.take() else { return };
        let owed = std::mem::take(&mut allocation.owed);
        let held_since = allocation.held_since;
        self.holders.note(id.ask);
        for grant in &resizing.more {
            let (kind, amount) = self.state.cluster.amount(grant);
            self.state.ledger.account_mut(tenant, kind).committed -= amount;
        }
        for held in in_hand(&resizing.more, &owed) {
            self.release(tenant, &held, held_since);
            self.sync_device(held.device);
        }
        self.stay(tenant, &resizing.less);
    }

    /// The same, and it runs on: whoever was promised a part of what it keeps is promised it no longer.
    fn keep_placement(&mut self, id: AllocationId) {
        self.call_off_resize(id);
        let allocation = self.ask_mut(id.ask).allocation_mut().expect("it is granted");
        for to in std::mem::take(&mut allocation.pledges) {
            let is_owed = |found: &Allocation| found.owed.iter().any(|part| part.by == id);
            if !self.state.jobs.allocation(to).is_some_and(is_owed) {
                continue;
            }
            match self.phase(to) {
                Some(Phase::Planned) => self.withdraw(to, Last::Nothing),
                Some(Phase::Running { .. }) => self.keep_placement(to),
                _ => self.call_off_restart(to),
            }
        }
    }

    /// Whether an attempt that has ended makes room for the next one on another placement. Not if its work is done.
    pub(super) fn goes_on_resized(&self, id: AllocationId, outcome: Outcome) -> bool {
        let phase = self.phase(id).expect("accept saw it");
        let is_restart = matches!(phase, Phase::Releasing { then: Then::Resize, .. });
        is_restart && (outcome != Outcome::Succeeded || self.is_service(id.ask))
    }

    /// An attempt that was to be restarted is over. The next one has its new placement at once, without having been in a
    /// queue, and starts when it is owed nothing any more.
    pub(super) fn hand_over(&mut self, id: AllocationId) {
        let now = self.state.now;
        let mut before = self.take_allocation(id.ask);
        let Phase::Releasing { ran_since: Some(since), .. } = before.phase else {
            unreachable!("only what ran is restarted")
        };
        self.serve(id.ask, &before, since);
        let resizing = *before.width.resizing.take().expect("it is restarted for that");
        let (from, to) = (before.placement.members(), resizing.placement.members());
        self.tell(id, Happened::Resized { from, to, in_place: false });
        self.give_up_part(id, &resizing.less, before.held_since, &before.pledges);
        let next = AllocationId { attempt: id.attempt + 1, ..id };
        for giver in before.owed.iter().map(|part| part.by) {
            let giver = self.ask_mut(giver.ask).allocation_mut().expect("it owes something");
            giver.pledges.iter_mut().filter(|to| **to == id).for_each(|to| *to = next);
        }
        let is_paid = before.owed.is_empty();
        let held_since = before.held_since;
        let granted = Allocation { held_since, ..Allocation::new(resizing.placement, now, before.owed) };
        let ask = self.ask_mut(id.ask);
        ask.state = AskState::Granted(Box::new(granted));
        ask.attempt = next.attempt;
        ask.restarts += 1;
        ask.resizes.last = Some(now);
        self.take_turn(id.ask);
        self.list_granted(id.ask);
        if is_paid {
            self.charge_so_far(next);
            self.begin(next);
        }
    }

    /// Gives back a part of what an allocation had, and goes on with the rest.
    fn give_up_part(&mut self, id: AllocationId, less: &[Grant], held_since: Time, pledges: &[AllocationId]) {
        let tenant = self.state.jobs.get(id.ask.job).expect("it is granted").tenant;
        for part in less {
            let (kind, amount) = self.state.cluster.amount(part);
            let account = self.state.ledger.account_mut(tenant, kind);
            account.committed -= amount;
            account.leaving -= amount;
            self.release(tenant, part, held_since);
        }
        for &beneficiary in pledges {
            self.pay(id, beneficiary, less);
        }
        for part in less {
            self.sync_device(part.device);
        }
    }

    /// A part of what a tenant has is not going to be released after all.
    fn stay(&mut self, tenant: TenantId, grants: &[Grant]) {
        for grant in grants {
            let (kind, amount) = self.state.cluster.amount(grant);
            self.state.ledger.account_mut(tenant, kind).leaving -= amount;
        }
    }

    /// Counts what an attempt has run so far, at the width that it had: its width changes now.
    fn count_run(&mut self, id: AllocationId) {
        let now = self.state.now;
        let ask = self.state.jobs.ask(id.ask).expect("it is granted");
        let before = ask.attained;
        let allocation = ask.allocation().expect("it is granted").clone();
        let Phase::Running { since } = allocation.phase else { unreachable!("accept saw that it runs") };
        self.serve(id.ask, &allocation, since);
        let ask = self.ask_mut(id.ask);
        let attained = ask.attained - before;
        let allocation = ask.allocation_mut().expect("it is granted");
        allocation.width.counted = Some(now);
        allocation.width.attained += attained;
    }
}

#[cfg(test)]
mod tests;
