//! A plan that breaks a rule is not carried out, and the daemon says so.

use consort_daemon::feed::Feed;
use consort_daemon::journal::{Batch, Journal};
use consort_daemon::mail::{Letter, mailbox};
use consort_daemon::meters::{Gauges, Meters};
use consort_daemon::replica::Replica;
use consort_daemon::run::{Parts, Run};
use consort_sched::{Draft, Policy};
use consort_types::*;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Starts one member of every gang.
struct Rogue;

impl Policy for Rogue {
    fn name(&self) -> &str {
        "rogue"
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        let Some(ask) = draft.view().waiting().next() else { return };
        let grants = vec![Grant { device: DeviceId(0), share: WHOLE, memory_bytes: 0 }];
        let fills = vec![Fill { shape: 0, count: 1 }];
        assert_eq!(draft.start(ask, Placement { fills, grants }), Ok(()), "the draft does not judge gangs");
    }
}

struct Nowhere;

impl World for Nowhere {
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
    fn desire(&mut self, _now: Time, changes: &[Desired]) {
        assert!(changes.is_empty(), "a rejected plan was carried out: {changes:?}");
    }
    fn next_at(&self) -> Option<Time> {
        None
    }
    fn observe(&mut self, _now: Time, _inputs: &mut Vec<Input>) {}
}

#[test]
fn rejected_plans_are_counted_and_the_last_few_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let opened =
        Journal::open(folder.path(), Arc::new(Rogue), Capabilities::default(), false).expect("opens");
    let (mut journal, mut scheduler) = (opened.0, opened.1.scheduler);
    let mut batch = Batch::default();
    let devices = vec![DeviceGroup { kind: "a".into(), count: 4, island: 0 }];
    for input in [
        Input::SetKind(KindSpec::named("a")),
        Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
        Input::SetQueue(QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] }),
        Input::NodeJoined(NodeSpec { name: "n".into(), devices, ..NodeSpec::default() }),
    ] {
        let event = scheduler.accept(Time::ZERO, input).expect("the set-up is in order");
        scheduler.apply(&event);
        batch.events.push(event);
    }
    journal.commit(&batch).expect("there is room");
    let (mailbox, letters) = mailbox();
    let (meters, feed) =
        (Arc::new(Meters::default()), Arc::new(Feed::new(journal.last(), Default::default())));
    let clock = consort_daemon::clock::Clock::start(Time::ZERO);
    let replica = Replica::start(scheduler.clone(), clock).expect("a thread");
    let (world, world_name, counts) = (Nowhere, "nowhere".into(), meters.clone());
    let (meters, replayed) = (counts.clone(), 0);
    let parts =
        Parts { scheduler, clock, world, journal, letters, feed, meters, replica, world_name, replayed };
    let meters = counts;
    let running = std::thread::spawn(move || Run::new(parts).run().map(drop));
    for _ in 0..20 {
        let (answer, accepted) = oneshot::channel();
        let job = Input::Submit(Arc::new(JobSpec::gang("j", 2, Shape::any())));
        mailbox
            .send(Letter::Input { input: job, work: None, actor: Actor::Scheduler, answer })
            .expect("room");
        accepted.blocking_recv().expect("it is answered").expect("it is accepted");
    }
    mailbox.send(Letter::Stop).expect("room");
    running.join().expect("it ends").expect("in order");
    let (count, last) = meters.rejections();
    assert!(count >= 20, "only {count} rejections");
    assert_eq!(last.len(), 8);
    assert_eq!(
        (last[0].rule.as_str(), last[0].why.as_str()),
        ("NotWhole", "move 1 (job 1): it starts a gang in part")
    );
    let text = meters.text(&Gauges::default(), true);
    assert!(text.contains(&format!("\nconsort_plans_rejected_total {count}\n")), "{text}");
}
