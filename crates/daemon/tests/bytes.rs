//! The bytes of events are kept: whatever was written once can be read for ever.
//!
//! When this test fails because an event is written differently, older journals are at stake: raise the version in
//! `journal/bytes.rs`, keep a reader for the old one, and add a new golden file beside this one.

use consort_daemon::journal::bytes::{self, Unreadable};
use consort_types::actor::User;
use consort_types::*;
use std::sync::Arc;

const GOLDEN: &str = include_str!("golden/events-v3.jsonl");
/// What versions 1 and 2 wrote: the first of the same events.
const OLDER: [&str; 2] = [include_str!("golden/events-v1.jsonl"), include_str!("golden/events-v2.jsonl")];

fn allocation() -> AllocationId {
    AllocationId { ask: AskId { job: JobId(7), stage: 1, task: 3 }, attempt: 2 }
}

/// One event of every kind, with every field set to something.
fn events() -> Vec<Event> {
    let spec = JobSpec {
        tenant: "red".into(),
        queue: "urgent".into(),
        priority: -5,
        qos: Qos::BestEffort,
        after: vec![
            Dependency { job: JobId(1), when: Condition::Succeeded },
            Dependency { job: JobId(2), when: Condition::Failed },
            Dependency { job: JobId(3), when: Condition::Ended },
        ],
        deadline: Some(Time::seconds(9_000)),
        estimate: Some(Span::seconds(60)),
        time_limit: Some(Span::seconds(120)),
        restart_cost: Span::seconds(3),
        retries: 4,
        stages: vec![
            StageSpec {
                name: "train".into(),
                form: Form::Gang,
                roles: vec![Role {
                    name: "worker".into(),
                    count: Count { min: 2, max: 8 },
                    shapes: vec![Shape {
                        kind: Some("h200".into()),
                        devices: 2,
                        share: 500,
                        memory_bytes: 1 << 30,
                        within: Some("nvlink".into()),
                        ..Shape::any()
                    }],
                }],
                ..StageSpec::new("", Form::Gang, vec![])
            },
            StageSpec { after: vec![0], ..StageSpec::new("sweep", Form::Bag { tasks: 9 }, vec![]) },
            StageSpec::new("serve", Form::Service { replicas: 3 }, vec![]),
        ],
        ..JobSpec::gang("demo \"é\"\n", 1, Shape::any())
    };
    let settings = Settings {
        levels: vec![LevelSpec { name: "rack".into(), link: Some("ib".into()) }],
        island_link: Some("nvlink".into()),
        node_link: None,
        lease: Span::seconds(30),
        margin: Span::seconds(10),
        constants: None,
    };
    let kind = KindSpec {
        vendor: "nvidia".into(),
        memory_bytes: 141 << 30,
        by_name: true,
        ..KindSpec::named("h200")
    };
    let tenant = TenantSpec {
        name: "red".into(),
        quotas: vec![Quota { kind: "h200".into(), guarantee: 4, ceiling: Some(8) }],
    };
    let queue = QueueSpec { name: "urgent".into(), priority: 9, strict: true, tenants: vec!["red".into()] };
    let node = NodeSpec {
        name: "n1".into(),
        domains: vec!["r1".into()],
        devices: vec![DeviceGroup { kind: "h200".into(), count: 8, island: 4 }],
        features: vec![],
        host: consort_types::Host::NONE,
    };
    let outcomes = [
        Outcome::Succeeded,
        Outcome::Stopped,
        Outcome::Failed { code: 3, cause: Cause::Exit },
        Outcome::Failed { code: 137, cause: Cause::Signal },
        Outcome::Failed { code: 137, cause: Cause::OutOfMemory },
        Outcome::Failed { code: 127, cause: Cause::NotRun },
    ];
    let grant = Grant { device: DeviceId(5), share: 250, memory_bytes: 77 };
    let placement = Placement { fills: vec![Fill { shape: 1, count: 4 }], grants: vec![grant] };
    let by = AskId::whole(JobId(8));
    let stop = |cause| Move::Stop { allocation: allocation(), cause };
    let plan = Plan {
        moves: vec![
            stop(StopCause::Preempted { by, claim: None }),
            stop(StopCause::TimeLimit),
            stop(StopCause::Yield),
            Move::Start { ask: by, placement, after: vec![allocation()] },
            Move::Fence { node: NodeId(2) },
        ],
        wake_at: Some(Time(17)),
        based_on: 41,
        slot: Some(Slot { version: 2, words: vec![-1, 5], ..Slot::default() }),
    };
    let node_id = NodeId(3);
    let mut inputs = vec![
        Input::Configure(settings),
        Input::SetKind(kind),
        Input::SetTenant(tenant),
        Input::SetQueue(queue),
        Input::Drain(node_id),
        Input::Undrain(node_id),
        Input::Submit(Arc::new(spec)),
        Input::Cancel(JobId(7)),
        Input::Pause(JobId(7)),
        Input::Resume(JobId(7)),
        Input::NodeJoined(node.clone()),
        Input::NodeSilent(node_id),
        Input::NodeReturned(node_id),
        Input::NodeFenced(node_id),
        Input::ForeignUse { node: node_id, shares: vec![0, 500, 1000], host: Host::NONE },
        Input::DeviceHealth {
            node: node_id,
            ill: vec![Illness { device: 1, why: "fell off the bus".into() }],
        },
        Input::Started(allocation()),
        Input::StartRefused { allocation: allocation(), why: "no such folder".into() },
    ];
    inputs.extend(outcomes.map(|outcome| Input::over(allocation(), outcome)));
    // Shapes that came later stand behind the older ones, so that no line ever changes.
    let ended = |outcome, why: Option<&str>| {
        Fact::Accepted(Input::Ended { allocation: allocation(), outcome, why: why.map(Into::into) })
    };
    let failed = |cause| Outcome::Failed { code: 143, cause };
    let features = || vec!["ib".into(), "nvme".into()];
    let featured = NodeSpec { features: features(), ..node.clone() };
    let insisting = JobSpec::gang("picky", 1, Shape { features: features(), ..Shape::any() });
    let host = consort_types::Host { cpu_milli: 96_000, memory_bytes: 512 << 30 };
    let near = Shape { prefer: Some("rack".into()), host, ..Shape::any() };
    let later = [
        ended(Outcome::Stopped, Some("node n3 is down")),
        ended(failed(Cause::TimeLimit), None),
        ended(failed(Cause::Cancelled), Some("by uid 0")),
        Fact::Accepted(Input::NodeJoined(featured)),
        Fact::Accepted(Input::Submit(Arc::new(insisting))),
        Fact::Accepted(Input::NodeJoined(NodeSpec { host, ..node.clone() })),
        Fact::Accepted(Input::Submit(Arc::new(JobSpec::gang("near", 1, near)))),
        Fact::Accepted(Input::OutputLost { allocation: allocation(), bytes: 1204, since: Time(17) }),
    ];
    let rank = |qos, priority| (qos, priority);
    let claims = [
        Claim::Guarantee { used: 1500, guarantee: 4000 },
        Claim::BestEffort,
        Claim::Priority { claimant: rank(Qos::Guaranteed, -1), victim: rank(Qos::Standard, 9) },
        Claim::Order,
    ];
    let moves = claims.map(|claim| stop(StopCause::Preempted { by, claim: Some(claim) })).into();
    let preempting = Fact::Planned(Plan { moves, ..Plan::default() });
    let facts = inputs.into_iter().map(Fact::Accepted).chain([Fact::Planned(plan)]).chain(later);
    let user = |uid, name: Option<&str>| User { uid, name: name.map(Into::into) };
    let address: Arc<str> = "127.0.0.1:4711".into();
    let actors = [
        Actor::Socket(user(1000, Some("ada"))),
        Actor::Tcp { address: address.clone(), user: Some(user(7, None)) },
        Actor::Tcp { address, user: None },
        Actor::World("local".into()),
        Actor::Scheduler,
    ];
    let caused = actors.map(|actor| (Fact::Accepted(Input::Pause(JobId(7))), Some(actor)));
    let slot = Slot { policy: "best-order".into(), version: 1, words: vec![3] };
    let remembering = Fact::Planned(Plan { slot: Some(slot), ..Plan::default() });
    let facts = facts.chain([preempting]).map(|fact| (fact, None)).chain(caused);
    let foreign = Input::ForeignUse { node: node_id, shares: vec![0, 500, 1000], host };
    let last = [Input::NodeLeft(node_id), foreign];
    let facts = facts.chain(last.map(|input| (Fact::Accepted(input), None)));
    let written_out = Settings { constants: Some(Constants::FIRST), ..Settings::default() };
    let configuring = Fact::Accepted(Input::Configure(written_out));
    let facts = facts.chain([remembering, configuring].map(|fact| (fact, None)));
    let short = Sample { done_milli: 1_200_000, rate_nano: 3_200_000_000, ..Sample::default() };
    let full = Sample {
        total_milli: 5_000_000,
        saved_milli: 1_000_000,
        batch: 256,
        memory_bytes: 64 << 30,
        power_mw: 650_250,
        unit: Some("step".into()),
        stats: vec![("gradient_noise".into(), 12_000), ("loss".into(), -500)],
        ..short.clone()
    };
    let reports = [short, full].map(|sample| Report { allocation: allocation(), sample });
    let facts = facts.chain([(Fact::Accepted(Input::Progress(reports.into())), None)]);
    let wide = Placement { fills: vec![Fill { shape: 0, count: 2 }], grants: vec![grant, grant] };
    let resize =
        |placement, after, in_place| Move::Resize { allocation: allocation(), placement, after, in_place };
    let moves = vec![resize(wide.clone(), vec![], true), resize(wide, vec![allocation()], false)];
    let resizes = [
        Fact::Planned(Plan { moves, ..Plan::default() }),
        Fact::Accepted(Input::Resized { allocation: allocation(), generation: 3 }),
        Fact::Accepted(Input::ResizeRefused {
            allocation: allocation(),
            generation: 4,
            why: "it cannot be divided".into(),
        }),
    ];
    let facts = facts.chain(resizes.map(|fact| (fact, None)));
    let stamped = (1_700_000_000_000_000_000..).zip(facts);
    stamped.map(|(at, (fact, actor))| Event { at: Time(at), fact, actor }).collect()
}

#[test]
fn events_are_written_as_they_always_were() {
    let written: Vec<String> =
        events().iter().map(|event| String::from_utf8(bytes::write(event)).expect("JSON is text")).collect();
    if std::env::var_os("CONSORT_BLESS").is_some() {
        std::fs::write("tests/golden/events-v3.jsonl", written.join("\n") + "\n").expect("the golden file");
        return;
    }
    for (written, golden) in written.iter().zip(GOLDEN.lines()) {
        assert_eq!(written, golden);
    }
    assert_eq!(written.len(), GOLDEN.lines().count());
}

#[test]
fn what_was_written_is_read_as_it_was_meant() {
    let read: Vec<Event> =
        GOLDEN.lines().map(|line| bytes::read(line.as_bytes()).expect("it was written")).collect();
    assert_eq!(read, events());
    for older in OLDER {
        let older: Vec<Event> =
            older.lines().map(|line| bytes::read(line.as_bytes()).expect("it was written")).collect();
        assert_eq!(older, events()[..older.len()]);
    }
}

#[test]
fn what_is_newer_or_torn_is_told_apart() {
    let line = GOLDEN.lines().next().expect("there are events");
    let newer = line.replacen("\"v\":3", "\"v\":4", 1);
    assert_eq!(bytes::read(newer.as_bytes()), Err(Unreadable::Newer(4)));
    for end in 0..line.len() {
        assert!(matches!(bytes::read(&line.as_bytes()[..end]), Err(Unreadable::Torn(_))), "{end} bytes");
    }
    assert!(matches!(bytes::read(b"\xff\x00{}"), Err(Unreadable::Torn(_))));
}
