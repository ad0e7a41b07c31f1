//! One bad plan for every rule, beside the nearest good one.

use super::*;
use crate::scheduler::Scheduler;
use crate::stock;
use std::sync::Arc;

mod resize;

const START: Time = Time::seconds(100);

/// Two nodes: `n0` with four `a` in islands of two, `n1` with two `a` and one `b`, in two racks. Tenant `red` may
/// use three `a`. Every `a` has 80 bytes.
fn house() -> Scheduler {
    let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
    let group = |kind: &str, count, island| DeviceGroup { kind: kind.into(), count, island };
    let node = |name: &str, rack: &str, devices| NodeSpec {
        name: name.into(),
        domains: vec![rack.into()],
        devices,
        features: vec![],
        host: Host::NONE,
    };
    let kind = |name: &str| KindSpec { memory_bytes: 80, ..KindSpec::named(name) };
    let tenant = |name: &str, ceiling: Option<u64>| {
        let quotas = vec![Quota { kind: "a".into(), guarantee: 0, ceiling }];
        Input::SetTenant(TenantSpec { name: name.into(), quotas })
    };
    let levels = vec![LevelSpec { name: "rack".into(), link: None }];
    for input in [
        Input::Configure(Settings { levels, ..Settings::default() }),
        Input::SetKind(kind("a")),
        Input::SetKind(kind("b")),
        tenant("default", None),
        tenant("red", Some(3)),
        Input::SetQueue(QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] }),
        Input::NodeJoined(node("n0", "r0", vec![group("a", 4, 2)])),
        Input::NodeJoined(node("n1", "r1", vec![group("a", 2, 0), group("b", 1, 0)])),
    ] {
        say(&mut scheduler, input);
    }
    scheduler
}

fn say(scheduler: &mut Scheduler, input: Input) {
    let event = scheduler.accept(START, input).expect("the story is in order");
    scheduler.apply(&event);
}

fn submit(scheduler: &mut Scheduler, spec: JobSpec) -> AskId {
    let job = scheduler.view().next_job();
    say(scheduler, Input::Submit(Arc::new(spec)));
    AskId::whole(job)
}

fn gang(count: u32) -> JobSpec {
    JobSpec::gang("job", count, Shape::of("a"))
}

fn whole(devices: &[u32]) -> Placement {
    let grant = |&device: &u32| Grant { device: DeviceId(device), share: WHOLE, memory_bytes: 80 };
    Placement {
        fills: vec![Fill { shape: 0, count: devices.len() as u32 }],
        grants: devices.iter().map(grant).collect(),
    }
}

fn start(ask: AskId, placement: Placement) -> Move {
    Move::Start { ask, placement, after: vec![] }
}

fn first(ask: AskId) -> AllocationId {
    AllocationId { ask, attempt: 1 }
}

fn stop(ask: AskId, by: AskId) -> Move {
    Move::Stop { allocation: first(ask), cause: StopCause::Preempted { by, claim: None } }
}

fn plan(scheduler: &Scheduler, moves: Vec<Move>) -> Plan {
    Plan { moves, based_on: scheduler.state.seen, ..Plan::default() }
}

fn verdict(scheduler: &Scheduler, moves: Vec<Move>) -> Result<(), (Breach, usize)> {
    verdict_at(scheduler, START, moves)
}

fn verdict_at(scheduler: &Scheduler, now: Time, moves: Vec<Move>) -> Result<(), (Breach, usize)> {
    check(&scheduler.state, scheduler.capabilities, &plan(scheduler, moves), now)
        .map_err(|broken| (broken.rule, broken.index))
}

/// Makes a plan part of the story.
fn commit(scheduler: &mut Scheduler, moves: Vec<Move>) {
    assert_eq!(verdict(scheduler, moves.clone()), Ok(()));
    let plan = plan(scheduler, moves);
    scheduler.apply(&Event::new(START, Fact::Planned(plan)));
}

/// A job that runs on these devices.
fn running(scheduler: &mut Scheduler, spec: JobSpec, devices: &[u32]) -> AskId {
    let ask = submit(scheduler, spec);
    commit(scheduler, vec![start(ask, whole(devices))]);
    say(scheduler, Input::Started(first(ask)));
    ask
}

#[test]
fn a_plan_for_another_state_is_outdated() {
    let scheduler = house();
    let mut plan = plan(&scheduler, vec![]);
    assert_eq!(check(&scheduler.state, scheduler.capabilities, &plan, START), Ok(()));
    for off in [-1i64, 1] {
        plan.based_on = scheduler.state.seen.wrapping_add_signed(off);
        let broken = check(&scheduler.state, scheduler.capabilities, &plan, START);
        assert_eq!(broken, Err(Broken { rule: Breach::Outdated, index: 0, job: None }));
    }
}

#[test]
fn a_policy_may_not_remember_too_much() {
    let scheduler = house();
    for (words, good) in [(SLOT_WORDS, true), (SLOT_WORDS + 1, false)] {
        let slot = Some(Slot { words: vec![0; words], ..Slot::default() });
        let plan = Plan { slot, ..plan(&scheduler, vec![]) };
        let broken = check(&scheduler.state, scheduler.capabilities, &plan, START).err();
        assert_eq!(broken.map(|broken| broken.rule), (!good).then_some(Breach::SlotTooLarge));
    }
}

#[test]
fn only_what_waits_can_be_started_and_only_once() {
    let mut scheduler = house();
    let ask = submit(&mut scheduler, gang(1));
    let once = start(ask, whole(&[0]));
    assert_eq!(verdict(&scheduler, vec![once.clone()]), Ok(()));
    assert_eq!(
        verdict(&scheduler, vec![once.clone(), start(ask, whole(&[1]))]),
        Err((Breach::NotWaiting, 1))
    );
    let nobody = AskId::whole(JobId(99));
    assert_eq!(verdict(&scheduler, vec![start(nobody, whole(&[0]))]), Err((Breach::NotWaiting, 0)));
    let task = AskId { task: 1, ..ask };
    assert_eq!(verdict(&scheduler, vec![start(task, whole(&[0]))]), Err((Breach::NotWaiting, 0)));
    commit(&mut scheduler, vec![once]);
    assert_eq!(verdict(&scheduler, vec![start(ask, whole(&[1]))]), Err((Breach::NotWaiting, 0)));
}

#[test]
fn what_backs_off_or_is_paused_does_not_wait() {
    let mut scheduler = house();
    let ask = submit(&mut scheduler, gang(1));
    commit(&mut scheduler, vec![start(ask, whole(&[0]))]);
    say(&mut scheduler, Input::StartRefused { allocation: first(ask), why: "no".into() });
    let again = || vec![start(ask, whole(&[0]))];
    assert_eq!(verdict(&scheduler, again()), Err((Breach::NotWaiting, 0)));
    assert_eq!(verdict_at(&scheduler, START + Span(4_999_999_999), again()), Err((Breach::NotWaiting, 0)));
    assert_eq!(verdict_at(&scheduler, START + Span::seconds(5), again()), Ok(()));
    say(&mut scheduler, Input::Pause(ask.job));
    assert_eq!(verdict_at(&scheduler, START + Span::seconds(5), again()), Err((Breach::NotWaiting, 0)));
}

#[test]
fn only_what_runs_can_be_stopped_by_its_attempt_and_only_once() {
    let mut scheduler = house();
    let victim = running(&mut scheduler, gang(1), &[0]);
    let by = submit(&mut scheduler, gang(1));
    let good = stop(victim, by);
    assert_eq!(verdict(&scheduler, vec![good.clone()]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![good.clone(), good.clone()]), Err((Breach::NotStoppable, 1)));
    let cause = StopCause::Yield;
    for attempt in [0, 2] {
        let allocation = AllocationId { ask: victim, attempt };
        assert_eq!(
            verdict(&scheduler, vec![Move::Stop { allocation, cause }]),
            Err((Breach::NotStoppable, 0))
        );
    }
    assert_eq!(verdict(&scheduler, vec![stop(by, victim)]), Err((Breach::NotStoppable, 0)));
    // What is starting can be stopped; what is leaving cannot.
    commit(&mut scheduler, vec![start(by, whole(&[1]))]);
    assert_eq!(verdict(&scheduler, vec![stop(by, victim)]), Ok(()));
    commit(&mut scheduler, vec![good.clone()]);
    assert_eq!(verdict(&scheduler, vec![good]), Err((Breach::NotStoppable, 0)));
}

#[test]
fn guaranteed_work_is_never_taken_back() {
    for (qos, bad) in [(Qos::Guaranteed, true), (Qos::Standard, false), (Qos::BestEffort, false)] {
        let mut scheduler = house();
        let victim = running(&mut scheduler, JobSpec { qos, ..gang(1) }, &[0]);
        for cause in [StopCause::Yield, StopCause::Preempted { by: victim, claim: None }] {
            let found = verdict(&scheduler, vec![Move::Stop { allocation: first(victim), cause }]);
            assert_eq!(found, if bad { Err((Breach::Guaranteed, 0)) } else { Ok(()) });
        }
    }
}

#[test]
fn a_world_that_cannot_interrupt_is_not_asked_to() {
    let mut scheduler = house();
    let limited = JobSpec { time_limit: Some(Span::seconds(9)), ..gang(1) };
    let victim = running(&mut scheduler, limited, &[0]);
    scheduler.capabilities.preempts = false;
    let allocation = first(victim);
    for cause in [StopCause::Yield, StopCause::Preempted { by: victim, claim: None }] {
        let found = verdict(&scheduler, vec![Move::Stop { allocation, cause }]);
        assert_eq!(found, Err((Breach::CannotPreempt, 0)));
    }
    let overdue = vec![Move::Stop { allocation, cause: StopCause::TimeLimit }];
    assert_eq!(verdict_at(&scheduler, START + Span::seconds(9), overdue), Ok(()));
}

#[test]
fn a_world_that_cannot_share_is_not_asked_to() {
    let mut scheduler = house();
    let ask = submit(&mut scheduler, JobSpec::gang("part", 1, Shape { share: 500, ..Shape::of("a") }));
    let grants = vec![Grant { device: DeviceId(0), share: 500, memory_bytes: 40 }];
    let part = start(ask, Placement { fills: vec![Fill { shape: 0, count: 1 }], grants });
    assert_eq!(verdict(&scheduler, vec![part.clone()]), Ok(()));
    scheduler.capabilities.shares = false;
    assert_eq!(verdict(&scheduler, vec![part]), Err((Breach::CannotShare, 0)));
}

#[test]
fn a_world_that_picks_devices_itself_is_promised_no_island() {
    let mut scheduler = house();
    let within = |level: &str| Shape { within: Some(level.into()), ..Shape::of("a") };
    let island = submit(&mut scheduler, JobSpec::gang("island", 2, within("island")));
    let node = submit(&mut scheduler, JobSpec::gang("node", 2, within("node")));
    let pair = |ask| vec![start(ask, whole(&[0, 1]))];
    assert_eq!(verdict(&scheduler, pair(island)), Ok(()));
    scheduler.capabilities.grain = Grain::Node;
    assert_eq!(verdict(&scheduler, pair(island)), Err((Breach::CannotPick, 0)));
    assert_eq!(verdict(&scheduler, pair(node)), Ok(()));
    // What is left from a world that could is passed over, so that it spoils no plan.
    let made = scheduler.plan(START);
    assert!(made.moves.iter().all(|change| !matches!(change, Move::Start { ask, .. } if *ask == island)));
    assert_eq!(made.moves.len(), 1);
}

#[test]
fn whoever_insists_on_a_feature_gets_no_node_without_it() {
    let mut scheduler = house();
    let group = vec![DeviceGroup { kind: "a".into(), count: 2, island: 0 }];
    let node = NodeSpec {
        name: "n2".into(),
        domains: vec!["r1".into()],
        devices: group,
        features: vec!["ib".into()],
        host: Host::NONE,
    };
    say(&mut scheduler, Input::NodeJoined(node.clone()));
    let shape = Shape { features: vec!["ib".into()], ..Shape::of("a") };
    let ask = submit(&mut scheduler, JobSpec::gang("picky", 2, shape));
    let verdict =
        |scheduler: &Scheduler, devices: &[u32]| verdict(scheduler, vec![start(ask, whole(devices))]);
    assert_eq!(verdict(&scheduler, &[7, 8]), Ok(()));
    assert_eq!(verdict(&scheduler, &[6, 7]), Err((Breach::WrongShape, 0)));
    assert_eq!(verdict(&scheduler, &[0, 7]), Err((Breach::WrongShape, 0)));
    let id = scheduler.view().node("n2").expect("it joined");
    say(&mut scheduler, Input::NodeFenced(id));
    say(&mut scheduler, Input::NodeJoined(NodeSpec { features: vec!["nvme".into()], ..node }));
    assert_eq!(verdict(&scheduler, &[7, 8]), Err((Breach::WrongShape, 0)));
}

#[test]
fn a_gang_is_whole_or_absent() {
    let mut scheduler = house();
    let mut spec = gang(2);
    spec.stages[0].roles[0].count = Count { min: 2, max: 3 };
    let ask = submit(&mut scheduler, spec);
    for (devices, good) in [(&[0][..], false), (&[0, 1], true), (&[0, 1, 2], true), (&[0, 1, 2, 3], false)] {
        let found = verdict(&scheduler, vec![start(ask, whole(devices))]);
        assert_eq!(found, if good { Ok(()) } else { Err((Breach::NotWhole, 0)) }, "{devices:?}");
    }
    let bad = [
        Placement { fills: vec![], ..whole(&[0, 1]) },
        Placement { fills: vec![Fill { shape: 0, count: 2 }; 2], ..whole(&[0, 1, 2, 3]) },
        Placement { fills: vec![Fill { shape: 0, count: 3 }], ..whole(&[0, 1]) },
        Placement { fills: vec![Fill { shape: 0, count: 2 }], ..whole(&[0, 1, 2]) },
        Placement { fills: vec![Fill { shape: 0, count: u32::MAX }], ..whole(&[0, 1]) },
    ];
    for placement in bad {
        assert_eq!(verdict(&scheduler, vec![start(ask, placement)]), Err((Breach::NotWhole, 0)));
    }
}

#[test]
fn devices_are_what_was_asked_for() {
    let mut scheduler = house();
    let spec = JobSpec::gang("job", 1, Shape { memory_bytes: 70, ..Shape::of("a") });
    let ask = submit(&mut scheduler, spec);
    let one = |device: u32, share, memory_bytes, shape| Placement {
        fills: vec![Fill { shape, count: 1 }],
        grants: vec![Grant { device: DeviceId(device), share, memory_bytes }],
    };
    assert_eq!(verdict(&scheduler, vec![start(ask, one(0, WHOLE, 80, 0))]), Ok(()));
    for placement in [
        one(6, WHOLE, 80, 0),        // a b
        one(0, 500, 80, 0),          // half of it
        one(0, WHOLE, 70, 0),        // not all of its memory
        one(0, WHOLE, 80, 1),        // no such shape
        one(7, WHOLE, 80, 0),        // no such device
        one(u32::MAX, WHOLE, 80, 0), // nor such
    ] {
        assert_eq!(verdict(&scheduler, vec![start(ask, placement)]), Err((Breach::WrongShape, 0)));
    }
    // Any kind will do, but the members of one role are of one kind.
    let any = submit(&mut scheduler, JobSpec::gang("any", 2, Shape::any()));
    assert_eq!(verdict(&scheduler, vec![start(any, whole(&[4, 5]))]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![start(any, whole(&[5, 6]))]), Err((Breach::WrongShape, 0)));
    // Of two shapes, the second one needs memory that no device has.
    let mut picky = JobSpec::gang("picky", 1, Shape::of("a"));
    picky.stages[0].roles[0].shapes.push(Shape { memory_bytes: 81, ..Shape::of("a") });
    let picky = submit(&mut scheduler, picky);
    assert_eq!(verdict(&scheduler, vec![start(picky, one(0, WHOLE, 80, 0))]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![start(picky, one(0, WHOLE, 80, 1))]), Err((Breach::WrongShape, 0)));
}

#[test]
fn members_are_as_close_as_was_asked() {
    let mut scheduler = house();
    let within = |level: &str| Shape { within: Some(level.into()), ..Shape::of("a") };
    let apart = |scheduler: &Scheduler, ask, devices: &[u32]| {
        verdict(scheduler, vec![start(ask, whole(devices))]) == Err((Breach::TooFarApart, 0))
    };
    let island = submit(&mut scheduler, JobSpec::gang("island", 2, within("island")));
    let node = submit(&mut scheduler, JobSpec::gang("node", 2, within("node")));
    let rack = submit(&mut scheduler, JobSpec::gang("rack", 2, within("rack")));
    let anywhere = submit(&mut scheduler, gang(2));
    for (ask, devices, far) in [
        (island, [0, 1], false),
        (island, [1, 2], true),
        (island, [4, 5], true), // joined by nothing
        (node, [1, 2], false),
        (node, [3, 4], true),
        (rack, [4, 5], false),
        (rack, [0, 4], true),
        (anywhere, [0, 4], false),
    ] {
        assert_eq!(apart(&scheduler, ask, &devices), far, "{devices:?}");
    }
    // A member's own devices are on one node, asked or not.
    let pair = submit(&mut scheduler, JobSpec::gang("pair", 2, Shape { devices: 2, ..Shape::of("a") }));
    let two = |devices: &[u32]| Placement { fills: vec![Fill { shape: 0, count: 2 }], ..whole(devices) };
    assert_eq!(verdict(&scheduler, vec![start(pair, two(&[0, 1, 4, 5]))]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![start(pair, two(&[0, 4, 1, 5]))]), Err((Breach::TooFarApart, 0)));
}

#[test]
fn a_node_that_takes_no_work_gets_none() {
    let mut scheduler = house();
    let ask = submit(&mut scheduler, gang(1));
    let here = || vec![start(ask, whole(&[0]))];
    assert_eq!(verdict(&scheduler, here()), Ok(()));
    say(&mut scheduler, Input::Drain(NodeId(0)));
    assert_eq!(verdict(&scheduler, here()), Err((Breach::NodeNotUsable, 0)));
    assert_eq!(verdict(&scheduler, vec![start(ask, whole(&[4]))]), Ok(()));
    say(&mut scheduler, Input::Undrain(NodeId(0)));
    say(&mut scheduler, Input::NodeSilent(NodeId(0)));
    assert_eq!(verdict(&scheduler, here()), Err((Breach::NodeNotUsable, 0)));
    say(&mut scheduler, Input::NodeFenced(NodeId(0)));
    assert_eq!(verdict(&scheduler, here()), Err((Breach::NodeNotUsable, 0)));
}

#[test]
fn a_device_that_was_taken_out_of_its_node_is_no_more() {
    let mut scheduler = house();
    let ask = submit(&mut scheduler, gang(1));
    say(&mut scheduler, Input::NodeFenced(NodeId(0)));
    let devices = vec![DeviceGroup { kind: "a".into(), count: 1, island: 0 }];
    let spec = NodeSpec {
        name: "n0".into(),
        domains: vec!["r0".into()],
        devices,
        features: vec![],
        host: Host::NONE,
    };
    say(&mut scheduler, Input::NodeJoined(spec));
    assert_eq!(verdict(&scheduler, vec![start(ask, whole(&[7]))]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![start(ask, whole(&[0]))]), Err((Breach::NodeNotUsable, 0)));
}

#[test]
fn no_device_is_granted_twice() {
    let mut scheduler = house();
    running(&mut scheduler, gang(1), &[0]);
    let (one, other) = (submit(&mut scheduler, gang(1)), submit(&mut scheduler, gang(1)));
    assert_eq!(verdict(&scheduler, vec![start(one, whole(&[0]))]), Err((Breach::Overlap, 0)));
    let pair = |device| vec![start(one, whole(&[1])), start(other, whole(&[device]))];
    assert_eq!(verdict(&scheduler, pair(2)), Ok(()));
    assert_eq!(verdict(&scheduler, pair(1)), Err((Breach::Overlap, 1)));
    let twice = submit(&mut scheduler, gang(2));
    assert_eq!(verdict(&scheduler, vec![start(twice, whole(&[1, 1]))]), Err((Breach::Overlap, 0)));
    say(&mut scheduler, Input::ForeignUse { node: NodeId(0), shares: vec![0, 0, 1, 0], host: Host::NONE });
    assert_eq!(verdict(&scheduler, vec![start(one, whole(&[2]))]), Err((Breach::Overlap, 0)));
}

#[test]
fn shares_and_memory_add_up_to_one_device() {
    let mut scheduler = house();
    let mut part = |share, memory_bytes| {
        let shape = Shape { share, memory_bytes, ..Shape::of("a") };
        let ask = submit(&mut scheduler, JobSpec::gang("part", 1, shape));
        let grants = vec![Grant { device: DeviceId(0), share, memory_bytes }];
        start(ask, Placement { fills: vec![Fill { shape: 0, count: 1 }], grants })
    };
    let (small, half, more, wide) = (part(500, 40), part(500, 40), part(501, 40), part(100, 41));
    assert_eq!(verdict(&scheduler, vec![small.clone(), half]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![small.clone(), more]), Err((Breach::Overlap, 1)));
    assert_eq!(verdict(&scheduler, vec![small, wide]), Err((Breach::Overlap, 1)));
}

#[test]
fn only_what_the_same_plan_stops_can_be_promised() {
    let mut scheduler = house();
    let victim = running(&mut scheduler, gang(2), &[0, 1]);
    let (by, next) = (submit(&mut scheduler, gang(1)), submit(&mut scheduler, gang(1)));
    let promise = |ask, device| Move::Start { ask, placement: whole(&[device]), after: vec![first(victim)] };
    assert_eq!(verdict(&scheduler, vec![promise(by, 0)]), Err((Breach::NotGiven, 0)));
    let stopped = stop(victim, by);
    assert_eq!(verdict(&scheduler, vec![stopped.clone(), promise(by, 0), promise(next, 1)]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![promise(by, 0), stopped.clone()]), Err((Breach::NotGiven, 0)));
    // Not without naming the giver, not twice, and not what the giver does not have.
    let unnamed = start(by, whole(&[0]));
    assert_eq!(verdict(&scheduler, vec![stopped.clone(), unnamed]), Err((Breach::Overlap, 1)));
    let twice = vec![stopped.clone(), promise(by, 0), promise(next, 0)];
    assert_eq!(verdict(&scheduler, twice), Err((Breach::Overlap, 2)));
    // What was promised in an earlier plan is gone.
    commit(&mut scheduler, vec![stopped, promise(by, 0)]);
    assert_eq!(verdict(&scheduler, vec![promise(next, 1)]), Err((Breach::NotGiven, 0)));
    assert_eq!(verdict(&scheduler, vec![start(next, whole(&[0]))]), Err((Breach::Overlap, 0)));
}

#[test]
fn no_tenant_gets_more_than_its_ceiling() {
    let mut scheduler = house();
    let red = |count| JobSpec { tenant: "red".into(), ..gang(count) };
    let (one, two, three) =
        (submit(&mut scheduler, red(1)), submit(&mut scheduler, red(2)), submit(&mut scheduler, red(3)));
    let plain = submit(&mut scheduler, gang(4));
    assert_eq!(verdict(&scheduler, vec![start(three, whole(&[0, 1, 2]))]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![start(plain, whole(&[0, 1, 2, 3]))]), Ok(()));
    assert_eq!(verdict(&scheduler, vec![start(one, whole(&[0])), start(two, whole(&[1, 2]))]), Ok(()));
    let beyond = vec![start(two, whole(&[0, 1])), start(three, whole(&[2, 3, 4]))];
    assert_eq!(verdict(&scheduler, beyond), Err((Breach::Ceiling, 1)));
    // What it holds already counts; what it gives back to itself does not; what others give it does.
    commit(&mut scheduler, vec![start(three, whole(&[0, 1, 2]))]);
    assert_eq!(verdict(&scheduler, vec![start(one, whole(&[3]))]), Err((Breach::Ceiling, 0)));
    let after = vec![first(three)];
    let own = Move::Start { ask: one, placement: whole(&[0]), after: after.clone() };
    assert_eq!(verdict(&scheduler, vec![stop(three, one), own]), Ok(()));
    let elsewhere = Move::Start { ask: one, placement: whole(&[3]), after };
    assert_eq!(verdict(&scheduler, vec![stop(three, one), elsewhere]), Err((Breach::Ceiling, 1)));
    let other = running(&mut scheduler, gang(1), &[4]);
    let given = Move::Start { ask: one, placement: whole(&[4]), after: vec![first(other)] };
    assert_eq!(verdict(&scheduler, vec![stop(other, one), given]), Err((Breach::Ceiling, 1)));
}

#[test]
fn limits_and_fences_wait_until_they_are_due() {
    let mut scheduler = house();
    let limited = JobSpec { time_limit: Some(Span::seconds(9)), ..gang(1) };
    let over = running(&mut scheduler, limited.clone(), &[0]);
    let free = running(&mut scheduler, gang(1), &[1]);
    let end = |ask| vec![Move::Stop { allocation: first(ask), cause: StopCause::TimeLimit }];
    let due = START + Span::seconds(9);
    assert_eq!(verdict_at(&scheduler, due, end(over)), Ok(()));
    assert_eq!(verdict_at(&scheduler, Time(due.0 - 1), end(over)), Err((Breach::NotDue, 0)));
    assert_eq!(verdict_at(&scheduler, due, end(free)), Err((Breach::NotDue, 0)));
    let starting = submit(&mut scheduler, limited);
    commit(&mut scheduler, vec![start(starting, whole(&[2]))]);
    assert_eq!(verdict_at(&scheduler, due, end(starting)), Err((Breach::NotDue, 0)));
    let fence = |node| vec![Move::Fence { node: NodeId(node) }];
    let out = START + Settings::default().lease + Settings::default().margin;
    assert_eq!(verdict_at(&scheduler, out, fence(1)), Err((Breach::NotDue, 0)));
    say(&mut scheduler, Input::NodeSilent(NodeId(1)));
    assert_eq!(verdict_at(&scheduler, out, fence(1)), Ok(()));
    assert_eq!(verdict_at(&scheduler, Time(out.0 - 1), fence(1)), Err((Breach::NotDue, 0)));
    assert_eq!(verdict_at(&scheduler, out, fence(0)), Err((Breach::NotDue, 0)));
}

#[test]
fn a_plan_that_breaks_a_rule_is_thrown_away_whole() {
    struct Greedy(AskId);
    impl crate::Policy for Greedy {
        fn name(&self) -> &str {
            "greedy"
        }
        fn fill(&self, draft: &mut crate::Draft<'_>) {
            draft.remember(1, vec![0; SLOT_WORDS + 1]);
            draft.start(self.0, whole(&[0])).expect("the draft has no objection");
        }
    }
    let mut scheduler = house();
    let ask = submit(&mut scheduler, gang(1));
    scheduler.policy = Arc::new(Greedy(ask));
    let plan = scheduler.plan(START);
    assert!(plan.is_empty());
    assert_eq!(
        scheduler.take_rejections(),
        vec![Broken { rule: Breach::SlotTooLarge, index: 0, job: Some(ask.job) }]
    );
    assert_eq!(scheduler.take_rejections(), vec![]);
}

/// A node of eight processors and one device of which nobody knows the memory, in a world that counts hosts.
fn processors() -> Scheduler {
    let capabilities = Capabilities { counts_hosts: true, ..Capabilities::default() };
    let mut scheduler = Scheduler::new(stock::standard().policy(), capabilities);
    let group = |kind: &str, count| DeviceGroup { kind: kind.into(), count, island: 0 };
    let node = NodeSpec {
        name: "n".into(),
        devices: vec![group("a", 1), group(CPU, 8)],
        host: Host { cpu_milli: 8000, memory_bytes: 0 },
        ..NodeSpec::default()
    };
    for input in [
        Input::SetKind(KindSpec::named("a")),
        Input::SetKind(KindSpec { by_name: true, ..KindSpec::named(CPU) }),
        Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
        Input::SetQueue(QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] }),
        Input::NodeJoined(node),
    ] {
        say(&mut scheduler, input);
    }
    scheduler
}

fn limit(scheduler: &mut Scheduler, cpus: u64) {
    let quotas = vec![Quota { kind: "cpus".into(), guarantee: 0, ceiling: Some(cpus) }];
    say(scheduler, Input::SetTenant(TenantSpec { name: "default".into(), quotas }));
}

#[test]
fn processors_that_are_devices_are_below_the_ceiling_on_processors() {
    let mut scheduler = processors();
    submit(&mut scheduler, JobSpec::gang("job", 2, Shape::of(CPU)));
    let made = scheduler.plan(START).moves;
    assert!(matches!(made[..], [Move::Start { .. }]));
    for (ceiling, expected) in [(2, Ok(())), (1, Err((Breach::Ceiling, 0)))] {
        limit(&mut scheduler, ceiling);
        assert_eq!(verdict_at(&scheduler, START, made.clone()), expected);
        assert_eq!(scheduler.plan(START).moves.len(), usize::from(expected.is_ok()), "the draft says so too");
    }
    // Also where other jobs have left nothing of the pool, so that nothing is counted there.
    let without = |change: &Move| match change.clone() {
        Move::Start { ask, mut placement, after } => {
            let hosts = placement.grants.iter_mut().filter(|grant| grant.is_of_host());
            hosts.for_each(|grant| grant.memory_bytes = 0);
            Move::Start { ask, placement, after }
        }
        other => other,
    };
    let empty: Vec<Move> = made.iter().map(without).collect();
    assert_eq!(verdict_at(&scheduler, START, empty.clone()), Err((Breach::Ceiling, 0)));
    limit(&mut scheduler, 2);
    assert_eq!(verdict_at(&scheduler, START, empty), Ok(()));
}

#[test]
fn memory_that_nobody_knows_is_enough_for_who_names_the_kind() {
    let mut scheduler = processors();
    let named =
        submit(&mut scheduler, JobSpec::gang("b", 1, Shape { memory_bytes: 1 << 30, ..Shape::of("a") }));
    let made = scheduler.plan(START).moves;
    let Move::Start { placement, .. } = &made[0] else { panic!("it starts") };
    assert_eq!(verdict(&scheduler, vec![start(named, placement.clone())]), Ok(()));
    // One that names no kind was accepted while there was another device.
    let larger = KindSpec { memory_bytes: 80 << 30, ..KindSpec::named("large") };
    say(&mut scheduler, Input::SetKind(larger));
    let devices = vec![DeviceGroup { kind: "large".into(), count: 1, island: 0 }];
    say(&mut scheduler, Input::NodeJoined(NodeSpec { name: "m".into(), devices, ..NodeSpec::default() }));
    let any = submit(&mut scheduler, JobSpec::gang("c", 1, Shape { memory_bytes: 1 << 30, ..Shape::any() }));
    assert_eq!(verdict(&scheduler, vec![start(any, placement.clone())]), Err((Breach::WrongShape, 0)));
}
