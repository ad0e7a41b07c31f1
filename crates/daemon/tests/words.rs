//! What the world says about an ending reaches whoever asks: in the events, the list, the explanation and the history.

use consort_daemon::journal::history::Record;
use consort_daemon::rows;
use consort_daemon::telling;
use consort_sched::{Scheduler, stock};
use consort_types::*;
use std::sync::Arc;

fn say(scheduler: &mut Scheduler, input: Input) -> Event {
    let event = scheduler.accept(Time::ZERO, input).expect("the story is in order");
    scheduler.apply(&event);
    event
}

fn plan(scheduler: &mut Scheduler) {
    let plan = scheduler.plan(Time::ZERO);
    scheduler.apply(&Event { at: Time::ZERO, fact: Fact::Planned(plan) });
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

fn over(outcome: Outcome, why: &str) -> Input {
    let allocation = AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 };
    Input::Ended { allocation, outcome, why: Some(why.into()) }
}

#[test]
fn of_what_was_stopped_and_waits_again() {
    let mut scheduler = house();
    say(&mut scheduler, Input::Drain(NodeId(0)));
    let event = say(&mut scheduler, over(Outcome::Stopped, "node n3 is down"));
    assert_eq!(telling::line(9, &event, None).text, "job 1 stopped, attempt 1: node n3 is down");
    let reason = "needs 1 device, 0 free, 1 on nodes that take no new work; its last attempt was stopped: node n3 is down";
    let (rows, _) = rows::living(&scheduler, Time::ZERO, &rows::Wanted::default(), 9);
    assert_eq!(rows[0].reason, reason);
    let shown = rows::detail(&scheduler, Time::ZERO, JobId(1)).expect("it lives");
    assert_eq!((shown.job.reason.as_str(), shown.asks[0].reason.as_str()), (reason, reason));
    let told = rows::explanation(&scheduler, Time::ZERO, JobId(1)).expect("it lives");
    assert_eq!(told.sentences, [format!("Job 1 (train) {reason}.")]);
    assert_eq!(told.asks[0].reason, reason);
    // Once it is up again, nobody needs to hear of it any more.
    say(&mut scheduler, Input::Undrain(NodeId(0)));
    plan(&mut scheduler);
    let (rows, _) = rows::living(&scheduler, Time::ZERO, &rows::Wanted::default(), 9);
    assert_eq!(rows[0].reason, "is starting");
}

#[test]
fn of_what_has_ended() {
    let mut scheduler = house();
    say(&mut scheduler, over(Outcome::Failed { code: 1, cause: Cause::TimeLimit }, "short allows 1h"));
    let record = Record::of(&scheduler.take_ended()[0]);
    assert_eq!(record.why, "it ran into a time limit of the cluster: short allows 1h");
    assert_eq!(record.state().to_string(), "failed");
    let mut scheduler = house();
    say(&mut scheduler, over(Outcome::Failed { code: 143, cause: Cause::Cancelled }, "by uid 0"));
    let record = Record::of(&scheduler.take_ended()[0]);
    assert_eq!(record.why, "it was cancelled where it ran: by uid 0");
    assert_eq!((record.state().to_string().as_str(), record.exit_code), ("cancelled", None));
}

#[test]
fn nodes_tell_their_features() {
    assert_eq!(rows::nodes(&house())[0].features, ["ib"]);
}
