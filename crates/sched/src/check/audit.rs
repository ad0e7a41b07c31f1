//! The full check of everything: what every account, set and index claims, counted again from the allocations.
//! Far too slow for every plan; scenarios and the swarm run it all the time.
//!
//! Ceilings are not in here: one that was lowered beneath what its tenant holds takes nothing away, so no single
//! state can tell whether a ceiling was kept. The swarm, which sees every change, keeps an eye on that.

use crate::scheduler::Scheduler;
use crate::state::State;
use crate::state::cluster::Health;
use crate::state::jobs::{Allocation, AskState, Job, Phase, Then};
use consort_types::*;
use std::collections::{BTreeMap, BTreeSet};

impl Scheduler {
    /// Everything that is wrong with the state; empty when all is well.
    pub fn audit(&self) -> Vec<String> {
        let mut audit = Audit::of(&self.state);
        for job in self.state.jobs.iter() {
            for (index, ask) in job.asks.iter().enumerate() {
                audit.ask(job, job.ask_id(index), &ask.state);
            }
        }
        let jobs = &self.state.jobs;
        audit.expect(audit.waiting.iter().eq(jobs.waiting.iter()), || {
            "the set of waiting asks is wrong".into()
        });
        audit.expect(audit.granted.iter().eq(jobs.granted.iter()), || {
            "the set of granted asks is wrong".into()
        });
        audit.expect(audit.elastic.iter().eq(jobs.elastic.0.iter()), || {
            "the set of elastic gangs is wrong".into()
        });
        audit.devices();
        audit.accounts();
        audit.expect(self.indexes_are_true(), || "the free index is wrong".into());
        audit.wrong
    }
}

/// What was counted so far, and what was found wrong.
struct Audit<'a> {
    state: &'a State,
    wrong: Vec<String>,
    waiting: BTreeSet<AskId>,
    granted: BTreeSet<AskId>,
    elastic: BTreeSet<AskId>,
    /// Thousandths and memory held.
    held: BTreeMap<DeviceId, (i64, i64)>,
    /// Held, committed, leaving.
    sums: BTreeMap<(TenantId, KindId), [i64; 3]>,
}

impl<'a> Audit<'a> {
    fn of(state: &'a State) -> Self {
        Audit {
            state,
            wrong: vec![],
            waiting: BTreeSet::new(),
            granted: BTreeSet::new(),
            elastic: BTreeSet::new(),
            held: BTreeMap::new(),
            sums: BTreeMap::new(),
        }
    }

    fn expect(&mut self, holds: bool, what: impl Fn() -> String) {
        if !holds {
            self.wrong.push(what());
        }
    }

    fn ask(&mut self, job: &Job, id: AskId, ask: &AskState) {
        let is_free = !job.paused && job.ending.is_none() && job.after.is_empty();
        let could_start = is_free && job.stage_ready(usize::from(id.stage));
        match ask {
            AskState::Done => {}
            AskState::Blocked => self.expect(!could_start, || format!("{id} is blocked by nothing")),
            AskState::Waiting => {
                self.waiting.insert(id);
                self.expect(could_start, || format!("{id} waits but could not start"));
            }
            AskState::Granted(allocation) => {
                self.granted.insert(id);
                if job.spec.stages[usize::from(id.stage)].is_elastic() {
                    self.elastic.insert(id);
                }
                self.count(job.tenant, allocation);
                self.promises(id, allocation);
                self.resize(job, id, allocation);
                if !matches!(allocation.phase, Phase::Releasing { .. }) {
                    let goes_on = !job.paused && job.ending.is_none();
                    self.expect(goes_on, || format!("{id} runs although its job is over or paused"));
                    self.is_whole(job, id, &allocation.placement);
                }
            }
        }
    }

    /// Adds an allocation to what is held, without what it is still owed.
    fn count(&mut self, tenant: TenantId, allocation: &Allocation) {
        let is_leaving =
            matches!(allocation.phase, Phase::Releasing { .. }) && allocation.width.resizing.is_none();
        let granted = allocation.granted().map(|grant| (grant, 1));
        let owed = allocation.owed.iter().map(|owed| (&owed.grant, -1));
        for grant in allocation.width.resizing.iter().flat_map(|resizing| &resizing.less) {
            let (kind, amount) = self.state.cluster.amount(grant);
            self.sums.entry((tenant, kind)).or_default()[2] += amount as i64;
        }
        for (grant, sign) in granted.chain(owed) {
            let share = i64::from(grant.share);
            let device = self.held.entry(grant.device).or_default();
            *device = (device.0 + sign * share, device.1 + sign * grant.memory_bytes as i64);
            let (kind, amount) = self.state.cluster.amount(grant);
            let (amount, sums) = (amount as i64, self.sums.entry((tenant, kind)).or_default());
            sums[0] += sign * amount;
            if sign > 0 {
                sums[1] += amount;
                sums[2] += if is_leaving { amount } else { 0 };
            }
        }
    }

    /// Only what is planned or about to be resized is owed anything, and only by those who give it back and know to whom.
    fn promises(&mut self, id: AskId, allocation: &Allocation) {
        let is_planned = allocation.phase == Phase::Planned;
        let may_be_owed = allocation.width.resizing.is_some();
        self.expect(may_be_owed || is_planned != allocation.owed.is_empty(), || {
            format!("{id} is planned, or owed, but not both")
        });
        let this = self.state.jobs.ask(id).map(|ask| AllocationId { ask: id, attempt: ask.attempt });
        for owed in &allocation.owed {
            let gives = self.state.jobs.allocation(owed.by).is_some_and(|giver| {
                let given = match &giver.width.resizing {
                    Some(resizing) => &resizing.less,
                    None if matches!(giver.phase, Phase::Releasing { .. }) => &giver.placement.grants,
                    None => return false,
                };
                let has_it = given.iter().any(|grant| grant.device == owed.grant.device);
                has_it && this.is_some_and(|this| giver.pledges.contains(&this))
            });
            self.expect(gives, || format!("{id} is owed by {} which keeps it", owed.by));
        }
    }

    /// A resize is on its way only of what runs, or of what ends so that its next attempt can start elsewhere.
    fn resize(&mut self, job: &Job, id: AskId, allocation: &Allocation) {
        let in_place = allocation.width.resizing.as_ref().map(|resizing| resizing.generation.is_some());
        let is_right = match (in_place, allocation.phase) {
            (None, Phase::Releasing { then: Then::Resize, .. }) => false,
            (None, _) | (Some(true), Phase::Running { .. }) => true,
            (Some(false), Phase::Releasing { then: Then::Resize, .. }) => true,
            (Some(_), _) => false,
        };
        self.expect(is_right, || format!("{id} is being resized, and yet it is not"));
        if let Some(resizing) = &allocation.width.resizing {
            self.is_whole(job, id, &resizing.placement);
            let goes_on = !job.paused && job.ending.is_none();
            self.expect(goes_on, || format!("{id} is being resized although its job is over or paused"));
        }
    }

    fn is_whole(&mut self, job: &Job, id: AskId, placement: &Placement) {
        let class = self.state.classes.get(job.stages[usize::from(id.stage)].class);
        let roles = class.roles.iter().zip(&placement.fills);
        let devices = roles.map(|(role, fill)| {
            u64::from(fill.count) * u64::from(role.shapes[usize::from(fill.shape)].devices)
        });
        let granted = placement.devices().count();
        let is_whole = devices.sum::<u64>() == granted as u64;
        self.expect(is_whole, || format!("gang {id} is not whole"));
    }

    fn devices(&mut self) {
        for (index, device) in self.state.cluster.devices.iter().enumerate() {
            let id = DeviceId(index as u32);
            let (share, memory) = self.held.get(&id).copied().unwrap_or_default();
            let is_true = (share, memory) == (i64::from(device.held), device.held_memory as i64);
            self.expect((0..=i64::from(WHOLE)).contains(&share), || format!("{id} is granted twice"));
            self.expect(is_true, || format!("{id} is held by nobody known"));
            let is_over = self.state.cluster.is_pool(id) && device.held_memory > device.amount;
            self.expect(!is_over || device.held_memory == 0, || {
                format!("more of {id} is granted than there is")
            });
            let is_fenced = self.state.cluster.nodes[device.node.index()].health == Health::Fenced;
            self.expect(!is_fenced || share == 0, || format!("{id} is held on a fenced node"));
        }
    }

    fn accounts(&mut self) {
        for tenant in (0..self.state.ledger.tenants.len() as u32).map(TenantId) {
            for kind in self.state.cluster.kind_ids() {
                let account = self.state.ledger.account(tenant, kind);
                let claimed = [account.held, account.committed, account.leaving].map(|sum| sum as i64);
                let counted = self.sums.get(&(tenant, kind)).copied().unwrap_or_default();
                self.expect(claimed == counted, || format!("the account of {tenant} for {kind} is wrong"));
            }
        }
    }
}
