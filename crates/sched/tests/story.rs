//! What a job's owner is told: what happened to the job, and what would let it start.

use consort_sched::{Scheduler, stock};
use consort_types::*;
use std::sync::Arc;

struct House {
    scheduler: Scheduler,
    now: Time,
}

impl House {
    /// Two nodes, one of kind `a` and one of kind `b`, with two devices each; tenant blue is guaranteed one of each kind.
    fn new() -> Self {
        let policy = stock::find("priority").expect("a stock policy").policy();
        let mut house = House { scheduler: Scheduler::new(policy, Capabilities::default()), now: Time::ZERO };
        for kind in ["a", "b"] {
            house.say(Input::SetKind(KindSpec::named(kind)));
        }
        let quota = |kind: &str| Quota { kind: kind.into(), guarantee: 1, ceiling: None };
        for (name, quotas) in [("red", vec![]), ("blue", vec![quota("a"), quota("b")])] {
            house.say(Input::SetTenant(TenantSpec { name: name.into(), quotas }));
        }
        let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
        house.say(Input::SetQueue(queue));
        for kind in ["a", "b"] {
            let devices = vec![DeviceGroup { kind: kind.into(), count: 2, island: 0 }];
            house.say(Input::NodeJoined(NodeSpec {
                name: format!("n-{kind}"),
                devices,
                ..NodeSpec::default()
            }));
        }
        house
    }

    fn say(&mut self, input: Input) {
        let event = self.scheduler.accept(self.now, input).expect("the story is in order");
        self.scheduler.apply(&event);
        self.now = self.now + Span::seconds(1);
    }

    /// Submits, plans, and does what is desired.
    fn submit(&mut self, name: &str, tenant: &str, count: u32, priority: i32) -> JobId {
        let spec = JobSpec::gang(name, count, Shape::of("a"));
        let job = self.scheduler.view().next_job();
        let spec =
            JobSpec { tenant: tenant.into(), priority, retries: 2, backoff: Span::seconds(10), ..spec };
        self.say(Input::Submit(Arc::new(spec)));
        self.settle();
        job
    }

    fn settle(&mut self) {
        loop {
            let plan = self.scheduler.plan(self.now);
            if plan.is_empty() {
                return;
            }
            self.scheduler.apply(&Event::new(self.now, Fact::Planned(plan)));
            for desired in self.scheduler.take_desires() {
                match desired.wanted {
                    Wanted::Run { .. } => self.say(Input::Started(desired.allocation)),
                    Wanted::Gone => self.say(Input::over(desired.allocation, Outcome::Stopped)),
                }
            }
            for desired in self.scheduler.take_desires() {
                self.say(Input::Started(desired.allocation));
            }
        }
    }

    fn story(&self, job: JobId) -> Vec<String> {
        let view = self.scheduler.view();
        let job = view.job(job).expect("it lives");
        job.story().entries().iter().map(|entry| entry.told(job.spec())).collect()
    }

    fn remedies(&mut self, job: JobId) -> Vec<String> {
        let (now, before) = (self.now, self.scheduler.state_hash());
        let told = self.scheduler.reading().remedies(now, job).iter().map(ToString::to_string).collect();
        assert_eq!(self.scheduler.state_hash(), before, "asking changes nothing");
        told
    }
}

fn attempt(job: JobId, attempt: u32) -> AllocationId {
    AllocationId { ask: AskId::whole(job), attempt }
}

#[test]
fn a_preempted_job_says_for_whom_and_by_which_rule() {
    let mut house = House::new();
    let first = house.submit("first", "red", 2, 0);
    let urgent = house.submit("urgent", "red", 2, 5);
    assert_eq!(
        house.story(first),
        ["attempt 1 was preempted for job 2 (urgent, tenant red): priority 5 over 0"]
    );
    house.submit("owed", "blue", 1, 0);
    assert_eq!(
        house.story(urgent),
        ["attempt 1 was preempted for job 3 (owed, tenant blue): guarantee of blue, 0 of 1 devices used"]
    );
}

#[test]
fn failures_unhealthy_devices_and_lost_nodes_are_told_in_order() {
    let mut house = House::new();
    let job = house.submit("work", "red", 1, 0);
    let outcome = Outcome::Failed { code: 137, cause: Cause::Exit };
    house.say(Input::over(attempt(job, 1), outcome));
    house.now = house.now + Span::seconds(60);
    house.settle();
    let ill = (0..2).map(|device| Illness { device, why: "Xid 79".into() }).collect();
    house.say(Input::DeviceHealth { node: NodeId(0), ill });
    house.say(Input::over(attempt(job, 2), Outcome::Stopped));
    house.say(Input::DeviceHealth { node: NodeId(0), ill: vec![] });
    house.settle();
    house.say(Input::Pause(job));
    house.say(Input::over(attempt(job, 3), Outcome::Stopped));
    house.say(Input::Resume(job));
    house.settle();
    house.say(Input::NodeFenced(NodeId(0)));
    assert_eq!(
        house.story(job),
        [
            "attempt 1 failed with status 137; attempt 2 starts after a back-off of 10s",
            "attempt 2 is up",
            "attempt 2 was moved off device 0 of node n-a: unhealthy (Xid 79)",
            "attempt 3 is up",
            "paused",
            "resumed",
            "attempt 4 is up",
            "attempt 4 lost node n-a",
        ]
    );
}

#[test]
fn an_ended_job_takes_its_story_along() {
    let mut house = House::new();
    let job = house.submit("work", "red", 1, 0);
    for number in 1..=3 {
        house.say(Input::over(attempt(job, number), Outcome::Failed { code: 3, cause: Cause::Exit }));
        house.now = house.now + Span::seconds(3600);
        house.settle();
    }
    let ended = house.scheduler.take_ended().pop().expect("no retries left");
    let last = ended.story.entries().last().expect("it has a story");
    assert_eq!(last.told(&ended.spec), "attempt 3 failed with status 3; no retries left");
}

#[test]
fn fewer_processors_and_less_memory_are_remedies() {
    let mut house = House::new();
    let host = |cpus: u64, gib: u64| Host { cpu_milli: cpus * 1000, memory_bytes: gib << 30 };
    let devices = vec![DeviceGroup { kind: "a".into(), count: 4, island: 0 }];
    house.say(Input::Drain(NodeId(0))); // it does not say what it has, so nothing is short there
    house.say(Input::NodeJoined(NodeSpec {
        name: "n".into(),
        devices,
        host: host(16, 64),
        ..NodeSpec::default()
    }));
    let submit = |house: &mut House, name: &str, host: Host| {
        let spec = JobSpec::gang(name, 1, Shape { host, ..Shape::of("a") });
        let spec = JobSpec { tenant: "red".into(), qos: Qos::Guaranteed, ..spec };
        let job = house.scheduler.view().next_job();
        house.say(Input::Submit(Arc::new(spec)));
        house.settle();
        job
    };
    submit(&mut house, "holder", host(10, 40));
    let job = submit(&mut house, "cpus", host(8, 0));
    let undrain = "`consort nodes undrain n-a` lets it start.";
    let cpus = "Submitted again with 6 cpus instead of 8 cpus, it would start.";
    assert_eq!(house.remedies(job), [undrain, "Submitted again for kind b, it would start.", cpus]);
    house.say(Input::Cancel(job));
    let job = submit(&mut house, "memory", host(1, 32));
    let memory =
        "Submitted again with 24 GiB of host memory instead of 32 GiB of host memory, it would start.";
    assert!(house.remedies(job).contains(&memory.into()), "{:?}", house.remedies(job));
    house.say(Input::Cancel(job));
    // At a ceiling as well.
    let quota = Quota { kind: "cpus".into(), guarantee: 0, ceiling: Some(13) };
    house.say(Input::SetTenant(TenantSpec { name: "red".into(), quotas: vec![quota] }));
    let job = submit(&mut house, "over", host(5, 0));
    let reason = house.scheduler.explain(house.now, job).expect("it lives").asks[0].1.to_string();
    assert_eq!(reason, "tenant red is limited to 13 cpus: 10 in use, 5 more needed");
    assert_eq!(house.remedies(job), ["Submitted again with 3 cpus instead of 5 cpus, it would start."]);
}

#[test]
fn remedies_are_named_only_where_they_help() {
    let mut house = House::new();
    house.submit("holder", "red", 2, 0);
    let waits = house.submit("waits", "red", 2, 0);
    assert_eq!(
        house.remedies(waits),
        ["Submitted again for kind b, it would start."],
        "a higher priority would take from others: it is named only where nothing else helps"
    );
    house.say(Input::Drain(NodeId(1)));
    let urgent = house.submit("urgent", "red", 2, 9);
    assert_eq!(
        house.remedies(waits),
        [
            "Submitted again with priority 10 instead of 0, it would start once jobs that it preempts have stopped."
        ],
        "kind b is drained, and no job of kind a waits for that"
    );
    assert!(house.remedies(urgent).is_empty(), "it runs");
    // Half of a node is free: narrower starts.
    let mut house = House::new();
    house.submit("holder", "red", 1, 7);
    let wide = house.submit("wide", "red", 2, 7);
    assert!(
        house.remedies(wide).contains(&"Submitted again with 1 instead of 2 workers, it would start.".into())
    );
    house.say(Input::Pause(wide));
    assert_eq!(house.remedies(wide), ["`consort resume 2` puts it back in its queue."]);
    // Only time helps a job that backs off.
    let mut house = House::new();
    let job = house.submit("work", "red", 1, 0);
    house.say(Input::over(attempt(job, 1), Outcome::Failed { code: 1, cause: Cause::Exit }));
    assert!(house.remedies(job).is_empty());
    // A drained node holds it up, and so does a pause.
    let mut house = House::new();
    house.say(Input::Drain(NodeId(0)));
    let job = house.submit("work", "red", 2, 0);
    assert!(house.remedies(job).contains(&"`consort nodes undrain n-a` lets it start.".into()));
    house.say(Input::Undrain(NodeId(0)));
    house.say(Input::Pause(job));
    assert_eq!(house.remedies(job), ["`consort resume 1` starts it."]);
    house.say(Input::Resume(job));
    assert!(house.remedies(job).is_empty(), "it starts without help");
}
