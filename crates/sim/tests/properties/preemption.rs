//! What preemption never does: stop a job for a guarantee that a device given away in the same plan would have met, and
//! go on without end.

use super::Dice;
use consort_sched::{AskView, Doing, Rollout, Scheduler, View, Watch, stock};
use consort_sim::workload::{Cluster, Submission, Truth};
use consort_sim::world::VirtualWorld;
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const TENANTS: u64 = 3;

/// One kind on up to four nodes, and tenants whose guarantees fit.
fn cluster(dice: &mut Dice) -> Cluster {
    let mut devices = 0;
    let nodes = (0..dice.from(1, 4)).map(|number| {
        let count = dice.from(2, 6) as u32;
        devices += count;
        let group = DeviceGroup { kind: "a".into(), count, island: 1 };
        NodeSpec { name: format!("n{number}"), devices: vec![group], ..NodeSpec::default() }
    });
    let nodes = nodes.collect();
    let tenants = (0..TENANTS).map(|number| {
        let guarantee = dice.below(u64::from(devices) + 1) as u32;
        devices -= guarantee;
        let quota = Quota { kind: "a".into(), guarantee, ceiling: None };
        TenantSpec { name: format!("t{number}"), quotas: vec![quota] }
    });
    let tenants = tenants.collect();
    let queue = QueueSpec { name: "q".into(), priority: 0, strict: false, tenants: vec![] };
    Cluster { kinds: vec![KindSpec::named("a")], nodes, tenants, queues: vec![queue], ..Cluster::default() }
}

/// Gangs of up to `widest` devices that may be anywhere. Every job of a tenant has the same priority.
fn jobs(dice: &mut Dice, count: u64, apart: u64, widest: u64, priorities: u64) -> Vec<Submission> {
    let priorities: Vec<i32> = (0..TENANTS).map(|_| dice.below(priorities) as i32).collect();
    let mut at = Time::ZERO;
    let submissions = (0..count).map(|number| {
        at = at + Span::seconds(dice.below(apart) as i64);
        let mut spec = JobSpec::gang(format!("j{number}"), dice.from(1, widest) as u32, Shape::of("a"));
        let tenant = dice.below(TENANTS);
        (spec.tenant, spec.queue, spec.priority) =
            (format!("t{tenant}"), "q".into(), priorities[tenant as usize]);
        let truth = Truth::runs(Span::seconds(dice.from(1, 300) as i64));
        Submission { label: spec.name.clone(), at, spec: Arc::new(spec), after: vec![], truth }
    });
    submissions.collect()
}

fn play(cluster: &Cluster, jobs: Vec<Submission>, watch: &mut impl Watch) {
    let world = VirtualWorld::new(cluster, jobs.into());
    let policy = stock::standard().policy();
    let mut scheduler = Scheduler::new(policy, Capabilities::default());
    for input in cluster.inputs() {
        let event = scheduler.accept(Time::ZERO, input).expect("the set-up is in order");
        scheduler.apply(&event);
    }
    let mut rollout = Rollout::new(scheduler, world);
    rollout.run(Time::NEVER, watch);
    assert_eq!(rollout.scheduler.view().jobs().count(), 0, "every job ends");
}

/// Judges every plan that stops something.
struct Judge {
    seed: u64,
    stops: u32,
}

impl Watch for Judge {
    fn event(&mut self, event: &Event, scheduler: &Scheduler) {
        let Fact::Planned(plan) = &event.fact else { return };
        for change in &plan.moves {
            if let Move::Stop { allocation, cause: StopCause::Preempted { by, .. } } = change {
                self.stops += 1;
                judge(&scheduler.view(), plan, allocation.ask, *by)
                    .unwrap_or_else(|why| panic!("seed {}, {:?}: {why}", self.seed, event.at));
            }
        }
    }
}

/// The devices that a plan gives away beside a claim would not have made a victim of that claim needless.
fn judge(view: &View<'_>, plan: &Plan, victim: AskId, claimant: AskId) -> Result<(), String> {
    let grants = |ask: AskId| view.ask(ask).map_or(&[][..], |ask| ask.grants());
    let claim = |ask: AskId| view.ask(ask).map(|ask| (ask.spec().qos, ask.spec().priority));
    let is_of_victim = |grant: &&Grant| grants(victim).iter().any(|held| held.device == grant.device);
    let needed = grants(claimant).iter().filter(is_of_victim).count();
    let by_guarantee = claim(claimant) <= claim(victim);
    let keeps = |ask: &AskView<'_>| ask.doing() != Doing::Releasing;
    let mut standing: BTreeMap<TenantId, u64> = BTreeMap::new();
    let is_new = |ask: AskId| {
        plan.moves.iter().any(|change| matches!(change, Move::Start { ask: new, .. } if *new == ask))
    };
    for ask in view.granted().filter(|ask| !is_new(*ask)).filter_map(|ask| view.ask(ask)).filter(keeps) {
        *standing.entry(ask.tenant()).or_default() += ask.thousandths();
    }
    // Devices on which jobs are started at no other's expense and beyond their tenant's guarantee. Where the claim is one
    // of priority, a job that is served before the claimant may be started.
    let mut given = 0;
    for change in &plan.moves {
        let Move::Start { ask, placement, after } = change else { continue };
        let started = view.ask(*ask).expect("it starts");
        let standing = standing.entry(started.tenant()).or_default();
        *standing += started.thousandths();
        let is_beyond = *standing > view.account(started.tenant(), KindId(0)).guarantee;
        let is_behind = by_guarantee || claim(*ask) < claim(claimant);
        if after.is_empty() && is_beyond && is_behind {
            given += placement.grants.len();
        }
    }
    match given < needed {
        true => Ok(()),
        false => Err(format!(
            "{victim} is stopped for {claimant}, which needs {needed} of its devices; {given} were given away"
        )),
    }
}

#[test]
fn no_job_is_stopped_for_what_the_same_plan_gives_away() {
    let mut stops = 0;
    for seed in 0..1_000 {
        let mut dice = Dice(seed);
        let cluster = cluster(&mut dice);
        let jobs = jobs(&mut dice, 60, 30, 1 + seed % 3, 1 + seed % 2 * 3);
        let mut judge = Judge { seed, stops: 0 };
        play(&cluster, jobs, &mut judge);
        stops += judge.stops;
    }
    assert!(stops > 1_000, "only {stops} jobs were stopped");
}

#[test]
fn without_new_submissions_guarantees_preempt_nothing() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let cluster = cluster(&mut dice);
        // Jobs of one device, all there from the start: a device that becomes free meets any claim.
        let jobs = jobs(&mut dice, 60, 1, 1, 1);
        let mut judge = Judge { seed, stops: 0 };
        play(&cluster, jobs, &mut judge);
        assert_eq!(judge.stops, 0, "seed {seed}");
    }
}

#[test]
fn a_submission_of_one_device_preempts_at_most_one_job() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let cluster = cluster(&mut dice);
        let jobs = jobs(&mut dice, 60, 30, 1, 1);
        let mut judge = Judge { seed, stops: 0 };
        play(&cluster, jobs, &mut judge);
        assert!(judge.stops <= 60, "seed {seed}: {} jobs were stopped", judge.stops);
    }
}
