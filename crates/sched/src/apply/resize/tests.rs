//! A resize and everything that can come in between.

use crate::{Doing, Ending, Scheduler, stock};
use consort_types::*;
use std::sync::Arc;

/// Two nodes with four devices each, 0 to 3 and 4 to 7, in a world that resizes like this; job 1 accepts one to four
/// workers and runs on devices 0 and 1.
struct House {
    scheduler: Scheduler,
    now: Time,
}

const JOB: JobId = JobId(1);

fn id(job: u64, attempt: u32) -> AllocationId {
    AllocationId { ask: AskId::whole(JobId(job)), attempt }
}

fn whole(devices: &[u32]) -> Placement {
    let grant = |&device: &u32| Grant { device: DeviceId(device), share: WHOLE, memory_bytes: 0 };
    Placement {
        fills: vec![Fill { shape: 0, count: devices.len() as u32 }],
        grants: devices.iter().map(grant).collect(),
    }
}

fn run(job: u64, attempt: u32, devices: &[u32], generation: u32) -> Desired {
    Desired { allocation: id(job, attempt), wanted: Wanted::Run { placement: whole(devices), generation } }
}

fn gone(job: u64, attempt: u32) -> Desired {
    Desired { allocation: id(job, attempt), wanted: Wanted::Gone }
}

fn start(job: u64, devices: &[u32], after: &[AllocationId]) -> Move {
    Move::Start { ask: AskId::whole(JobId(job)), placement: whole(devices), after: after.to_vec() }
}

fn over(job: u64, attempt: u32) -> Input {
    Input::over(id(job, attempt), Outcome::Stopped)
}

impl House {
    fn new(resize: Resize) -> Self {
        let capabilities = Capabilities { resize, ..Capabilities::ALL };
        let mut house =
            House { scheduler: Scheduler::new(stock::standard().policy(), capabilities), now: Time::ZERO };
        house.say(Input::SetKind(KindSpec::named("a")));
        house.say(Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        house.say(Input::SetQueue(queue));
        for name in ["n1", "n2"] {
            let devices = vec![DeviceGroup { kind: "a".into(), count: 4, island: 0 }];
            house.say(Input::NodeJoined(NodeSpec { name: name.into(), devices, ..NodeSpec::default() }));
        }
        house.submit(1, 4);
        house.plan(vec![start(1, &[0, 1], &[])]);
        house.say(Input::Started(id(1, 1)));
        house.scheduler.take_desires();
        house
    }

    fn say(&mut self, input: Input) {
        let event = self.scheduler.accept(self.now, input).expect("the story is in order");
        self.scheduler.apply(&event);
        assert_eq!(self.scheduler.audit(), Vec::<String>::new());
    }

    fn refuses(&self, input: Input) -> String {
        self.scheduler.accept(self.now, input).expect_err("it is stale").subject
    }

    fn submit(&mut self, min: u32, max: u32) {
        let mut spec = JobSpec::gang("work", min, Shape::of("a"));
        spec.stages[0].roles[0].count = Count { min, max };
        self.say(Input::Submit(Arc::new(spec)));
    }

    /// A plan of somebody who knows what to do; it keeps the rules.
    fn plan(&mut self, moves: Vec<Move>) {
        let scheduler = &mut self.scheduler;
        let plan = Plan { moves, based_on: scheduler.view().seen(), ..Plan::default() };
        let verdict = crate::check::check(&scheduler.state, scheduler.capabilities, &plan, self.now);
        assert_eq!(verdict, Ok(()));
        scheduler.apply(&Event::new(self.now, Fact::Planned(plan)));
        assert_eq!(scheduler.audit(), Vec::<String>::new());
    }

    fn resize(&self, job: u64, attempt: u32, devices: &[u32], after: &[AllocationId]) -> Move {
        Move::Resize {
            allocation: id(job, attempt),
            placement: whole(devices),
            after: after.to_vec(),
            in_place: self.scheduler.capabilities.resize == Resize::InPlace,
        }
    }

    fn resized(&mut self, generation: u32) {
        self.say(Input::Resized { allocation: id(1, 1), generation });
    }

    fn doing(&self, job: u64) -> Option<Doing> {
        self.scheduler.view().ask(AskId::whole(JobId(job))).map(|ask| ask.doing())
    }

    fn attempt(&self) -> u32 {
        self.scheduler.view().ask(AskId::whole(JOB)).expect("it lives").attempt()
    }

    fn held(&self) -> Vec<u32> {
        let view = self.scheduler.view();
        (0..8).filter(|&device| view.device(DeviceId(device)).held > 0).collect()
    }

    fn reason(&self) -> String {
        self.scheduler.explain(self.now, JOB).expect("it lives").asks[0].1.to_string()
    }

    fn told(&self) -> Vec<String> {
        let view = self.scheduler.view();
        let job = view.job(JOB).expect("it lives");
        job.story().entries().iter().map(|entry| entry.told(job.spec())).collect()
    }

    fn desires(&mut self) -> Vec<Desired> {
        self.scheduler.take_desires()
    }
}

#[test]
fn in_place_both_placements_are_held_until_the_world_confirmed() {
    let mut house = House::new(Resize::InPlace);
    house.plan(vec![house.resize(1, 1, &[1, 4, 5], &[])]);
    assert_eq!(house.desires(), [run(1, 1, &[1, 4, 5], 1)]);
    assert_eq!(house.held(), [0, 1, 4, 5]);
    assert_eq!(house.reason(), "runs on 2 devices and is being resized from 2 to 3 workers");
    house.resized(1);
    assert_eq!(house.held(), [1, 4, 5]);
    assert_eq!((house.reason(), house.attempt()), ("runs on 3 devices".into(), 1));
    assert_eq!(house.told(), ["attempt 1 was resized from 2 to 3 workers"]);
    assert_eq!(house.scheduler.all_desires(), [run(1, 1, &[1, 4, 5], 1)]);
    let twice = house.refuses(Input::Resized { allocation: id(1, 1), generation: 1 });
    assert_eq!(twice, "allocation 1#1 is not being resized as generation 1");
}

#[test]
fn news_of_another_generation_is_stale() {
    let mut house = House::new(Resize::InPlace);
    let resized = |generation| Input::Resized { allocation: id(1, 1), generation };
    let refused = |generation| Input::ResizeRefused { allocation: id(1, 1), generation, why: "no".into() };
    house.refuses(resized(0));
    house.plan(vec![house.resize(1, 1, &[0, 1, 2], &[])]);
    for generation in [0, 2] {
        house.refuses(resized(generation));
        house.refuses(refused(generation));
    }
    house.say(refused(1));
    house.now = house.now + Span::seconds(60);
    house.plan(vec![house.resize(1, 1, &[0, 1, 3], &[])]);
    assert_eq!(house.desires().last(), Some(&run(1, 1, &[0, 1, 3], 2)), "no number is used twice");
    house.refuses(resized(1));
    house.resized(2);
    house.refuses(refused(2));
}

#[test]
fn a_refused_resize_leaves_everything_as_it_was() {
    let mut house = House::new(Resize::InPlace);
    house.submit(2, 2);
    house.plan(vec![house.resize(1, 1, &[0, 4], &[]), start(2, &[1, 2], &[id(1, 1)])]);
    assert_eq!((house.held(), house.doing(2)), (vec![0, 1, 2, 4], Some(Doing::Planned)));
    house.desires();
    let why = "the application said no".into();
    house.say(Input::ResizeRefused { allocation: id(1, 1), generation: 1, why });
    assert_eq!((house.held(), house.doing(2)), (vec![0, 1], Some(Doing::Waiting)), "promised no longer");
    assert_eq!(house.desires(), [run(1, 1, &[0, 1], 0)]);
    assert_eq!(house.told(), ["attempt 1 could not be resized from 2 to 2 workers: the application said no"]);
    assert_eq!(house.reason(), "runs on 2 devices");
}

#[test]
fn what_is_given_up_goes_to_whom_it_was_promised() {
    let mut house = House::new(Resize::InPlace);
    house.submit(1, 1);
    house.plan(vec![house.resize(1, 1, &[0], &[]), start(2, &[1], &[id(1, 1)])]);
    assert_eq!(house.desires(), [run(1, 1, &[0], 1)]);
    house.resized(1);
    assert_eq!(house.desires(), [run(2, 1, &[1], 0)]);
    assert_eq!(house.held(), [0, 1]);
}

#[test]
fn a_resize_waits_for_what_others_give_back() {
    let mut house = House::new(Resize::InPlace);
    house.submit(1, 1);
    house.plan(vec![start(2, &[2], &[])]);
    house.say(Input::Started(id(2, 1)));
    house.desires();
    let cause = StopCause::Yield;
    let stop = Move::Stop { allocation: id(2, 1), cause };
    house.plan(vec![stop, house.resize(1, 1, &[0, 1, 2, 3], &[id(2, 1)])]);
    assert_eq!(house.desires(), [gone(2, 1)], "the world is not asked yet");
    assert_eq!(house.scheduler.all_desires(), [run(1, 1, &[0, 1], 0), gone(2, 1)]);
    assert_eq!(
        house.reason(),
        "runs on 2 devices and is being resized from 2 to 4 workers, once 2#1 has released its devices"
    );
    house.refuses(Input::Resized { allocation: id(1, 1), generation: 1 });
    house.say(over(2, 1));
    assert_eq!(house.desires(), [run(1, 1, &[0, 1, 2, 3], 1)]);
    house.resized(1);
    assert_eq!(house.held(), [0, 1, 2, 3]);
}

#[test]
fn what_an_attempt_did_counts_at_the_width_that_it_had() {
    for how in [Resize::InPlace, Resize::Restart] {
        let mut house = House::new(how);
        house.now = Time::seconds(100);
        house.plan(vec![house.resize(1, 1, &[0, 1, 2, 3], &[])]);
        house.now = Time::seconds(110);
        match how {
            Resize::InPlace => house.resized(1),
            _ => {
                house.say(over(1, 1));
                house.say(Input::Started(id(1, 2)));
            }
        }
        house.now = Time::seconds(160);
        let view = house.scheduler.view();
        let ask = view.ask(AskId::whole(JOB)).expect("it lives");
        assert_eq!(ask.served_until(house.now), Span::seconds(160));
        assert_eq!(ask.worked_until(house.now), Span::seconds(110 / 2 + 50));
        let device_seconds = 110 * 2 + 50 * 4;
        assert_eq!(ask.attained_until(house.now), device_seconds * 1_000_000_000 * i128::from(WHOLE));
        let before = if how == Resize::InPlace {
            (Span::ZERO, 0)
        } else {
            (ask.served_before(), ask.attained_before())
        };
        assert_eq!((ask.served_before(), ask.attained_before()), before);
        assert_eq!(ask.restarts(), u32::from(how == Resize::Restart));
        assert_eq!(ask.preemptions(), 0);
        let attempt = ask.attempt();
        house.say(Input::over(id(1, attempt), Outcome::Succeeded));
        let ended = &house.scheduler.take_ended()[0];
        assert_eq!(ended.used, device_seconds as u128 * 1_000_000_000 * u128::from(WHOLE));
        assert_eq!(ended.served, [Span::seconds(160)].into_iter().sum());
        let view = house.scheduler.view();
        let account = view.account(view.tenant("default").unwrap(), view.kind("a").unwrap());
        assert_eq!(account.usage_device_ms, (100 * 2 + 60 * 4) * 1000, "what was held, from the plan on");
    }
}

#[test]
fn by_restart_the_next_attempt_has_what_was_kept_for_it() {
    let mut house = House::new(Resize::Restart);
    house.submit(2, 2);
    house.plan(vec![house.resize(1, 1, &[1, 2, 3], &[]), start(2, &[0, 4], &[id(1, 1)])]);
    assert_eq!(house.desires(), [gone(1, 1)]);
    assert_eq!(house.held(), [0, 1, 2, 3, 4]);
    assert_eq!(house.reason(), "is being restarted with 3 workers instead of 2");
    assert_eq!(house.scheduler.plan(house.now).moves, [], "nobody else gets what is kept");
    house.say(over(1, 1));
    assert_eq!(house.desires(), [run(2, 1, &[0, 4], 0), run(1, 2, &[1, 2, 3], 0)]);
    assert_eq!((house.doing(1), house.attempt()), (Some(Doing::Starting), 2));
    house.say(Input::Started(id(1, 2)));
    assert_eq!(
        house.told(),
        ["attempt 1 was resized from 2 to 3 workers; attempt 2 goes on from there", "attempt 2 is up"]
    );
    assert!(house.refuses(Input::Started(id(1, 1))).contains("is over"));
}

#[test]
fn by_restart_it_may_wait_for_what_others_give_back() {
    let mut house = House::new(Resize::Restart);
    house.submit(1, 1);
    house.plan(vec![start(2, &[2], &[])]);
    house.say(Input::Started(id(2, 1)));
    let stop = Move::Stop { allocation: id(2, 1), cause: StopCause::Yield };
    house.plan(vec![stop, house.resize(1, 1, &[0, 1, 2], &[id(2, 1)])]);
    house.desires();
    house.say(over(1, 1));
    assert_eq!((house.doing(1), house.desires()), (Some(Doing::Planned), vec![]));
    house.say(over(2, 1));
    assert_eq!(house.desires(), [run(1, 2, &[0, 1, 2], 0)]);
}

#[test]
fn work_that_was_done_when_it_was_asked_to_go_is_done() {
    let mut house = House::new(Resize::Restart);
    house.plan(vec![house.resize(1, 1, &[0, 1, 2], &[])]);
    house.say(Input::over(id(1, 1), Outcome::Succeeded));
    assert_eq!(house.scheduler.view().ending(JOB), Some(Ending::Succeeded));
    assert_eq!(house.held(), [0u32; 0]);
}

#[test]
fn an_end_in_the_middle_of_a_resize_gives_everything_back() {
    let mut house = House::new(Resize::InPlace);
    house.submit(1, 1);
    house.plan(vec![house.resize(1, 1, &[0, 2, 3], &[]), start(2, &[1], &[id(1, 1)])]);
    house.say(Input::over(id(1, 1), Outcome::Succeeded));
    assert_eq!(house.scheduler.view().ending(JOB), Some(Ending::Succeeded));
    assert_eq!((house.held(), house.doing(2)), (vec![1], Some(Doing::Starting)));
}

#[test]
fn a_cancel_a_pause_and_a_preemption_end_what_is_being_resized() {
    let ways: [fn(&mut House); 3] = [
        |house| house.say(Input::Cancel(JOB)),
        |house| house.say(Input::Pause(JOB)),
        |house| {
            house.submit(1, 1);
            let by = AskId::whole(JobId(2));
            let cause = StopCause::Preempted { by, claim: None };
            let stop = Move::Stop { allocation: id(1, 1), cause };
            house.plan(vec![stop, start(2, &[0], &[id(1, 1)])]);
        },
    ];
    for way in ways {
        let mut house = House::new(Resize::InPlace);
        house.plan(vec![house.resize(1, 1, &[1, 2], &[])]);
        house.desires();
        way(&mut house);
        assert!(house.desires().contains(&gone(1, 1)));
        assert_eq!(house.held(), [0, 1, 2], "a worker may be on any of them");
        let late = house.refuses(Input::Resized { allocation: id(1, 1), generation: 1 });
        assert_eq!(late, "allocation 1#1 is not running");
        house.say(over(1, 1));
        assert!(!house.held().contains(&2));
    }
    for way in &ways[..2] {
        let mut house = House::new(Resize::Restart);
        house.plan(vec![house.resize(1, 1, &[1, 2], &[])]);
        way(&mut house);
        assert_eq!(house.held(), [0, 1], "nothing is kept for it any more");
        house.say(over(1, 1));
        assert_eq!(house.held(), [0u32; 0]);
        assert_ne!(house.doing(1), Some(Doing::Starting));
    }
}

#[test]
fn a_resize_that_was_only_promised_is_called_off_by_a_cancel() {
    let mut house = House::new(Resize::InPlace);
    house.submit(1, 1);
    house.plan(vec![start(2, &[2], &[])]);
    house.say(Input::Started(id(2, 1)));
    let stop = Move::Stop { allocation: id(2, 1), cause: StopCause::Yield };
    house.plan(vec![stop, house.resize(1, 1, &[0, 1, 2, 3], &[id(2, 1)])]);
    house.say(Input::Cancel(JOB));
    assert_eq!(house.held(), [0, 1, 2], "3 was only reserved");
    house.say(over(1, 1));
    house.say(over(2, 1));
    assert_eq!(house.held(), [0u32; 0]);
}

#[test]
fn a_lost_node_ends_what_may_already_be_there() {
    for node in [0, 1] {
        let mut house = House::new(Resize::InPlace);
        house.plan(vec![house.resize(1, 1, &[0, 1, 4], &[])]);
        house.desires();
        house.say(Input::NodeFenced(NodeId(node)));
        assert_eq!(house.desires(), [gone(1, 1)]);
        assert_eq!(house.scheduler.view().fenced_attempts().count(), 1);
        house.say(over(1, 1));
        assert_eq!((house.held(), house.doing(1)), (vec![], Some(Doing::Waiting)));
    }
}

#[test]
fn a_lost_node_calls_off_what_nobody_has_heard_of() {
    let mut house = House::new(Resize::InPlace);
    house.submit(1, 1);
    house.submit(1, 1);
    house.plan(vec![start(2, &[4], &[])]);
    house.say(Input::Started(id(2, 1)));
    let stop = Move::Stop { allocation: id(2, 1), cause: StopCause::Yield };
    let moved = house.resize(1, 1, &[0, 4], &[id(2, 1)]);
    house.plan(vec![stop, moved, start(3, &[1], &[id(1, 1)])]);
    house.desires();
    house.say(Input::NodeFenced(NodeId(1)));
    assert_eq!((house.doing(1), house.doing(3)), (Some(Doing::Running), Some(Doing::Waiting)));
    assert_eq!(house.reason(), "runs on 2 devices");
    assert_eq!(house.held(), [0, 1]);
}

#[test]
fn by_restart_a_lost_node_ends_in_the_queue() {
    for (lost, left) in [(0, vec![]), (1, vec![0, 1])] {
        let mut house = House::new(Resize::Restart);
        house.plan(vec![house.resize(1, 1, &[0, 1, 4], &[])]);
        house.desires();
        house.say(Input::NodeFenced(NodeId(lost)));
        assert_eq!(house.held(), left);
        house.say(over(1, 1));
        assert_eq!((house.held(), house.doing(1), house.attempt()), (vec![], Some(Doing::Waiting), 1));
    }
}

#[test]
fn an_unhealthy_device_calls_off_a_restart_and_ends_a_resize_in_place() {
    let ill = |device| {
        let ill = vec![Illness { device, why: "Xid 79".into() }];
        Input::DeviceHealth { node: NodeId(0), ill }
    };
    let mut house = House::new(Resize::InPlace);
    house.plan(vec![house.resize(1, 1, &[0, 1, 2], &[])]);
    house.say(ill(2));
    assert_eq!((house.doing(1), house.held()), (Some(Doing::Releasing), vec![0, 1, 2]));
    assert_eq!(house.told(), ["attempt 1 was moved off device 2 of node n1: unhealthy (Xid 79)"]);
    for device in [1, 2] {
        let mut house = House::new(Resize::Restart);
        house.plan(vec![house.resize(1, 1, &[1, 2], &[])]);
        house.say(ill(device));
        assert_eq!(house.held(), [0, 1]);
        house.say(over(1, 1));
        assert_eq!((house.held(), house.doing(1)), (vec![], Some(Doing::Waiting)));
    }
    let mut house = House::new(Resize::Restart);
    house.plan(vec![house.resize(1, 1, &[1, 2], &[])]);
    house.say(ill(0));
    house.say(over(1, 1));
    assert_eq!((house.held(), house.attempt()), (vec![1, 2], 2), "it leaves that one anyway");
}

#[test]
fn a_resize_refused_to_one_that_gives_to_a_restart_ends_in_the_queue() {
    let mut house = House::new(Resize::InPlace);
    house.submit(1, 4);
    house.plan(vec![start(2, &[2, 3], &[])]);
    house.say(Input::Started(id(2, 1)));
    house.plan(vec![house.resize(1, 1, &[0], &[]), house.resize(2, 1, &[1, 2, 3], &[id(1, 1)])]);
    let why = "no".into();
    house.say(Input::ResizeRefused { allocation: id(1, 1), generation: 1, why });
    assert_eq!((house.doing(2), house.held()), (Some(Doing::Running), vec![0, 1, 2, 3]));
    assert!(house.scheduler.view().ask(AskId::whole(JobId(2))).unwrap().resizing().is_none());
}

#[test]
fn a_time_limit_counts_from_when_the_attempt_came_up() {
    let mut house = House::new(Resize::InPlace);
    let mut spec = JobSpec::gang("limited", 1, Shape::of("a"));
    spec.time_limit = Some(Span::seconds(100));
    spec.stages[0].roles[0].count = Count { min: 1, max: 2 };
    house.say(Input::Submit(Arc::new(spec)));
    house.plan(vec![start(2, &[4], &[])]);
    house.say(Input::Started(id(2, 1)));
    house.now = Time::seconds(50);
    house.plan(vec![house.resize(2, 1, &[4, 5], &[])]);
    house.say(Input::Resized { allocation: id(2, 1), generation: 1 });
    house.now = Time::seconds(99);
    assert_eq!(house.scheduler.plan(house.now).wake_at, Some(Time::seconds(100)));
    house.now = Time::seconds(100);
    let plan = house.scheduler.plan(house.now);
    assert!(matches!(plan.moves[..], [Move::Stop { cause: StopCause::TimeLimit, .. }]), "{plan:?}");
}

#[test]
fn a_saved_state_goes_on_in_the_middle_of_a_resize() {
    for how in [Resize::InPlace, Resize::Restart] {
        let mut house = House::new(how);
        house.plan(vec![house.resize(1, 1, &[0, 1, 2], &[])]);
        let saved = house.scheduler.save();
        let policy = house.scheduler.policy.clone();
        let mut again = Scheduler::restore(policy, house.scheduler.capabilities, saved);
        assert_eq!(again.state_hash(), house.scheduler.state_hash());
        assert_eq!(again.all_desires(), house.scheduler.all_desires());
        let news = match how {
            Resize::InPlace => Input::Resized { allocation: id(1, 1), generation: 1 },
            _ => over(1, 1),
        };
        again.apply(&again.accept(Time::ZERO, news).expect("it is awaited"));
        assert_eq!(again.audit(), Vec::<String>::new());
    }
}
