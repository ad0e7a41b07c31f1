//! What the world says about work and about its ending reaches whoever asks: in the events, the list, the explanation and
//! the history.

use consort_daemon::journal::history::Record;
use consort_daemon::rows;
use consort_daemon::telling;
use consort_sched::{Scheduler, stock};
use consort_types::*;
use serde_json::json;
use std::sync::Arc;

fn say(scheduler: &mut Scheduler, input: Input) -> Event {
    let event = scheduler.accept(Time::ZERO, input).expect("the story is in order");
    scheduler.apply(&event);
    event
}

fn plan(scheduler: &mut Scheduler) {
    let plan = scheduler.plan(Time::ZERO);
    scheduler.apply(&Event::new(Time::ZERO, Fact::Planned(plan)));
}

/// One job, started on the only node.
fn house() -> Scheduler {
    let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
    let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
    let devices = vec![DeviceGroup { kind: "a".into(), count: 1, island: 0 }];
    let node = NodeSpec { name: "n".into(), devices, features: vec!["ib".into()], ..NodeSpec::default() };
    for input in [
        Input::SetKind(KindSpec::named("a")),
        Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
        Input::SetQueue(queue),
        Input::NodeJoined(node),
        Input::Submit(Arc::new(JobSpec::gang("train", 1, Shape::any()))),
    ] {
        say(&mut scheduler, input);
    }
    plan(&mut scheduler);
    scheduler
}

/// A world that has nothing to say.
fn silent(_: AllocationId) -> Option<String> {
    None
}

fn over(outcome: Outcome, why: &str) -> Input {
    let allocation = AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 };
    Input::Ended { allocation, outcome, why: Some(why.into()) }
}

#[test]
fn of_what_was_stopped_and_waits_again() {
    let mut scheduler = house();
    say(&mut scheduler, Input::Drain(NodeId(0)));
    let event = say(&mut scheduler, over(Outcome::Stopped, "node n3 is down"));
    let told = telling::line(9, &event, None, &Directory::default());
    assert_eq!(told.text, "attempt 1 of job 1 stopped: node n3 is down");
    assert_eq!((told.kind.as_str(), told.job, told.numbers["attempt"]), ("ended", Some(1), 1));
    assert_eq!(told.cause.as_deref(), Some("stopped: node n3 is down"));
    let reason = "needs 1 device, 0 free, 1 on nodes that take no new work; its last attempt was stopped: node n3 is down";
    let (rows, _) = rows::living(&scheduler.reading(), Time::ZERO, &silent, &rows::Wanted::default(), 9);
    assert_eq!(rows[0].reason, reason);
    let shown = rows::detail(&scheduler.reading(), Time::ZERO, &silent, JobId(1)).expect("it lives");
    assert_eq!((shown.job.reason.as_str(), shown.asks[0].reason.as_str()), (reason, reason));
    let told = rows::explanation(&scheduler.reading(), Time::ZERO, &silent, JobId(1)).expect("it lives");
    assert_eq!(told.sentences, [format!("Job 1 (train) {reason}.")]);
    assert_eq!(told.asks[0].reason, reason);
    // Once it is up again, nobody needs to hear of it any more.
    say(&mut scheduler, Input::Undrain(NodeId(0)));
    plan(&mut scheduler);
    let (rows, _) = rows::living(&scheduler.reading(), Time::ZERO, &silent, &rows::Wanted::default(), 9);
    assert_eq!(rows[0].reason, "is starting");
}

#[test]
fn of_what_has_ended() {
    let mut scheduler = house();
    say(&mut scheduler, over(Outcome::Failed { code: 1, cause: Cause::TimeLimit }, "short allows 1h"));
    let record = Record::of(&scheduler.take_ended()[0]);
    assert_eq!(record.why, "it exceeded a time limit of the cluster: short allows 1h");
    assert_eq!(record.state().to_string(), "failed");
    let mut scheduler = house();
    say(&mut scheduler, over(Outcome::Failed { code: 143, cause: Cause::Cancelled }, "by uid 0"));
    let record = Record::of(&scheduler.take_ended()[0]);
    assert_eq!(record.why, "it was cancelled outside Consort: by uid 0");
    assert_eq!((record.state().to_string().as_str(), record.exit_code), ("cancelled", None));
}

fn nodes(scheduler: &mut Scheduler) -> Vec<consort_api::shapes::Node> {
    rows::nodes(&scheduler.reading(), &rows::Page::whole()).expect("from the first on").0
}

#[test]
fn nodes_tell_their_features_and_what_ails_them() {
    let mut scheduler = house();
    assert_eq!(nodes(&mut scheduler)[0].features, ["ib"]);
    assert_eq!(nodes(&mut scheduler)[0].note, "");
    let ill = vec![Illness { device: 0, why: "drained in Slurm: bad fan".into() }];
    say(&mut scheduler, Input::DeviceHealth { node: NodeId(0), ill });
    assert_eq!(nodes(&mut scheduler)[0].note, "1 unhealthy: drained in Slurm: bad fan");
}

#[test]
fn lists_of_nodes_and_devices_are_filtered_and_paged() {
    let mut scheduler = house();
    let devices = vec![
        DeviceGroup { kind: "a".into(), count: 2, island: 0 },
        DeviceGroup { kind: "b".into(), count: 1, island: 0 },
    ];
    say(&mut scheduler, Input::SetKind(KindSpec::named("b")));
    say(&mut scheduler, Input::NodeJoined(NodeSpec { name: "other".into(), devices, ..NodeSpec::default() }));
    let scheduler = &mut scheduler;
    let names = |scheduler: &mut Scheduler, asked: serde_json::Value| {
        let page = serde_json::from_value(asked).expect("a page");
        let (rows, more) = rows::nodes(&scheduler.reading(), &page).expect("it begins somewhere");
        (rows.into_iter().map(|node| node.name).collect::<Vec<_>>(), more)
    };
    let first = names(scheduler, json!({"limit": 1}));
    assert!(first.1 && first.0.len() == 1, "{first:?}");
    let second = names(scheduler, json!({"limit": 1, "after": first.0[0]}));
    assert_eq!(second, (vec!["other".to_string()], false));
    assert_eq!(names(scheduler, json!({"kind": "B"})).0, ["other"]);
    assert_eq!(names(scheduler, json!({"state": "draining"})), (vec![], false));
    let places = |scheduler: &mut Scheduler, asked: serde_json::Value| {
        let page = serde_json::from_value(asked).expect("a page");
        let (rows, more) = rows::devices(&scheduler.reading(), &page)?;
        Some((
            rows.iter().map(|device| format!("{}[{}]", device.node, device.index)).collect::<Vec<_>>(),
            more,
        ))
    };
    let page = |list: &[&str], more| Some((list.iter().map(ToString::to_string).collect::<Vec<_>>(), more));
    assert_eq!(
        places(scheduler, json!({"node": "other", "limit": 2})),
        page(&["other[0]", "other[1]"], true)
    );
    assert_eq!(places(scheduler, json!({"after": "other[1]", "state": "free"})), page(&["other[2]"], false));
    assert_eq!(places(scheduler, json!({"kind": "b", "node": "other"})), page(&["other[2]"], false));
    assert_eq!(places(scheduler, json!({"after": "nowhere[1]"})), None);
}

/// What is told of the only job in a list, in full and as a sentence, when the world says this of its only attempt.
fn told(scheduler: &mut Scheduler, words: &str) -> (String, Option<String>, String) {
    let says = |id: AllocationId| (id.attempt == 1 && !words.is_empty()).then(|| words.to_string());
    let (rows, _) = rows::living(&scheduler.reading(), Time::ZERO, &says, &rows::Wanted::default(), 9);
    let shown = rows::detail(&scheduler.reading(), Time::ZERO, &says, JobId(1)).expect("it lives");
    assert_eq!(shown.job.reason, rows[0].reason);
    let explained = rows::explanation(&scheduler.reading(), Time::ZERO, &says, JobId(1)).expect("it lives");
    (rows[0].reason.clone(), shown.asks[0].engine.clone(), explained.sentences.join(" "))
}

#[test]
fn of_what_it_has_in_its_hands() {
    let mut scheduler = house();
    let pending = "Slurm job 12 is pending: jobs with higher priority go first (Priority)";
    let (listed, engine, explained) = told(&mut scheduler, pending);
    assert_eq!(listed, format!("is being started: {pending}"));
    assert_eq!(engine.as_deref(), Some(pending));
    assert_eq!(explained, format!("Job 1 (train) is being started: {pending}."));
    let (listed, engine, explained) = told(&mut scheduler, "");
    assert_eq!((listed.as_str(), engine), ("is starting", None));
    assert_eq!(explained, "Job 1 (train) is starting.");

    say(&mut scheduler, Input::Started(AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 }));
    let (listed, engine, explained) = told(&mut scheduler, "Slurm job 12 is running");
    assert_eq!(listed, "runs on 1 device", "a list need not say it twice");
    assert_eq!(engine.as_deref(), Some("Slurm job 12 is running"));
    assert_eq!(explained, "Job 1 (train) runs on 1 device: Slurm job 12 is running.");
    let (listed, ..) = told(&mut scheduler, "Slurm job 12 is suspended");
    assert_eq!(listed, "runs on 1 device: Slurm job 12 is suspended");

    say(&mut scheduler, Input::Cancel(JobId(1)));
    let (listed, engine, explained) = told(&mut scheduler, "Slurm job 12 is completing");
    assert!(
        listed.starts_with("is ending: ") && listed.ends_with("; Slurm job 12 is completing"),
        "{listed}"
    );
    assert_eq!(engine.as_deref(), Some("Slurm job 12 is completing"));
    assert!(explained.ends_with("is releasing its devices: Slurm job 12 is completing."), "{explained}");
}

#[test]
fn of_what_waits_it_is_not_asked() {
    let mut scheduler = house();
    say(&mut scheduler, Input::Submit(Arc::new(JobSpec::gang("next", 1, Shape::any()))));
    let asked = |id: AllocationId| -> Option<String> {
        assert_eq!(id.ask.job, JobId(1), "only one has been granted anything");
        None
    };
    rows::living(&scheduler.reading(), Time::ZERO, &asked, &rows::Wanted::default(), 9);
    rows::detail(&scheduler.reading(), Time::ZERO, &asked, JobId(2)).expect("it lives");
    rows::explanation(&scheduler.reading(), Time::ZERO, &asked, JobId(2)).expect("it lives");
}
