//! The journal: the ordered events, the only truth on disk.
//!
//! For: the loop, which hands over what happened in batches and goes on only once a batch is on disk.
//! Promises: [`Journal::commit`] returns after the disk has said yes. Events, what the jobs run, and the jobs that
//! ended go into one transaction, so none is there without the others. Opening recovers to the last whole event and
//! says what had to be dropped; what was acknowledged is never dropped silently.
//! Never: interprets an event, and never rewrites one.
//!
//! | read | for |
//! |---|---|
//! | [`bytes`] | how an event is written, and which versions can be read |
//! | `tables` | the SQLite file: what is in it, and how it is asked |
//! | `acknowledged` | how far clients were told yes, kept beside the journal |
//! | `salvage` | what to do when the file itself is damaged |
//! | [`snapshot`] | the state at one position, so that starting need not replay everything |
//! | [`history`] | jobs that have ended |

mod acknowledged;
pub mod bytes;
pub mod history;
mod salvage;
pub mod snapshot;
mod tables;

use crate::fault::Fault;
use acknowledged::Acknowledged;
use consort_sched::{Ended, Policy, Scheduler};
use consort_types::{Capabilities, Event, JobId, JobSpec, Work};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub use tables::Shelf;

/// Everything that becomes durable together.
#[derive(Default)]
pub struct Batch {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What the jobs submitted here run.
    pub works: Vec<(JobId, Submission)>,
    /// Jobs that ended here.
    pub ended: Vec<Ended>,
}

/// A submission that goes into a batch.
pub struct Submission {
    /// The position of its event.
    pub position: u64,
    /// What it runs.
    pub work: Work,
}

/// Why a batch is not on disk.
#[derive(Debug)]
pub enum NotCommitted {
    /// There is no room. Nothing of the batch is there; it may be tried again.
    Full,
    /// Anything else. Whoever goes on might lie.
    Broken(Fault),
}

/// The open journal.
pub struct Journal {
    connection: Connection,
    folder: PathBuf,
    /// The position of the last event on disk.
    last: u64,
    acknowledged: Acknowledged,
}

/// What was found when a journal was opened.
pub struct Recovered {
    /// The scheduler, as it was after the last event.
    pub scheduler: Scheduler,
    /// How many events were replayed on top of a snapshot.
    pub replayed: u64,
    /// What somebody should know.
    pub notes: Vec<String>,
}

/// The name of the file.
const FILE: &str = "journal.db";

impl Journal {
    /// Opens the journal in a data directory, or begins one, and rebuilds the state from it: `apply` only. A torn tail is
    /// cut off and told. Damage that would cost whole events behind it is a fault, unless their loss is accepted.
    pub fn open(
        folder: &Path,
        policy: Arc<dyn Policy>,
        capabilities: Capabilities,
        accept_loss: bool,
    ) -> Result<(Journal, Recovered), Fault> {
        let mut notes = vec![];
        let path = folder.join(FILE);
        salvage::finish(&path)?;
        let acknowledged = Acknowledged::open(folder)?;
        let mut journal = match tables::open(&path) {
            Ok(connection) => Journal { connection, folder: folder.into(), last: 0, acknowledged },
            Err(tables::Unreadable::Damaged(why)) => {
                let connection = mend(&path, &why, accept_loss, &mut notes)?;
                Journal { connection, folder: folder.into(), last: 0, acknowledged }
            }
            Err(other) => return Err(other.into_fault(&path)),
        };
        let rebuilt = journal.rebuild(&policy, capabilities, accept_loss, &mut notes);
        let (scheduler, replayed) = match rebuilt {
            Err(tables::Unreadable::Damaged(why)) => {
                let Journal { connection, folder, acknowledged, .. } = journal;
                drop(connection);
                let connection = mend(&path, &why, accept_loss, &mut notes)?;
                journal = Journal { connection, folder, last: 0, acknowledged };
                journal.rebuild(&policy, capabilities, accept_loss, &mut notes)
            }
            other => other,
        }
        .map_err(|error| error.into_fault(&path))?;
        journal.last = scheduler.view().seen();
        let promised = journal.acknowledged.position();
        if promised > journal.last {
            notes.push(format!(
                "the journal ends with event {}, but events up to {promised} had been acknowledged: {} lost, \
                 jobs among them may have to be submitted again",
                journal.last,
                promised - journal.last
            ));
            journal.acknowledged.set(journal.last);
        }
        Ok((journal, Recovered { scheduler, replayed, notes }))
    }

    fn rebuild(
        &mut self,
        policy: &Arc<dyn Policy>,
        capabilities: Capabilities,
        accept_loss: bool,
        notes: &mut Vec<String>,
    ) -> Result<(Scheduler, u64), tables::Unreadable> {
        let last = tables::last_position(&self.connection)?;
        let mut scheduler = match snapshot::read(&self.folder) {
            Ok(Some(saved)) if saved.seen() <= last => {
                Scheduler::restore(policy.clone(), capabilities, saved)
            }
            Ok(Some(saved)) => {
                notes.push(format!(
                    "the snapshot of event {} is ahead of the journal and was not used",
                    saved.seen()
                ));
                Scheduler::new(policy.clone(), capabilities)
            }
            Ok(None) => Scheduler::new(policy.clone(), capabilities),
            Err(why) => {
                notes.push(format!("the snapshot was not used, the whole journal is replayed: {why}"));
                Scheduler::new(policy.clone(), capabilities)
            }
        };
        let from = scheduler.view().seen();
        let end = tables::each_event(&self.connection, from, |_, event| {
            scheduler.apply(&event);
            scheduler.forget_outboxes();
        })?;
        if let Some(torn) = end {
            let kept = scheduler.view().seen();
            let behind = last.saturating_sub(kept + 1);
            if behind > 0 && !accept_loss {
                return Err(tables::Unreadable::Fault(Fault::new(
                    format!(
                        "event {} of the journal {torn}, and {behind} events behind it would be lost with it",
                        kept + 1
                    ),
                    "bring back a copy of the data directory, or accept the loss with --accept-loss",
                )));
            }
            let dropped = tables::drop_after(&mut self.connection, kept, &self.folder)?;
            tables::forget_endings(&mut self.connection, &scheduler)?;
            notes.push(format!(
                "event {} of the journal {torn}: recovered to event {kept}; {dropped} dropped and kept in \
                 journal.dropped",
                kept + 1
            ));
        }
        let replayed = scheduler.view().seen() - from;
        Ok((scheduler, replayed))
    }

    /// The position of the last event on disk.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Puts a batch on disk, whole or not at all. Returns once it is there.
    pub fn commit(&mut self, batch: &Batch) -> Result<(), NotCommitted> {
        if batch.events.is_empty() {
            return Ok(());
        }
        tables::commit(&mut self.connection, self.last, batch)?;
        self.last += batch.events.len() as u64;
        Ok(())
    }

    /// Whether the disk has more room than is kept for what is already under way: a tenth of it, at most 16 MiB.
    pub fn has_room(&self) -> bool {
        const KEPT: u64 = 16 << 20;
        match rustix::fs::statvfs(&self.folder) {
            Ok(disk) => {
                let (all, free) = (disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize);
                free >= KEPT.min(all / 10)
            }
            Err(_) => true, // then writing will tell
        }
    }

    /// Notes how far clients are about to be told yes.
    pub fn acknowledge(&mut self) {
        self.acknowledged.set(self.last);
    }

    /// A second pair of eyes on the same file, for readers.
    pub fn shelf(&self) -> Result<Shelf, Fault> {
        Shelf::open(&self.folder.join(FILE))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Carries what can be read of a damaged file over into a new one, if its loss is accepted.
fn mend(path: &Path, why: &str, accept_loss: bool, notes: &mut Vec<String>) -> Result<Connection, Fault> {
    if !accept_loss {
        return Err(Fault::new(
            format!("{} is damaged: {why}", path.display()),
            "bring back a copy of the data directory, or save what can be read with --accept-loss",
        ));
    }
    let told = salvage::salvage(path)?;
    notes.push(format!("the journal was damaged ({why}): {told}"));
    tables::open(path).map_err(|error| error.into_fault(path))
}

/// Rebuilds the state from a data directory that may be in use: from the first event, without a snapshot. `seen` is told
/// the position of each event, how many there are, and the event.
pub fn replay(
    folder: &Path,
    policy: Arc<dyn Policy>,
    capabilities: Capabilities,
    seen: &mut dyn FnMut(u64, u64, &Event),
) -> Result<Scheduler, Fault> {
    let shelf = Shelf::open(&folder.join(FILE))?;
    let last = shelf.last()?;
    let mut scheduler = Scheduler::new(policy, capabilities);
    let end = shelf.each_event(0, |position, event| {
        scheduler.apply(&event);
        seen(position, last, &event);
        scheduler.forget_outboxes();
    })?;
    match end {
        None => Ok(scheduler),
        Some(torn) => Err(Fault::new(
            format!("event {} of the journal {torn}", scheduler.view().seen() + 1),
            "start `consort up` on it, which recovers to the event before",
        )),
    }
}

/// Looks up what jobs run, for worlds that have to start it.
impl consort_types::Works for Shelf {
    fn find(&self, job: JobId) -> Result<(Arc<JobSpec>, Arc<Work>), String> {
        self.work(job)
            .map_err(|fault| fault.to_string())?
            .ok_or_else(|| format!("nobody knows what job {job} runs"))
    }
}
