//! Hosts: what tenants hold of processors and memory is what their jobs hold, and what they used is what jobs were granted.

use super::{Dice, cluster, workload};
use consort_sched::{Doing, Ended, Rollout, Scheduler, View, Watch, stock};
use consort_sim::world::{Delays, VirtualWorld};
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What allocations hold of each pool, by tenant, counted from their grants. Absent while something is only promised: then
/// a part of it is still with its giver.
fn held(view: &View<'_>) -> Option<BTreeMap<(TenantId, Pool), u64>> {
    let mut held = BTreeMap::new();
    for ask in view.granted().filter_map(|id| view.ask(id)) {
        if ask.doing() == Doing::Planned {
            return None;
        }
        for grant in ask.grants() {
            if let Some(pool) = view.pool_of(grant.device) {
                *held.entry((ask.tenant(), pool)).or_default() += grant.memory_bytes;
            }
        }
    }
    Some(held)
}

/// Adds up what is held over time, and what jobs that ended were told to have used.
#[derive(Default)]
struct Sum {
    at: Option<Time>,
    held: BTreeMap<(TenantId, Pool), u64>,
    area: BTreeMap<(TenantId, Pool), u128>,
    starts: u64,
    jobs_cpu_ms: u64,
    steps: u64,
}

impl Watch for Sum {
    fn event(&mut self, event: &Event, scheduler: &Scheduler) {
        let view = scheduler.view();
        let span = self.at.map_or(0, |at| (event.at - at).0 as u128);
        for (&key, &held) in &self.held {
            *self.area.entry(key).or_default() += u128::from(held) * span;
        }
        self.at = Some(event.at);
        if let Fact::Planned(plan) = &event.fact {
            self.starts += plan.moves.iter().filter(|one| matches!(one, Move::Start { .. })).count() as u64;
        }
        let accounts = view.tenants().flat_map(|(tenant, _)| Pool::ALL.map(|pool| (tenant, pool)));
        let of = |(tenant, pool)| view.pool_account(tenant, pool).held;
        self.held = accounts.map(|key| (key, of(key))).collect();
        if let Some(counted) = held(&view) {
            self.steps += 1;
            let known: BTreeMap<_, _> = self.held.iter().filter(|(_, held)| **held > 0).collect();
            assert!(known.into_iter().eq(counted.iter().filter(|(_, held)| **held > 0)), "{counted:?}");
        }
    }

    fn ended(&mut self, ended: Ended) {
        self.jobs_cpu_ms += ended.hosts.cpu_ms();
    }
}

#[test]
fn what_tenants_hold_and_use_of_hosts_is_what_their_jobs_do() {
    let mut steps = 0;
    for seed in 0..120 {
        let mut dice = Dice(seed);
        let mut cluster = cluster(&mut dice);
        for node in &mut cluster.nodes {
            node.host = Host { cpu_milli: 16_000, memory_bytes: 100 << 30 };
        }
        for tenant in &mut cluster.tenants {
            tenant.quotas.push(Quota {
                kind: "cpus".into(),
                guarantee: 0,
                ceiling: Some(8 + dice.below(20)),
            });
            tenant.quotas.push(Quota { kind: "mem".into(), guarantee: 0, ceiling: Some(80 << 30) });
        }
        let mut workload = workload(&mut dice, &cluster, 40);
        for submission in &mut workload.submissions {
            let shape = &mut Arc::make_mut(&mut submission.spec).stages[0].roles[0].shapes[0];
            if dice.below(2) == 0 {
                shape.host = Host { cpu_milli: dice.from(1, 3_000), memory_bytes: dice.below(10 << 30) };
            }
        }
        let entries = stock::entries();
        let stock = &entries[seed as usize % entries.len()];
        let (start, stop, ended) = (Span::seconds(2), Span::seconds(3), Span::seconds(1));
        let delays = Delays { start, stop, ended, ..Delays::default() };
        let world = VirtualWorld::new(&cluster, workload.submissions.clone().into()).delayed(delays);
        let capabilities = Capabilities { counts_hosts: seed % 2 == 0, ..Capabilities::default() };
        let mut scheduler = Scheduler::new(stock.policy(), capabilities);
        for input in cluster.inputs() {
            let event = scheduler.accept(Time::ZERO, input).expect("the set-up is in order");
            scheduler.apply(&event);
        }
        let (mut rollout, mut sum) = (Rollout::new(scheduler, world), Sum::default());
        rollout.run(Time::NEVER, &mut sum);
        let view = rollout.scheduler.view();
        assert_eq!(view.living_count(), 0, "seed {seed}: all jobs end");
        let mut all_cpu_ms = 0;
        for (tenant, _) in view.tenants() {
            for pool in Pool::ALL {
                let (account, area) = (view.pool_account(tenant, pool), sum.area.get(&(tenant, pool)));
                let counted = area.copied().unwrap_or(0) / (u128::from(pool.unit()) * 1_000_000);
                let lost = counted.checked_sub(account.usage_ms);
                // Each grant that is given back is rounded down once, or where it was passed on, a few times.
                let roundings = u128::from(64 * (sum.starts + 1));
                assert!(
                    lost.is_some_and(|lost| lost <= roundings),
                    "seed {seed}: {account:?}, not {counted}"
                );
                assert_eq!(account.held, 0, "seed {seed}");
                all_cpu_ms += if pool == Pool::Cpu { account.usage_ms } else { 0 };
            }
        }
        // A job uses what it has while it runs; its tenant from grant to release.
        assert!(u128::from(sum.jobs_cpu_ms) <= all_cpu_ms + u128::from(64 * (sum.starts + 1)), "seed {seed}");
        assert!(sum.jobs_cpu_ms > 0, "seed {seed}");
        steps += sum.steps;
    }
    assert!(steps > 5_000, "only {steps} states were compared");
}
