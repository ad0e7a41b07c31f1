//! What the scheduler is told about the machine before the loop begins: its kinds, its node, and whoever has no name yet.
//!
//! Only what differs from what it already knows becomes an event, so starting twice adds nothing to the journal.

use crate::clock::Clock;
use crate::fault::Fault;
use crate::journal::{Batch, Journal, NotCommitted};
use consort_sched::Scheduler;
use consort_types::*;

/// Inputs that go through `accept`, `apply` and the disk before anybody is let in.
pub struct Introduction<'a> {
    scheduler: &'a mut Scheduler,
    clock: Clock,
    batch: Batch,
}

impl<'a> Introduction<'a> {
    /// Begins.
    pub fn to(scheduler: &'a mut Scheduler, clock: Clock) -> Self {
        Self { scheduler, clock, batch: Batch::default() }
    }

    /// The scheduler, as it is by now.
    pub fn scheduler(&self) -> &Scheduler {
        self.scheduler
    }

    /// Says something.
    pub fn say(&mut self, input: Input) -> Result<(), Fault> {
        let event = self.scheduler.accept(self.clock.now(), input).map_err(|refusal| {
            Fault::new(format!("this machine contradicts the journal: {}", refusal.subject), refusal.remedy)
        })?;
        self.scheduler.apply(&event);
        self.batch.ended.extend(self.scheduler.take_ended());
        self.batch.events.push(Event { actor: Some(Actor::Scheduler), ..event });
        Ok(())
    }

    /// The topology, and the numbers that decide what events mean, while there is no node yet. Written out in every new
    /// journal, so that a later version with other defaults reads it as it was meant.
    pub fn settings(&mut self, settings: Settings) -> Result<(), Fault> {
        match self.scheduler.view().nodes().next().is_none() && *self.scheduler.view().settings() != settings
        {
            true => self.say(Input::Configure(settings)),
            false => Ok(()),
        }
    }

    /// A kind of device. Memory that a new driver counts differently is not worth refusing to start for: what nodes
    /// rely on stays, and a note says so.
    pub fn kind(&mut self, kind: KindSpec, notes: &mut Vec<String>) -> Result<(), Fault> {
        let known =
            self.scheduler.view().kinds().find(|(_, known)| known.name == kind.name).map(|(_, k)| k.clone());
        match known {
            Some(known) if known == kind => Ok(()),
            Some(known) if self.scheduler.accept(self.clock.now(), Input::SetKind(kind.clone())).is_err() => {
                notes.push(format!(
                    "devices of kind {} now have {} bytes of memory; {} are still counted",
                    kind.name, kind.memory_bytes, known.memory_bytes
                ));
                Ok(())
            }
            _ => self.say(Input::SetKind(kind)),
        }
    }

    /// A tenant and a queue for whoever names none.
    pub fn defaults(&mut self) -> Result<(), Fault> {
        let view = self.scheduler.view();
        let (tenants, queues) = (view.tenants().count(), view.queues().count());
        if tenants == 0 {
            self.say(Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }))?;
        }
        if queues == 0 {
            let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
            self.say(Input::SetQueue(queue))?;
        }
        Ok(())
    }

    /// Puts it all on disk.
    pub fn finish(self, journal: &mut Journal) -> Result<(), Fault> {
        match journal.commit(&self.batch).and_then(|()| journal.acknowledge()) {
            Ok(()) => Ok(()),
            Err(NotCommitted::Broken(fault)) => Err(fault),
            Err(NotCommitted::Full) => {
                Err(Fault::new("the disk of the journal is full", "free some space, then start again"))
            }
        }
    }
}
