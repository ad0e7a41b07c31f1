//! Devices are granted, promised, held, given back and passed on.
//!
//! A device moves between three conditions: held by an allocation, promised by one allocation to another, free.
//! It becomes free only when its release has been observed or its node has been fenced.

use super::memory::Larger;
use crate::scheduler::Scheduler;
use crate::state::jobs::*;
use consort_types::*;
use std::sync::Arc;

impl Scheduler {
    pub(super) fn phase(&self, id: AllocationId) -> Option<Phase> {
        self.state.jobs.allocation(id).map(|allocation| allocation.phase)
    }

    pub(super) fn ask_mut(&mut self, id: AskId) -> &mut Ask {
        self.state.jobs.get_mut(id.job).and_then(|job| job.ask_mut(id)).expect("accept and check saw it")
    }

    pub(super) fn set_last(&mut self, id: AskId, last: Last) {
        self.ask_mut(id).last = last;
    }

    pub(super) fn start(&mut self, id: AskId, placement: &Placement, after: &[AllocationId]) {
        let attempt = self.state.jobs.ask(id).expect("check saw it").attempt + 1;
        let allocation = AllocationId { ask: id, attempt };
        let tenant = self.state.jobs.get(id.job).expect("check saw it").tenant;
        let mut owed = vec![];
        for grant in &by_device(&placement.grants) {
            self.commit_to(tenant, grant, after, &mut owed);
        }
        self.pledge(after, allocation);
        let is_paid = owed.is_empty();
        let granted = Allocation::new(placement.clone(), self.state.now, owed);
        self.unwait(id, AskState::Granted(Box::new(granted)));
        self.ask_mut(id).attempt = attempt;
        self.take_turn(id);
        self.list_granted(id);
        if is_paid {
            self.begin(allocation);
        }
    }

    /// A part of a device is going to be this tenant's: from now on, or once the givers have released it.
    pub(super) fn commit_to(
        &mut self,
        tenant: TenantId,
        grant: &Grant,
        after: &[AllocationId],
        owed: &mut Vec<Owed>,
    ) {
        let taken = self.hold_now(grant, after, owed);
        let (kind, amount) = self.state.cluster.amount(grant);
        self.state.ledger.account_mut(tenant, kind).committed += amount;
        self.hold(tenant, &taken);
    }

    /// Promises an allocation what these give back.
    pub(super) fn pledge(&mut self, givers: &[AllocationId], to: AllocationId) {
        for &giver in givers {
            let ask = self.ask_mut(giver.ask);
            ask.allocation_mut().expect("check saw it").pledges.push(to);
        }
    }

    /// Enters an ask that was granted devices into the sets.
    pub(super) fn list_granted(&mut self, id: AskId) {
        self.state.jobs.granted.insert(id);
        if self.is_elastic(id) {
            self.state.jobs.elastic.0.insert(id);
        }
        self.holders.note(id);
    }

    fn is_elastic(&self, id: AskId) -> bool {
        let job = self.state.jobs.get(id.job).expect("it is granted");
        job.spec.stages[usize::from(id.stage)].is_elastic()
    }

    /// Takes what is free of a grant now and notes who owes the rest. Returns what was taken.
    fn hold_now(&mut self, grant: &Grant, after: &[AllocationId], owed: &mut Vec<Owed>) -> Grant {
        let (free, free_memory) = self.state.cluster.unheld(grant.device);
        let share = (free.max(0) as u16).min(grant.share);
        let memory_bytes = (free_memory.max(0) as u64).min(grant.memory_bytes);
        let now = if after.is_empty() { *grant } else { Grant { share, memory_bytes, ..*grant } };
        self.state.cluster.hold(&now);
        self.sync_device(grant.device);
        let mut missing = Grant {
            share: grant.share - now.share,
            memory_bytes: grant.memory_bytes - now.memory_bytes,
            ..*grant
        };
        for &by in after {
            if missing.share == 0 && missing.memory_bytes == 0 {
                break;
            }
            let spare = self.state.unpledged(by, grant.device);
            let part = Grant {
                share: missing.share.min(spare.share),
                memory_bytes: missing.memory_bytes.min(spare.memory_bytes),
                ..*grant
            };
            if part.share > 0 || part.memory_bytes > 0 {
                owed.push(Owed { by, grant: part });
                missing.share -= part.share;
                missing.memory_bytes -= part.memory_bytes;
            }
        }
        assert!(missing.share == 0 && missing.memory_bytes == 0, "check lets through only what can be paid");
        now
    }

    /// It holds everything: the world may bring it up.
    pub(super) fn begin(&mut self, id: AllocationId) {
        let now = self.state.now;
        let allocation = self.ask_mut(id.ask).allocation_mut().expect("it is granted");
        (allocation.phase, allocation.held_since) = (Phase::Starting, now);
        self.changed.push(id);
    }

    pub(super) fn started(&mut self, id: AllocationId) {
        let now = self.state.now;
        let ask = self.ask_mut(id.ask);
        ask.first_started.get_or_insert(now);
        (ask.refusals, ask.last) = (0, Last::Nothing);
        ask.allocation_mut().expect("accept saw it").phase = Phase::Running { since: now };
        self.holders.note(id.ask);
        if id.attempt > 1 {
            self.tell(id, Happened::Started);
        }
        let job = self.state.jobs.get(id.ask.job).expect("accept saw it");
        if let Some(limit) = job.spec.time_limit {
            self.state.jobs.limits.insert((now + limit, id));
            self.stirred = true; // only a plan says when to wake up for it
        }
        if self.capabilities.resize != Resize::No && self.is_elastic(id.ask) {
            self.stirred = true; // from now on it can be resized
        }
    }

    pub(super) fn stop_for(&mut self, id: AllocationId, cause: StopCause) {
        match cause {
            StopCause::Preempted { by, claim } => {
                self.set_last(id.ask, Last::Preempted(by));
                self.tell_preempted(id, by, claim);
            }
            StopCause::Yield => {
                self.set_last(id.ask, Last::Ended { outcome: Outcome::Stopped, words: None });
                self.tell(id, Happened::Yielded);
            }
            StopCause::TimeLimit if self.others_go_on(id.ask) => {
                self.set_last(id.ask, Last::TimeLimit);
                return self.stop(id, Then::TaskFails);
            }
            StopCause::TimeLimit => return self.end_job(id.ask.job, Why::TimeLimit { ask: id.ask }),
        }
        self.stop(id, Then::GiveWay);
    }

    /// Tells the world to end it; or, if the world never heard of it, ends it.
    pub(super) fn stop(&mut self, id: AllocationId, then: Then) {
        match self.phase(id).expect("it is granted") {
            Phase::Planned => self.withdraw(id, Last::Nothing),
            Phase::Starting => self.release_later(id, None, then),
            Phase::Running { since } => {
                self.settle_resize(id);
                self.release_later(id, Some(since), then);
            }
            Phase::Releasing { ran_since, .. } => {
                // Already on its way; only the verdict may become final. A restart on other devices is off.
                self.call_off_restart(id);
                let allocation = self.ask_mut(id.ask).allocation_mut().expect("it is granted");
                if then == Then::JobEnds {
                    allocation.phase = Phase::Releasing { ran_since, then };
                }
            }
        }
    }

    fn release_later(&mut self, id: AllocationId, ran_since: Option<Time>, then: Then) {
        self.forget_limit(id, ran_since);
        let tenant = self.state.jobs.get(id.ask.job).expect("it is granted").tenant;
        let allocation = self.ask_mut(id.ask).allocation_mut().expect("it is granted");
        allocation.phase = Phase::Releasing { ran_since, then };
        let grants = allocation.placement.grants.clone();
        self.holders.note(id.ask);
        self.leave_soon(tenant, &grants);
        self.changed.push(id);
    }

    /// A part of what a tenant has is going to be released.
    pub(super) fn leave_soon(&mut self, tenant: TenantId, grants: &[Grant]) {
        for grant in grants {
            let (kind, amount) = self.state.cluster.amount(grant);
            self.state.ledger.account_mut(tenant, kind).leaving += amount;
        }
    }

    pub(super) fn forget_limit(&mut self, id: AllocationId, ran_since: Option<Time>) {
        let limit = self.state.jobs.get(id.ask.job).and_then(|job| job.spec.time_limit);
        if let (Some(since), Some(limit)) = (ran_since, limit) {
            self.state.jobs.limits.remove(&(since + limit, id));
        }
    }

    /// Takes back a promise that the world never heard of.
    pub(super) fn withdraw(&mut self, id: AllocationId, last: Last) {
        assert_eq!(self.phase(id), Some(Phase::Planned));
        let mut allocation = self.take_allocation(id.ask);
        let owed = std::mem::take(&mut allocation.owed);
        self.give_back(id, &allocation, &allocation.placement.grants, &owed);
        self.set_last(id.ask, last);
        self.again(id.ask, Time(i64::MIN));
    }

    pub(super) fn start_refused(&mut self, id: AllocationId, why: &str) {
        let phase = self.phase(id).expect("accept saw it");
        let allocation = self.take_allocation(id.ask);
        self.give_back(id, &allocation, &allocation.placement.grants, &[]);
        if let Phase::Releasing { then, .. } = phase {
            return self.after_release(id.ask, then, false);
        }
        let now = self.state.now;
        let &Constants { refused_backoff: refused, longest_backoff: longest, .. } = self.state.constants();
        let ask = self.ask_mut(id.ask);
        ask.refusals += 1;
        ask.last = Last::Refused(why.into());
        let again_at = now + doubled(refused, ask.refusals, longest);
        self.tell(id, Happened::StartRefused { why: why.into(), again_at });
        self.again(id.ask, again_at);
    }

    pub(super) fn allocation_ended(&mut self, id: AllocationId, outcome: Outcome, words: Option<&Arc<str>>) {
        if self.goes_on_resized(id, outcome) {
            let had = self.state.jobs.allocation(id).map(|ended| self.device_memory(&ended.placement));
            self.learn(id.ask, had.unwrap_or(0), outcome);
            return self.hand_over(id);
        }
        self.call_off_restart(id);
        self.call_off_resize(id);
        let phase = self.phase(id).expect("accept saw it");
        let allocation = self.take_allocation(id.ask);
        self.give_back(id, &allocation, &allocation.placement.grants, &[]);
        let ran_since = match phase {
            Phase::Running { since } => Some(since),
            Phase::Releasing { ran_since, .. } => ran_since,
            Phase::Planned | Phase::Starting => None,
        };
        self.forget_limit(id, ran_since);
        if let Some(since) = ran_since {
            self.serve(id.ask, &allocation, since);
        }
        let is_service = self.is_service(id.ask);
        let had = self.device_memory(&allocation.placement);
        self.learn(id.ask, had, outcome);
        self.lasts.insert(id.ask.job, (id, allocation.placement));
        match (phase, outcome) {
            (Phase::Releasing { then: Then::JobEnds, .. }, _) => self.ask_done(id.ask),
            (Phase::Releasing { then: Then::TaskFails, .. }, _) => self.task_failed(id.ask),
            (_, Outcome::Succeeded) if !is_service => self.ask_done(id.ask),
            (Phase::Releasing { then, .. }, _) => self.after_release(id.ask, then, ran_since.is_some()),
            (_, Outcome::Failed { .. } | Outcome::Succeeded) => {
                let ran = ran_since.map_or(Span::ZERO, |since| self.state.now - since);
                match self.wants_larger(id.ask, had, outcome) {
                    Larger::NotWanted => self.failed(id.ask, outcome, words.cloned(), ran),
                    Larger::Waits => {
                        self.set_last(id.ask, Last::Ended { outcome, words: words.cloned() });
                        let why = Some(format!("{} was not enough", memory_words(had)).into());
                        self.tell(id, Happened::Failed { outcome, why, again_at: Some(self.state.now) });
                        self.after_release(id.ask, Then::Requeue, ran_since.is_some());
                    }
                    Larger::Nowhere(why) => {
                        let words = match &why {
                            Why::Broke { words, .. } if self.others_go_on(id.ask) => words.clone(),
                            _ => words.cloned(),
                        };
                        self.set_last(id.ask, Last::Ended { outcome, words });
                        self.give_up(id.ask, why);
                    }
                }
            }
            (_, Outcome::Stopped) => {
                self.set_last(id.ask, Last::Ended { outcome, words: words.cloned() });
                self.tell(id, Happened::Interrupted { why: words.cloned() });
                self.after_release(id.ask, Then::Requeue, ran_since.is_some());
            }
        }
    }

    /// The world reported the end of an attempt that a fence had taken the devices of. Its ask has not started again
    /// since, so how it ended counts: work that was done, and work that broke by itself before anything could stop it.
    pub(super) fn fenced_attempt_ended(
        &mut self,
        id: AllocationId,
        outcome: Outcome,
        words: Option<&Arc<str>>,
    ) {
        let Some(ask) = self.state.jobs.ask(id.ask) else { return };
        let is_idle = matches!(ask.state, AskState::Waiting | AskState::Blocked);
        if !is_idle || ask.attempt != id.attempt || self.is_service(id.ask) {
            return;
        }
        match outcome {
            Outcome::Succeeded => {
                self.unwait(id.ask, AskState::Blocked);
                self.ask_done(id.ask);
            }
            Outcome::Failed { .. } => {
                self.unwait(id.ask, AskState::Blocked);
                self.failed(id.ask, outcome, words.cloned(), Span::ZERO);
            }
            Outcome::Stopped => {}
        }
    }

    pub(super) fn is_service(&self, id: AskId) -> bool {
        let job = self.state.jobs.get(id.job).expect("it is granted");
        matches!(job.spec.stages[usize::from(id.stage)].form, Form::Service { .. })
    }

    /// An attempt broke by itself; or a replica ended, which it never should.
    fn failed(&mut self, id: AskId, outcome: Outcome, words: Option<Arc<str>>, ran: Span) {
        let (now, is_service) = (self.state.now, self.is_service(id));
        let longest = self.state.constants().longest_backoff;
        let spec = self.state.jobs.get(id.job).expect("it is granted").spec.clone();
        let ask = self.ask_mut(id);
        if is_service && ran >= longest {
            ask.failures = 0; // it has been well for long enough
        }
        ask.failures += 1;
        ask.last = Last::Ended { outcome, words: words.clone() };
        let is_cancelled = matches!(outcome, Outcome::Failed { cause: Cause::Cancelled, .. });
        let is_last = (ask.failures > spec.retries || is_cancelled) && !is_service;
        let again_at = now + doubled(spec.backoff, ask.failures, longest);
        ask.restarts += u32::from(!is_last);
        let attempt = AllocationId { ask: id, attempt: ask.attempt };
        let again = (!is_last).then_some(again_at);
        self.tell(attempt, Happened::Failed { outcome, why: words.clone(), again_at: again });
        if is_last {
            let is_all = matches!(&spec.stages[..], [StageSpec { form: Form::Gang, .. }]);
            let why = match is_cancelled && is_all {
                true => Why::AskedThere { words },
                false => Why::Broke { ask: id, outcome, words },
            };
            return self.give_up(id, why);
        }
        self.again(id, again_at);
    }

    /// An ask has failed for good: the end of its job, unless the others of its bag go on.
    fn give_up(&mut self, id: AskId, why: Why) {
        self.unwait(id, AskState::Done);
        match self.others_go_on(id) {
            true => self.task_failed(id),
            false => self.end_job(id.job, why),
        }
    }

    fn after_release(&mut self, id: AskId, then: Then, ran: bool) {
        match then {
            Then::JobEnds => self.ask_done(id),
            Then::TaskFails => self.task_failed(id),
            Then::Requeue | Then::GiveWay | Then::Resize => {
                let ask = self.ask_mut(id);
                ask.restarts += u32::from(ran);
                ask.preemptions += u32::from(ran && then == Then::GiveWay);
                self.again(id, Time(i64::MIN));
            }
        }
    }

    /// Back to waiting; or to being blocked, when the job was paused meanwhile.
    fn again(&mut self, id: AskId, not_before: Time) {
        let ask = self.ask_mut(id);
        ask.state = AskState::Blocked;
        ask.not_before = not_before;
        if self.state.jobs.get(id.job).is_some_and(|job| job.ending.is_some()) {
            return self.ask_done(id);
        }
        self.unblock_ask(id);
    }

    pub(super) fn take_allocation(&mut self, id: AskId) -> Box<Allocation> {
        self.state.jobs.granted.remove(&id);
        self.state.jobs.elastic.0.remove(&id);
        self.holders.note(id);
        match std::mem::replace(&mut self.ask_mut(id).state, AskState::Blocked) {
            AskState::Granted(allocation) => allocation,
            _ => unreachable!("accept and check saw that {id} is granted"),
        }
    }

    /// The fenced node's part of an allocation is gone; if that was all of it, so is the allocation.
    pub(super) fn lose_grants_on(&mut self, id: AllocationId, node: NodeId) {
        let cluster = &self.state.cluster;
        let allocation = self.state.jobs.allocation(id).expect("it is granted").clone();
        let (lost, left): (Vec<Grant>, Vec<Grant>) =
            allocation.placement.grants.iter().partition(|grant| cluster.device(grant.device).node == node);
        if left.is_empty() {
            return self.allocation_ended(id, Outcome::Stopped, None);
        }
        self.give_back(id, &allocation, &lost, &[]);
        if let Phase::Releasing { ran_since: Some(since), .. } = allocation.phase {
            self.attain(id.ask, &lost, self.state.now - allocation.width_since(since));
        }
        self.ask_mut(id.ask).allocation_mut().expect("it is granted").placement.grants = left;
    }
}

/// `base`, doubled for each time after the first, up to the longest.
pub(super) fn doubled(base: Span, times: u32, longest: Span) -> Span {
    let factor = 1i64 << (times.saturating_sub(1)).min(40);
    base.times(factor).min(longest.max(base))
}
