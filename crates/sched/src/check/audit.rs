//! The full check of everything: what every account, set and index claims, counted again from the allocations.
//! Far too slow for every plan; the swarm and the properties run it all the time.
//!
//! Ceilings are not in here: one that was lowered beneath what its tenant holds takes nothing away, so no single
//! state can tell whether a ceiling was kept. The swarm, which sees every change, keeps an eye on that.

use crate::scheduler::Scheduler;
use crate::state::jobs::{AskState, Phase};
use consort_types::*;
use std::collections::{BTreeMap, BTreeSet};

impl Scheduler {
    /// Everything that is wrong with the state; empty when all is well.
    pub fn audit(&self) -> Vec<String> {
        let mut wrong = vec![];
        let mut expect = |what: String, holds: bool| {
            if !holds {
                wrong.push(what);
            }
        };
        let state = &self.state;
        let mut held: BTreeMap<DeviceId, (i64, i64)> = BTreeMap::new();
        let mut accounts: BTreeMap<(TenantId, KindId), [u64; 3]> = BTreeMap::new();
        let (mut waiting, mut granted) = (BTreeSet::new(), BTreeSet::new());
        for job in state.jobs.iter() {
            for (index, ask) in job.asks.iter().enumerate() {
                let id = job.ask_id(index);
                let is_startable = !job.paused && job.ending.is_none() && job.after.is_empty();
                match &ask.state {
                    AskState::Waiting => {
                        expect(
                            format!("{id} waits but could not start"),
                            is_startable && job.stage_ready(usize::from(id.stage)),
                        );
                        waiting.insert(id);
                    }
                    AskState::Granted(allocation) => {
                        granted.insert(id);
                        let is_planned = allocation.phase == Phase::Planned;
                        expect(
                            format!("{id} is owed devices but not planned"),
                            is_planned || allocation.owed.is_empty(),
                        );
                        expect(
                            format!("{id} is planned but owed nothing"),
                            !is_planned || !allocation.owed.is_empty(),
                        );
                        let leaving = matches!(allocation.phase, Phase::Releasing { .. });
                        for grant in &allocation.placement.grants {
                            let kind = state.cluster.device(grant.device).kind;
                            let sums = accounts.entry((job.tenant, kind)).or_default();
                            sums[1] += u64::from(grant.share);
                            sums[2] += if leaving { u64::from(grant.share) } else { 0 };
                            let device = held.entry(grant.device).or_default();
                            *device =
                                (device.0 + i64::from(grant.share), device.1 + grant.memory_bytes as i64);
                            sums[0] += u64::from(grant.share);
                        }
                        for owed in &allocation.owed {
                            let kind = state.cluster.device(owed.grant.device).kind;
                            accounts.entry((job.tenant, kind)).or_default()[0] -= u64::from(owed.grant.share);
                            let device = held.entry(owed.grant.device).or_default();
                            device.0 -= i64::from(owed.grant.share);
                            device.1 -= owed.grant.memory_bytes as i64;
                        }
                        if !matches!(allocation.phase, Phase::Releasing { .. }) {
                            let class = state.classes.get(job.stages[usize::from(id.stage)].class);
                            let want: u64 = class
                                .roles
                                .iter()
                                .zip(&allocation.placement.fills)
                                .map(|(role, fill)| {
                                    u64::from(fill.count)
                                        * u64::from(role.shapes[usize::from(fill.shape)].devices)
                                })
                                .sum();
                            expect(
                                format!("gang {id} is not whole"),
                                want == allocation.placement.grants.len() as u64,
                            );
                            expect(
                                format!("{id} runs although its job is over or paused"),
                                !job.paused && job.ending.is_none(),
                            );
                        }
                        for owed in &allocation.owed {
                            let giver = state.jobs.allocation(owed.by);
                            let is_leaving =
                                giver.is_some_and(|giver| matches!(giver.phase, Phase::Releasing { .. }));
                            expect(format!("{id} is owed by {} which keeps it", owed.by), is_leaving);
                        }
                    }
                    AskState::Blocked => {
                        let ready = is_startable && job.stage_ready(usize::from(id.stage));
                        expect(format!("{id} is blocked by nothing"), !ready);
                    }
                    AskState::Done => {}
                }
            }
        }
        expect("the set of waiting asks is wrong".into(), waiting == state.jobs.waiting);
        expect("the set of granted asks is wrong".into(), granted == state.jobs.granted);
        for (index, device) in state.cluster.devices.iter().enumerate() {
            let id = DeviceId(index as u32);
            let (share, memory) = held.get(&id).copied().unwrap_or_default();
            expect(format!("{id} is granted twice"), (0..=i64::from(WHOLE)).contains(&share));
            expect(
                format!("{id} is held by nobody known"),
                share == i64::from(device.held) && memory == device.held_memory as i64,
            );
            let is_fenced =
                state.cluster.nodes[device.node.index()].health == crate::state::cluster::Health::Fenced;
            expect(format!("{id} is held on a fenced node"), !is_fenced || share == 0);
        }
        for tenant in 0..state.ledger.tenants.len() as u32 {
            for kind in state.cluster.kind_ids() {
                let account = state.ledger.account(TenantId(tenant), kind);
                let sums = accounts.get(&(TenantId(tenant), kind)).copied().unwrap_or_default();
                let is_true = sums == [account.held, account.committed, account.leaving];
                expect(format!("the account of tenant {tenant} for kind {} is wrong", kind.0), is_true);
            }
        }
        expect("the free index is wrong".into(), self.indexes_are_true());
        wrong
    }
}
