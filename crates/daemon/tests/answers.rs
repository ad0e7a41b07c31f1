//! Nobody is answered from a batch that is not on disk.

use consort_daemon::feed::Feed;
use consort_daemon::journal::{Batch, Journal};
use consort_daemon::mail::{Letter, mailbox};
use consort_daemon::meters::Meters;
use consort_daemon::replica::Replica;
use consort_daemon::run::{Parts, Run};
use consort_sched::stock;
use consort_types::*;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A world without nodes.
struct Nowhere;

impl World for Nowhere {
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
    fn desire(&mut self, _now: Time, _changes: &[Desired]) {}
    fn next_at(&self) -> Option<Time> {
        None
    }
    fn observe(&mut self, _now: Time, _inputs: &mut Vec<Input>) {}
}

#[test]
fn the_end_of_a_job_is_not_told_before_it_is_on_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let opened = Journal::open(folder.path(), stock::standard().policy(), Capabilities::default(), false)
        .expect("it opens");
    let (mut journal, mut scheduler) = (opened.0, opened.1.scheduler);
    let mut batch = Batch::default();
    for input in [
        Input::SetKind(KindSpec::named("a")),
        Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
        Input::SetQueue(QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] }),
        Input::NodeJoined(NodeSpec {
            name: "n".into(),
            domains: vec![],
            devices: vec![DeviceGroup { kind: "a".into(), count: 1, island: 0 }],
            features: vec![],
            host: Host::NONE,
        }),
        Input::Submit(Arc::new(JobSpec::gang("j", 1, Shape::any()))),
    ] {
        let event = scheduler.accept(Time::ZERO, input).expect("the story is in order");
        scheduler.apply(&event);
        batch.events.push(event);
    }
    journal.commit(&batch).expect("there is room");
    let job = JobId(scheduler.view().next_job().0 - 1);
    // The disk breaks, and then somebody ends the job while somebody else waits for its end.
    let other = rusqlite::Connection::open(folder.path().join("journal.db")).expect("it opens");
    other.execute_batch("DROP TABLE event").expect("it is there");
    let (mailbox, letters) = mailbox();
    let (cancelled, mut answer) = oneshot::channel();
    let (ended, mut end) = oneshot::channel();
    let (input, actor) = (Input::Cancel(job), Actor::Scheduler);
    mailbox.send(Letter::Input { input, work: None, actor, answer: cancelled }).expect("room");
    mailbox.send(Letter::Wait { job, answer: ended }).expect("room");
    let feed = Arc::new(Feed::new(journal.last(), Directory::default()));
    let clock = consort_daemon::clock::Clock::start(Time::ZERO);
    let replica = Replica::start(scheduler.clone(), clock).expect("a thread");
    let meters = Arc::new(Meters::default());
    let (world, world_name, replayed) = (Nowhere, "nowhere".into(), 0);
    let parts =
        Parts { scheduler, clock, world, journal, letters, feed, meters, replica, world_name, replayed };
    assert!(Run::new(parts).run().is_err(), "a commit that fails ends the loop");
    assert!(answer.try_recv().is_err(), "the request was answered");
    assert!(end.try_recv().is_err(), "the end of the job was told");
}
