//! A data directory with a past: many jobs that were submitted, planned, started and ended, event by event.

use crate::failure::Failure;
use crate::up::outside;
use consort_daemon::journal::{Batch, Journal, NotCommitted, Submission};
use consort_sched::{Scheduler, stock};
use consort_types::*;
use std::path::Path;
use std::sync::Arc;

/// Jobs in one batch.
const TOGETHER: u64 = 500;

/// Lives through a number of jobs, a few hundred in each batch, and writes all of it down. Returns the number of events.
pub fn make(folder: &Path, jobs: u64) -> Result<u64, Failure> {
    let policy = stock::standard().policy();
    let (mut journal, recovered) =
        Journal::open(folder, policy, Capabilities::default(), false).map_err(outside)?;
    let mut past = Past { scheduler: recovered.scheduler, batch: Batch::default(), now: Time(0) };
    past.say(Input::SetKind(KindSpec::named("slot")));
    past.say(Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }));
    past.say(Input::SetQueue(QueueSpec {
        name: "default".into(),
        priority: 0,
        strict: false,
        tenants: vec![],
    }));
    let devices = vec![DeviceGroup { kind: "slot".into(), count: 16, island: 0 }];
    past.say(Input::NodeJoined(NodeSpec { name: "before".into(), devices, ..NodeSpec::default() }));
    let spec = Arc::new(JobSpec::gang("before", 1, Shape::any()));
    for done in 0..jobs {
        past.live(&spec);
        if (done + 1).is_multiple_of(TOGETHER) || done + 1 == jobs {
            past.commit(&mut journal)?;
        }
    }
    Ok(journal.last())
}

struct Past {
    scheduler: Scheduler,
    batch: Batch,
    now: Time,
}

impl Past {
    fn say(&mut self, input: Input) {
        self.now = self.now + Span(1_000_000);
        let event = self.scheduler.accept(self.now, input).expect("the past is in order");
        self.apply(event);
    }

    fn apply(&mut self, event: Event) {
        self.scheduler.apply(&event);
        self.scheduler.take_desires();
        self.batch.ended.extend(self.scheduler.take_ended());
        self.batch.events.push(event);
    }

    /// The whole life of one job.
    fn live(&mut self, spec: &Arc<JobSpec>) {
        let job = self.scheduler.view().next_job();
        self.say(Input::Submit(spec.clone()));
        let command = Command::Program(vec!["/bin/true".into()]);
        let work = Work::of(command, "/");
        self.batch.works.push((job, Submission { position: self.scheduler.view().seen(), work }));
        let plan = self.scheduler.plan(self.now);
        self.apply(Event::new(self.now, Fact::Planned(plan)));
        let allocation = AllocationId { ask: AskId::whole(job), attempt: 1 };
        self.say(Input::Started(allocation));
        self.say(Input::over(allocation, Outcome::Succeeded));
    }

    fn commit(&mut self, journal: &mut Journal) -> Result<(), Failure> {
        let batch = std::mem::take(&mut self.batch);
        match journal.commit(&batch).and_then(|()| journal.acknowledge()) {
            Ok(()) => Ok(()),
            Err(NotCommitted::Broken(fault)) => Err(outside(fault)),
            Err(NotCommitted::Full) => Err(Failure::Outside("the disk is full; free some space".into())),
        }
    }
}
