//! What users are told about a job and by an event: counts of tasks, holders with their ids, remedies, the story, the actor.

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

/// Makes a plan and starts what it starts.
fn plan(scheduler: &mut Scheduler) -> Event {
    let event = Event::new(Time::ZERO, Fact::Planned(scheduler.plan(Time::ZERO)));
    scheduler.apply(&event);
    for desired in scheduler.take_desires() {
        match desired.wanted {
            Wanted::Run { .. } => say(scheduler, Input::Started(desired.allocation)),
            Wanted::Gone => say(scheduler, Input::over(desired.allocation, Outcome::Stopped)),
        };
    }
    event
}

/// A node with two devices.
fn house() -> (Scheduler, Directory) {
    let policy = stock::find("priority").expect("a stock policy").policy();
    let (mut scheduler, mut directory) =
        (Scheduler::new(policy, Capabilities::default()), Directory::default());
    let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
    let devices = vec![DeviceGroup { kind: "a".into(), count: 2, island: 0 }];
    for input in [
        Input::SetKind(KindSpec::named("a")),
        Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
        Input::SetQueue(queue),
        Input::NodeJoined(NodeSpec { name: "n".into(), devices, ..NodeSpec::default() }),
    ] {
        let event = say(&mut scheduler, input);
        directory.learn(&event);
    }
    (scheduler, directory)
}

fn submit(scheduler: &mut Scheduler, directory: &mut Directory, spec: JobSpec) -> JobId {
    let job = scheduler.view().next_job();
    directory.learn(&say(scheduler, Input::Submit(Arc::new(spec))));
    job
}

fn explained(scheduler: &mut Scheduler, job: JobId) -> consort_api::shapes::Explanation {
    rows::explanation(&scheduler.reading(), Time::ZERO, &|_| None, job).expect("it lives")
}

#[test]
fn tasks_of_a_bag_are_counted() {
    let (mut scheduler, mut directory) = house();
    let mut bag = JobSpec { retries: 5, ..JobSpec::gang("sweep", 1, Shape::any()) };
    bag.stages[0].form = Form::Bag { tasks: 1500 };
    let job = submit(&mut scheduler, &mut directory, bag);
    plan(&mut scheduler);
    let of_task = |task| AllocationId { ask: AskId { job, stage: 0, task }, attempt: 1 };
    say(&mut scheduler, Input::over(of_task(0), Outcome::Succeeded));
    say(&mut scheduler, Input::over(of_task(1), Outcome::Failed { code: 1, cause: Cause::Exit }));
    plan(&mut scheduler);
    let told = explained(&mut scheduler, job);
    assert_eq!(
        told.sentences,
        [
            "Job 1 (sweep) has 1,500 tasks: 1,497 waiting, 2 running, 1 ended, 1 failed attempt.",
            "The first pending task retries in 10s: the last attempt failed with status 1."
        ]
    );
    assert_eq!(
        told.story[0].text,
        "task 1, attempt 1 failed with status 1; attempt 2 starts after a back-off of 10s"
    );
    let parts: Vec<(&str, &str)> =
        told.asks.iter().map(|ask| (ask.part.as_str(), ask.reason.as_str())).take(3).collect();
    assert_eq!(
        parts,
        [
            ("task 1", "retries in 10s: the last attempt failed with status 1"),
            ("task 2", "runs on 1 device"),
            ("task 3", "runs on 1 device"),
        ],
        "those that have ended are counted above"
    );
}

#[test]
fn a_task_that_waits_is_not_told_the_reason_of_another() {
    let (mut scheduler, mut directory) = house();
    let mut bag = JobSpec::gang("sweep", 1, Shape::any());
    bag.stages[0].form = Form::Bag { tasks: 4 };
    let job = submit(&mut scheduler, &mut directory, bag);
    plan(&mut scheduler);
    let shown = rows::detail(&scheduler.reading(), Time::ZERO, &|_| None, job).expect("it lives");
    let reasons: Vec<&str> = shown.asks.iter().map(|ask| ask.reason.as_str()).collect();
    let waits = "needs 1 device, 0 free, 2 held by job 1 (sweep)";
    assert_eq!(reasons, ["", "", waits, waits]);
    for task in [0, 1] {
        let allocation = AllocationId { ask: AskId { job, stage: 0, task }, attempt: 1 };
        say(&mut scheduler, Input::over(allocation, Outcome::Succeeded));
    }
    let shown = rows::detail(&scheduler.reading(), Time::ZERO, &|_| None, job).expect("it lives");
    assert_eq!((shown.job.state, shown.parts), (consort_api::shapes::State::Waiting, 4));
    assert_eq!(shown.job.reason, "starts with the next plan");
}

#[test]
fn a_preemption_is_told_to_both_and_by_the_event() {
    let (mut scheduler, mut directory) = house();
    let low = submit(&mut scheduler, &mut directory, JobSpec::gang("low", 2, Shape::any()));
    plan(&mut scheduler);
    let high = JobSpec { priority: 5, ..JobSpec::gang("high", 2, Shape::any()) };
    submit(&mut scheduler, &mut directory, high);
    let line = telling::line(7, &plan(&mut scheduler), None, &directory);
    assert_eq!(
        line.text,
        "attempt 1 of job 1 (low) is preempted for job 2 (high, tenant default): priority 5 over 0; \
         job 2 (high) is promised n[0-1]"
    );
    assert_eq!((line.numbers["stops"], line.numbers["promises"]), (1, 1));
    let stop = &line.changes[0];
    assert_eq!((stop.kind.as_str(), stop.job, stop.by), ("stop", Some(1), Some(2)));
    assert_eq!((stop.cause.as_deref(), stop.tenant.as_deref()), (Some("priority"), Some("default")));
    let start = &line.changes[1];
    assert_eq!(
        (start.kind.as_str(), start.devices, &start.nodes[..]),
        ("promise", 2, &["n".to_string()][..])
    );
    let told = explained(&mut scheduler, low);
    assert_eq!(told.sentences, ["Job 1 (low) needs 2 devices, 0 free, 2 held by job 2 (high)."]);
    assert_eq!(
        told.remedies,
        [
            "Submitted again with priority 6 instead of 0, it would start once jobs that it preempts have stopped."
        ]
    );
    let story = &told.story[0];
    assert_eq!((story.kind.as_str(), story.by, story.attempt), ("preempted", Some(2), 1));
    assert_eq!(story.text, "attempt 1 was preempted for job 2 (high, tenant default): priority 5 over 0");
    let shown = rows::detail(&scheduler.reading(), Time::ZERO, &|_| None, low).expect("it lives");
    assert_eq!(shown.story, told.story);
}

#[test]
fn an_event_names_its_actor() {
    let (mut scheduler, mut directory) = house();
    let job = submit(&mut scheduler, &mut directory, JobSpec::gang("work", 1, Shape::any()));
    let user = actor::User { uid: 1000, name: Some("ada".into()) };
    let event = say(&mut scheduler, Input::Cancel(job));
    let line = |actor| telling::line(9, &Event { actor, ..event.clone() }, None, &directory);
    let by_user = line(Some(Actor::Socket(user)));
    assert_eq!(by_user.text, "job 1 (work) was cancelled by ada");
    let actor = by_user.actor.expect("it is known");
    assert_eq!((actor.who.as_str(), actor.from.as_str()), ("ada", "socket"));
    let address = "127.0.0.1:9".into();
    let by_token = line(Some(Actor::Tcp { address, user: None }));
    assert_eq!(
        by_token.actor.map(|actor| (actor.who, actor.from)),
        Some(("token".into(), "127.0.0.1:9".into()))
    );
    assert_eq!(line(None).text, "job 1 (work) was cancelled");
    assert_eq!((line(None).actor, line(None).tenant.as_deref()), (None, Some("default")));
}
