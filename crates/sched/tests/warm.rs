//! What a plan remembers changes no plan: random histories in which everything comes, goes, grows and shrinks, and after
//! every step three plans that must be the same. One with all that was remembered, one with nothing, and one by a policy
//! that remembers no class as stuck, because it might take something back, and never does.

use consort_sched::policy::{Key, Order, Pipeline, Policy, Reclaim, order, size};
use consort_sched::{Doing, Draft, Scheduler, View, stock};
use consort_types::*;
use std::sync::Arc;

/// Dice of our own: a plain generator that needs nobody else's.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(limit)) >> 64) as u64
    }
    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Might take something back, so it has to look at everybody; and never does.
struct Never;

impl Reclaim for Never {
    fn may_take(&self, _: &Draft<'_>, _: (AskId, Key), _: (AskId, Key)) -> Option<Claim> {
        None
    }
}

fn policy(seed: u64, reclaim: Vec<Box<dyn Reclaim>>) -> Arc<dyn Policy> {
    let order: Arc<dyn Order> = match seed % 5 {
        0 => Arc::new(order::Fifo),
        1 => Arc::new(order::Shortest),
        2 => Arc::new(order::ShortestArea),
        _ => Arc::new(order::Fair),
    };
    let place = stock::PLACES[(seed / 5) as usize % stock::PLACES.len()].place(1);
    Arc::new(Pipeline { name: "tried".into(), order, size: Box::new(size::Widest), place, reclaim })
}

const KINDS: [&str; 3] = ["a", "b", "c"];

fn kind(dice: &mut Dice) -> Input {
    let name = *dice.one_of(&KINDS);
    Input::SetKind(KindSpec { memory_bytes: 80, by_name: dice.chance(30), ..KindSpec::named(name) })
}

fn tenant(dice: &mut Dice) -> Input {
    let mut quota = |kind: &&str| {
        let ceiling = dice.chance(40).then(|| dice.below(9));
        Quota { kind: (*kind).into(), guarantee: 0, ceiling }
    };
    let mut quotas: Vec<Quota> = KINDS.iter().map(&mut quota).collect();
    for (pool, most) in [(Pool::Cpu, 30), (Pool::Memory, 200)] {
        let ceiling = Some(dice.below(most)).filter(|_| dice.chance(30));
        quotas.push(Quota { kind: pool.name().into(), guarantee: 0, ceiling });
    }
    Input::SetTenant(TenantSpec { name: format!("t{}", dice.below(3)), quotas })
}

fn queue(dice: &mut Dice, number: u64) -> Input {
    let (name, priority) = (format!("q{number}"), dice.below(2) as i32);
    Input::SetQueue(QueueSpec { name, priority, strict: dice.chance(35), tenants: vec![] })
}

fn node(dice: &mut Dice) -> Input {
    let mut group = |_| {
        let (kind, count) = ((*dice.one_of(&KINDS)).into(), 1 + dice.below(8) as u32);
        DeviceGroup { kind, count, island: *dice.one_of(&[0, 2, 4]) }
    };
    let devices = (0..2).map(&mut group).collect::<Vec<_>>();
    let devices = devices[..1 + dice.below(2) as usize].to_vec();
    let features = if dice.chance(40) { vec!["x".into()] } else { vec![] };
    let (name, domains) = (format!("n{}", dice.below(9)), vec![format!("r{}", dice.below(3))]);
    let host = if dice.chance(60) { Host { cpu_milli: 8_000, memory_bytes: 64 } } else { Host::NONE };
    Input::NodeJoined(NodeSpec { name, domains, devices, features, host })
}

fn role(dice: &mut Dice, name: &str) -> Role {
    let mut shape = |_| {
        let kind = dice.chance(75).then(|| (*dice.one_of(&KINDS)).into());
        let (devices, share) =
            *dice.one_of(&[(1, WHOLE), (1, WHOLE), (2, WHOLE), (4, WHOLE), (1, 500), (1, 300)]);
        let within = *dice.one_of(&[None, None, None, Some("rack"), Some("node"), Some("island")]);
        let within = within.filter(|_| share == WHOLE).map(Into::into);
        let memory_bytes = *dice.one_of(&[0, 0, 40]);
        let features = if dice.chance(15) { vec!["x".into()] } else { vec![] };
        let host = *dice.one_of(&[Host::NONE, Host::NONE, Host { cpu_milli: 3_000, memory_bytes: 20 }]);
        if !host.is_none() && dice.chance(20) {
            return Shape { devices: 0, features, host, ..Shape::any() };
        }
        let prefer = (share == WHOLE && dice.chance(15)).then(|| "rack".into());
        Shape { kind, devices, share, memory_bytes, within, features, prefer, host, ..Shape::any() }
    };
    let shapes = (0..2).map(&mut shape).collect::<Vec<_>>();
    let shapes = shapes[..1 + dice.below(2) as usize].to_vec();
    let min = *dice.one_of(&[1, 1, 1, 2, 3, 6]);
    Role { name: name.into(), count: Count { min, max: min + dice.below(2) as u32 }, shapes }
}

fn job(dice: &mut Dice) -> Input {
    let mut spec = JobSpec::gang("j", 1, Shape::any());
    spec.stages[0].roles = vec![role(dice, "one")];
    if dice.chance(10) {
        spec.stages[0].roles.push(role(dice, "other"));
    }
    if dice.chance(10) {
        spec.stages[0].form = Form::Bag { tasks: 1 + dice.below(4) as u32 };
    }
    (spec.tenant, spec.queue) = (format!("t{}", dice.below(3)), format!("q{}", dice.below(3)));
    spec.priority = dice.below(3) as i32;
    spec.qos = *dice.one_of(&[Qos::BestEffort, Qos::Standard, Qos::Guaranteed]);
    spec.estimate = dice.chance(70).then(|| Span::seconds(dice.below(4000) as i64));
    spec.retries = dice.below(3) as u32;
    Input::Submit(Arc::new(spec))
}

/// Something that happens to one of those who run.
fn news(dice: &mut Dice, scheduler: &Scheduler) -> Option<Input> {
    let view = scheduler.view();
    let granted: Vec<AskId> = view.granted().collect();
    let ask = view.ask(*granted.get(dice.below(granted.len().max(1) as u64) as usize)?)?;
    let allocation = ask.allocation();
    Some(match dice.below(10) {
        0 if ask.doing() == Doing::Starting => Input::StartRefused { allocation, why: "not now".into() },
        1 => Input::over(allocation, Outcome::Failed { code: 1, cause: Cause::default() }),
        2 => Input::Pause(ask.id().job),
        3 => Input::Cancel(ask.id().job),
        _ => Input::over(allocation, Outcome::Succeeded),
    })
}

fn step(dice: &mut Dice, scheduler: &Scheduler) -> Option<Input> {
    let nodes = scheduler.view().nodes().count() as u64;
    let some = NodeId(dice.below(nodes.max(1)) as u32);
    let devices = scheduler.view().nodes().nth(some.index()).map_or(0, |node| node.devices);
    Some(match dice.below(40) {
        0..16 => job(dice),
        16..28 => return news(dice, scheduler),
        28 => Input::Drain(some),
        29 => Input::Undrain(some),
        30 => Input::NodeFenced(some),
        31 | 32 => node(dice),
        33 => {
            let shares = (0..devices).map(|_| *dice.one_of(&[0, 0, 0, 500, WHOLE])).collect();
            let host = *dice.one_of(&[Host::NONE, Host { cpu_milli: 6_000, memory_bytes: 50 }]);
            Input::ForeignUse { node: some, shares, host }
        }
        34 => {
            let ill = (0..devices).filter(|_| dice.chance(20));
            let ill = ill.map(|device| Illness { device, why: "hot".into() }).collect();
            Input::DeviceHealth { node: some, ill }
        }
        35 => tenant(dice),
        36 => {
            let number = dice.below(3);
            queue(dice, number)
        }
        37 => kind(dice),
        38 => Input::NodeSilent(some),
        _ => {
            let jobs: Vec<JobId> = scheduler.view().jobs().map(|job| job.id()).collect();
            Input::Resume(*jobs.get(dice.below(jobs.len().max(1) as u64) as usize)?)
        }
    })
}

fn say(scheduler: &mut Scheduler, now: Time, input: Input) -> bool {
    let event = scheduler.accept(now, input);
    event.is_ok_and(|event| {
        scheduler.apply(&event);
        true
    })
}

fn play(seed: u64) -> (usize, usize) {
    let mut dice = Dice(seed);
    let (mut now, mut starts, mut said) = (Time::ZERO, 0, 0);
    let mut warm = Scheduler::new(policy(seed, vec![]), Capabilities::default());
    let mut plain = Scheduler::new(policy(seed, vec![Box::new(Never)]), Capabilities::default());
    let level = LevelSpec { name: "rack".into(), link: None };
    let settings = Settings { levels: vec![level], ..Settings::default() };
    let mut inputs = vec![Input::Configure(settings)];
    inputs.extend(KINDS.map(|name| Input::SetKind(KindSpec { memory_bytes: 80, ..KindSpec::named(name) })));
    let tenants = (0..3).map(|number| TenantSpec { name: format!("t{number}"), quotas: vec![] });
    inputs.extend(tenants.map(Input::SetTenant));
    inputs.extend((0..3).map(|number| queue(&mut dice, number)));
    inputs.extend((0..4).map(|_| node(&mut dice)));
    for step_number in 0..150 {
        let input = if inputs.is_empty() { step(&mut dice, &warm) } else { Some(inputs.remove(0)) };
        now = now + Span::seconds(dice.below(90) as i64);
        let Some(input) = input else { continue };
        said += usize::from(say(&mut warm, now, input.clone()));
        say(&mut plain, now, input);
        if dice.chance(20) {
            continue;
        }
        let mut cold = warm.clone();
        cold.drop_caches();
        let plan = warm.plan(now);
        assert_eq!(plan, cold.plan(now), "seed {seed}, step {step_number}: cold caches give another plan");
        let moves = plain.plan(now).moves;
        assert_eq!(plan.moves, moves, "seed {seed}, step {step_number}: memory gives another plan");
        assert!(warm.indexes_are_true() && warm.take_rejections().is_empty(), "seed {seed}");
        let waiting: Vec<JobId> = warm.view().waiting().map(|ask| ask.job).collect();
        if !waiting.is_empty() {
            let job = *dice.one_of(&waiting);
            let told = warm.reading().explain(now, job);
            assert_eq!(told, cold.explain(now, job), "seed {seed}, step {step_number}: another explanation");
        }
        starts += plan.moves.len();
        let event = Event::new(now, Fact::Planned(plan));
        for scheduler in [&mut warm, &mut plain] {
            scheduler.apply(&event);
            for desired in scheduler.take_desires() {
                let input = match desired.wanted {
                    Wanted::Run { .. } => Input::Started(desired.allocation),
                    Wanted::Gone => Input::over(desired.allocation, Outcome::Stopped),
                };
                say(scheduler, now, input);
            }
        }
        assert_eq!(warm.state_hash(), plain.state_hash(), "seed {seed}");
    }
    (said, starts)
}

#[test]
fn what_is_remembered_changes_no_plan() {
    let (mut said, mut starts) = (0, 0);
    for seed in 0..600 {
        let (more, started) = play(seed);
        (said, starts) = (said + more, starts + started);
    }
    assert!(said > 30_000 && starts > 10_000, "{said} steps and {starts} starts say little");
}

/// Two pipelines of the same name whose orders differ in a parameter, and that take turns in one policy.
struct Either(Pipeline, Pipeline);

struct ByPriority(i64);

impl Order for ByPriority {
    fn key(&self, view: &View<'_>, ask: AskId, _now: Time) -> Key {
        let priority = view.ask(ask).map_or(0, |ask| i64::from(ask.spec().priority));
        Key { level: self.0 * priority, rank: 0 }
    }
}

impl Policy for Either {
    fn name(&self) -> &str {
        "either"
    }
    fn fill(&self, draft: &mut Draft<'_>) {
        if draft.view().seen().is_multiple_of(2) { self.0.fill(draft) } else { self.1.fill(draft) }
    }
}

#[test]
fn lines_belong_to_an_order_and_not_to_its_name() {
    let pipeline = |sign| Pipeline {
        name: "same".into(),
        order: Arc::new(ByPriority(sign)),
        size: Box::new(size::Widest),
        place: stock::PLACES[0].place(1),
        reclaim: vec![],
    };
    let policy = Arc::new(Either(pipeline(1), pipeline(-1)));
    let mut warm = Scheduler::new(policy, Capabilities::default());
    let devices = vec![DeviceGroup { kind: "a".into(), count: 1, island: 0 }];
    let mut inputs = vec![
        Input::SetKind(KindSpec::named("a")),
        Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
        Input::SetQueue(QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] }),
    ];
    let job = |priority| JobSpec { priority, ..JobSpec::gang("j", 1, Shape::of("a")) };
    inputs.extend((0..4).map(|priority| Input::Submit(Arc::new(job(priority)))));
    inputs.insert(3, Input::NodeJoined(NodeSpec { name: "n".into(), devices, ..NodeSpec::default() }));
    for input in inputs {
        assert!(say(&mut warm, Time::ZERO, input));
        let first = |scheduler: &mut Scheduler| match &scheduler.plan(Time::ZERO).moves[..] {
            [Move::Start { ask, .. }, ..] => Some(ask.job),
            _ => None,
        };
        let mut cold = warm.clone();
        cold.drop_caches();
        assert_eq!(first(&mut warm), first(&mut cold), "after {} events", warm.view().seen());
    }
}
