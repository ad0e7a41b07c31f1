//! Properties of whole runs on random clusters: what must not matter does not matter, and what is promised is kept.
//!
//! Seeded loops rather than a generator of cases: every case is one number, and the swarm already explores.

#[path = "properties/hosts.rs"]
mod hosts;
#[path = "properties/preemption.rs"]
mod preemption;

use consort_sched::{Doing, Rollout, Scheduler, View, stock};
use consort_sim::run::{Outcome, Setup, run};
use consort_sim::swarm;
use consort_sim::workload::{Cluster, Submission, Truth, Workload};
use consort_sim::world::{Delays, VirtualWorld};
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Dice of our own: a plain generator that needs nobody else's.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(limit)) >> 64) as u64
    }
    fn from(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Two kinds, up to eight nodes, three tenants with quotas, three queues.
fn cluster(dice: &mut Dice) -> Cluster {
    let kind = |name: &str| KindSpec { memory_bytes: 80, ..KindSpec::named(name) };
    let mut nodes = vec![];
    for number in 0..dice.from(2, 8) {
        let kind = if dice.below(3) == 0 { "b" } else { "a" };
        let count = dice.from(1, 8) as u32;
        let devices = vec![DeviceGroup { kind: kind.into(), count, island: 2 }];
        nodes.push(NodeSpec { name: format!("n{number}"), devices, ..NodeSpec::default() });
    }
    let tenants = (0..3)
        .map(|number| {
            let guarantee = dice.below(4) as u32;
            let quota = Quota { kind: "a".into(), guarantee, ceiling: Some(u64::from(guarantee) + 4) };
            TenantSpec { name: format!("t{number}"), quotas: vec![quota] }
        })
        .collect();
    let queues = (0..3)
        .map(|number| QueueSpec {
            name: format!("q{number}"),
            priority: dice.below(2) as i32,
            strict: dice.below(3) == 0,
            tenants: vec![],
        })
        .collect();
    Cluster { kinds: vec![kind("a"), kind("b")], nodes, tenants, queues, ..Cluster::default() }
}

fn workload(dice: &mut Dice, cluster: &Cluster, count: u64) -> Workload {
    let mut at = Time::ZERO;
    let submissions = (0..count).map(|number| {
        at = at + Span::seconds(dice.below(40) as i64);
        let kind = if dice.below(3) == 0 { "b" } else { "a" };
        let shape = match dice.below(4) {
            0 => Shape { share: 500, ..Shape::of(kind) },
            1 => Shape { devices: 2, ..Shape::of(kind) },
            _ => Shape::of(kind),
        };
        let mut spec = JobSpec::gang(format!("j{number}"), dice.from(1, 4) as u32, shape);
        spec.stages[0].roles[0].count.max += dice.below(3) as u32;
        spec.tenant = format!("t{}", dice.below(3));
        spec.queue = format!("q{}", dice.below(3));
        spec.priority = dice.below(3) as i32;
        let length = Span::seconds(dice.from(1, 300) as i64);
        (spec.estimate, spec.deadline) = (Some(length), Some(at + length.times(2)));
        let (label, spec, truth) = (spec.name.clone(), Arc::new(spec), Truth::runs(length));
        Submission { label, at, spec, after: vec![], truth }
    });
    let submissions = submissions.collect();
    let (tenants, queues) = (cluster.tenants.clone(), cluster.queues.clone());
    Workload { submissions, tenants, queues, notes: vec![] }
}

fn played(cluster: &Cluster, workload: &Workload, policy: &str) -> Outcome {
    let policy = stock::find(policy).expect("a stock policy").policy();
    run(Setup::new(cluster, workload, policy), &mut |_| {}).expect("nobody breaks a rule")
}

/// Two runs in which the same things happened to the same jobs at the same times.
fn assert_same(one: &Outcome, other: &Outcome, why: &str) {
    assert_eq!(one.records, other.records, "{why}");
    assert_eq!((one.refused.len(), one.stuck.len()), (other.refused.len(), other.stuck.len()), "{why}");
}

fn every_case(each: impl Fn(u64, &mut Dice, &Cluster, &Workload, &str)) {
    for seed in 0..40 {
        for stock in stock::entries() {
            let mut dice = Dice(seed);
            let cluster = cluster(&mut dice);
            let workload = workload(&mut dice, &cluster, 40);
            each(seed, &mut dice, &cluster, &workload, &stock.name);
        }
    }
}

#[test]
fn names_do_not_matter() {
    every_case(|seed, _, cluster, workload, policy| {
        let (mut renamed, mut jobs) = (cluster.clone(), workload.clone());
        // Backwards in the alphabet, so that whoever sorts by name is found out.
        let new = |name: &str| format!("{}{name}", char::from(b'z' - name.as_bytes()[name.len() - 1] % 10));
        renamed.nodes.iter_mut().for_each(|node| node.name = new(&node.name));
        renamed.tenants.iter_mut().for_each(|tenant| tenant.name = new(&tenant.name));
        renamed.queues.iter_mut().for_each(|queue| queue.name = new(&queue.name));
        (jobs.tenants, jobs.queues) = (renamed.tenants.clone(), renamed.queues.clone());
        for submission in &mut jobs.submissions {
            let spec = Arc::make_mut(&mut submission.spec);
            (spec.tenant, spec.queue, spec.name) = (new(&spec.tenant), new(&spec.queue), new(&spec.name));
        }
        let why = format!("seed {seed}, {policy}");
        assert_same(&played(cluster, workload, policy), &played(&renamed, &jobs, policy), &why);
    });
}

#[test]
fn the_order_of_declarations_does_not_matter() {
    every_case(|seed, dice, cluster, workload, policy| {
        let mut shuffled = cluster.clone();
        dice.shuffle(&mut shuffled.kinds);
        dice.shuffle(&mut shuffled.tenants);
        dice.shuffle(&mut shuffled.queues);
        let why = format!("seed {seed}, {policy}");
        assert_same(&played(cluster, workload, policy), &played(&shuffled, workload, policy), &why);
    });
}

#[test]
fn what_nobody_asks_for_changes_nothing() {
    every_case(|seed, _, cluster, workload, policy| {
        let mut larger = cluster.clone();
        larger.kinds.push(KindSpec { memory_bytes: 1, ..KindSpec::named("idle") });
        let devices = vec![DeviceGroup { kind: "idle".into(), count: 8, island: 4 }];
        larger.nodes.push(NodeSpec { name: "spare".into(), devices, ..NodeSpec::default() });
        larger.tenants.push(TenantSpec { name: "nobody".into(), quotas: vec![] });
        let why = format!("seed {seed}, {policy}");
        assert_same(&played(cluster, workload, policy), &played(&larger, workload, policy), &why);
    });
}

#[test]
fn strict_first_come_first_served_keeps_its_word() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut cluster = cluster(&mut dice);
        let mut workload = workload(&mut dice, &cluster, 40);
        cluster.tenants.iter_mut().for_each(|tenant| tenant.quotas.clear());
        cluster.queues.iter_mut().for_each(|queue| queue.strict = true);
        workload.tenants.clone_from(&cluster.tenants);
        workload.queues.clone_from(&cluster.queues);
        for submission in &mut workload.submissions {
            Arc::make_mut(&mut submission.spec).queue = "q0".into();
        }
        let mut records = played(&cluster, &workload, "fifo").records;
        records.sort_by_key(|record| record.job);
        let late = records.windows(2).find(|pair| pair[0].started > pair[1].started);
        assert_eq!(late, None, "seed {seed}");
    }
}

#[test]
fn a_wider_ceiling_never_refuses_what_a_narrower_one_accepted() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let base = cluster(&mut dice);
        let workload = workload(&mut dice, &base, 30);
        let accepted = |ceiling: Option<u64>| -> Vec<bool> {
            let mut cluster = base.clone();
            for tenant in &mut cluster.tenants {
                let quota = |kind: &str| Quota { kind: kind.into(), guarantee: 0, ceiling };
                tenant.quotas = vec![quota("a"), quota("b")];
            }
            let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
            for input in cluster.inputs() {
                let event = scheduler.accept(Time::ZERO, input).expect("the set-up is in order");
                scheduler.apply(&event);
            }
            let submit =
                |spec: &Arc<JobSpec>| scheduler.accept(Time::ZERO, Input::Submit(spec.clone())).is_ok();
            workload.submissions.iter().map(|submission| submit(&submission.spec)).collect()
        };
        let mut narrow = accepted(Some(0));
        for ceiling in (1..12).map(Some).chain([None]) {
            let wide = accepted(ceiling);
            for (index, (narrow, wide)) in narrow.iter().zip(&wide).enumerate() {
                assert!(!narrow || *wide, "seed {seed}: job {index} is refused below {ceiling:?}");
            }
            narrow = wide;
        }
    }
}

/// Whether an ask of one role and one shape has room at its least width, counted from who holds what.
fn has_room(view: &View<'_>, ask: AskId, held: &BTreeMap<DeviceId, u16>) -> bool {
    let ask = view.ask(ask).expect("it waits");
    let role = &ask.spec().stages[0].roles[0];
    let shape = &role.shapes[0];
    let kind = shape.kind.as_ref().and_then(|kind| view.kind(kind)).expect("it is named");
    let members: u32 = view
        .nodes()
        .filter(|node| node.usable)
        .map(|node| {
            let devices = (0..node.devices).map(|position| DeviceId(node.first.0 + position));
            let fits = |device: &DeviceId| {
                let free = WHOLE - held.get(device).copied().unwrap_or(0);
                view.kind_of(*device) == kind && free >= shape.share
            };
            devices.filter(fits).count() as u32 / shape.devices
        })
        .sum();
    members >= role.count.min
}

#[test]
fn nobody_waits_beside_room_in_a_queue_that_is_not_strict() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut cluster = cluster(&mut dice);
        let workload = workload(&mut dice, &cluster, 60);
        cluster.tenants.iter_mut().for_each(|tenant| tenant.quotas.clear());
        cluster.queues.iter_mut().for_each(|queue| queue.strict = false);
        let entries = stock::entries();
        let stock = &entries[seed as usize % entries.len()];
        let (start, stop, ended) = (Span::seconds(2), Span::seconds(3), Span::seconds(1));
        let delays = Delays { start, stop, ended, ..Delays::default() };
        let world = VirtualWorld::new(&cluster, workload.submissions.clone().into()).delayed(delays);
        let mut scheduler = Scheduler::new(stock.policy(), Capabilities::default());
        for input in cluster.inputs() {
            let event = scheduler.accept(Time::ZERO, input).expect("the set-up is in order");
            scheduler.apply(&event);
        }
        let mut rollout = Rollout::new(scheduler, world);
        while rollout.step(&mut ()).is_some() {
            let view = rollout.scheduler.view();
            let mut held: BTreeMap<DeviceId, u16> = BTreeMap::new();
            for ask in view.granted().filter_map(|ask| view.ask(ask)) {
                // What is promised but still with its giver is counted once, with whoever has it.
                let room = |device| WHOLE - held.get(&device).copied().unwrap_or(0);
                let parts: Vec<(DeviceId, u16)> = ask
                    .grants()
                    .iter()
                    .map(|grant| (grant.device, grant.share.min(room(grant.device))))
                    .collect();
                for (device, share) in parts {
                    *held.entry(device).or_default() += share;
                }
            }
            for ask in view.waiting() {
                assert_eq!(view.ask(ask).map(|ask| ask.doing()), Some(Doing::Waiting));
                assert!(!has_room(&view, ask, &held), "seed {seed}, {}: {ask} waits beside room", stock.name);
            }
        }
        assert_eq!(rollout.scheduler.view().jobs().count(), 0, "seed {seed}: everybody ends");
    }
}

/// Bisection over widths relies on it: whoever has room for a gang has room for a narrower one.
#[test]
fn an_elastic_gang_is_as_wide_as_any_gang_could_be() {
    let mut checked = 0;
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let mut cluster = cluster(&mut dice);
        cluster.tenants.iter_mut().for_each(|tenant| tenant.quotas.clear());
        let entries = stock::entries();
        let stock = &entries[seed as usize % entries.len()];
        let place = &stock::PLACES[dice.below(stock::PLACES.len() as u64) as usize];
        // Whoever may take back could start wider on what others give back.
        let capabilities = Capabilities { preempts: false, ..Capabilities::default() };
        let mut scheduler = Scheduler::new(stock.placed(place).policy(), capabilities);
        let mut inputs = cluster.inputs();
        let others = workload(&mut dice, &cluster, 6).submissions;
        inputs.extend(others.iter().map(|one| Input::Submit(one.spec.clone())));
        for input in inputs {
            if let Ok(event) = scheduler.accept(Time::ZERO, input) {
                scheduler.apply(&event);
            }
        }
        commit(&mut scheduler);
        let shape = match dice.below(3) {
            0 => Shape { within: Some("island".into()), ..Shape::any() },
            1 => Shape { devices: 2, ..Shape::any() },
            _ => Shape::any(),
        };
        let most = dice.from(2, 12) as u32;
        let gang = |min, max| {
            let mut spec = JobSpec::gang("gang", min, shape.clone());
            spec.stages[0].roles[0].count.max = max;
            (spec.tenant, spec.queue) = ("t0".into(), "q0".into());
            Input::Submit(Arc::new(spec))
        };
        let width = |input| {
            let mut scheduler = scheduler.clone();
            let job = scheduler.view().next_job();
            let event = scheduler.accept(Time::ZERO, input).ok()?;
            scheduler.apply(&event);
            commit(&mut scheduler);
            let (view, ask) = (scheduler.view(), AskId::whole(job));
            view.ask(ask).filter(|ask| ask.doing() != Doing::Waiting).map(|ask| ask.fills()[0].count)
        };
        let widest = (1..=most).rev().find(|&count| width(gang(count, count)).is_some());
        assert_eq!(width(gang(1, most)), widest, "seed {seed}, {} {}", stock.name, place.name);
        checked += u32::from(widest.is_some());
    }
    assert!(checked > 200, "only {checked} gangs found room");
}

/// Makes a plan and carries it out.
fn commit(scheduler: &mut Scheduler) {
    let plan = scheduler.plan(Time::ZERO);
    scheduler.apply(&Event::new(Time::ZERO, Fact::Planned(plan)));
}

/// The numbers in here are the same in every process and on every machine. They change when decisions change, or
/// when the layout of the state does: then look why, and write down the new ones.
#[test]
fn hashes_are_pinned() {
    let mut dice = Dice(1);
    let cluster = cluster(&mut dice);
    let workload = workload(&mut dice, &cluster, 100);
    let found: Vec<String> = stock::entries()
        .iter()
        .map(|stock| format!("{} {:016x}", stock.name, played(&cluster, &workload, &stock.name).state_hash))
        .collect();
    assert_eq!(found, PINNED);
    let history = swarm::play(1).expect("it keeps every promise");
    assert_eq!(format!("{:016x}", history.hash), PINNED_HISTORY);
}

const PINNED: [&str; 8] = [
    "fifo 38b81bc228356829",
    "priority 0a009f640e8da6f7",
    "fair 075fed39f49a72d9",
    "shortest 73aedfab89ccd63a",
    "qssf 7f548462af5870eb",
    "shortest-remaining 37b7251463af833c",
    "las 6b1dd49005e55df9",
    "deadline d8256c93ebeea4b6",
];
const PINNED_HISTORY: &str = "d7bda1548d847c43";
