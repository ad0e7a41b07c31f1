//! The journal: the ordered events, the only truth on disk.
//!
//! For: the loop, which hands over what happened in batches and goes on only once a batch is on disk.
//! Promises: [`Journal::commit`] returns after the disk has said yes. Events, what the jobs run, and the jobs that
//! ended go into one transaction, so none is there without the others. Opening refuses a journal from which anything
//! acknowledged is missing, unless its loss is accepted; then no job is started whose end is uncertain.
//! Never: interprets an event, and never rewrites one.
//!
//! | read | for |
//! |---|---|
//! | [`bytes`] | how an event is written, and which versions can be read |
//! | `tables` | the SQLite file: what is in it, and how it is asked |
//! | `acknowledged` | how far clients were told yes, kept beside the journal |
//! | `extent` | whether the file was cut short |
//! | `identity` | whether files belong together |
//! | `files` | whether the open files still lie at their paths |
//! | `recover` | what is there, and whether anything acknowledged is missing |
//! | `lost` | which settings are gone with events that are |
//! | `salvage` | damaged files are kept, and what can be read of them is carried over |
//! | `uncertain` | jobs that are paused because events behind some position are gone |
//! | [`snapshot`] | the state at one position, so that starting need not replay everything |
//! | [`backup`] | a copy of a journal in use, and the way back |
//! | [`history`] | jobs that have ended |

mod acknowledged;
pub mod backup;
pub mod bytes;
mod extent;
mod files;
pub mod history;
mod identity;
mod lost;
mod recover;
mod salvage;
pub mod snapshot;
mod tables;
mod uncertain;

use crate::fault::Fault;
use acknowledged::Acknowledged;
use consort_api::shapes::RanOn;
use consort_sched::{Ended, Policy, Saved, Scheduler};
use consort_types::{Capabilities, Event, JobId, JobSpec, Work};
use files::Files;
pub use identity::Identity;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use std::collections::BTreeMap;
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
    /// Where their last attempts ran, as far as that is known.
    pub ran_on: BTreeMap<JobId, RanOn>,
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
    /// Anything else: going on could acknowledge what is not on disk.
    Broken(Fault),
}

/// The open journal.
pub struct Journal {
    connection: Connection,
    folder: PathBuf,
    /// The position of the last event on disk.
    last: u64,
    acknowledged: Acknowledged,
    identity: Identity,
    files: Files,
}

/// What was found when a journal was opened.
pub struct Recovered {
    /// The scheduler, as it was after the last event.
    pub scheduler: Scheduler,
    /// How many events were replayed on top of a snapshot.
    pub replayed: u64,
    /// What somebody should know.
    pub notes: Vec<String>,
    /// Whether there is a snapshot of this journal that this version of the program wrote.
    pub has_snapshot: bool,
    /// Which journal it is.
    pub identity: Identity,
}

impl Recovered {
    /// Writes a snapshot before anything else is written, unless there is one of this version: from then on an older
    /// program refuses the directory instead of misreading what this one adds. Without room for it the daemon goes on, since
    /// running work matters more, and says so.
    pub fn renew_snapshot(&mut self, folder: &Path) {
        if !self.has_snapshot
            && let Err(fault) = snapshot::write(folder, &self.scheduler.save(), self.identity)
        {
            self.notes.push(format!(
                "no snapshot was written, so older versions do not refuse this directory: {fault}"
            ));
        }
    }
}

/// The name of the file.
const FILE: &str = "journal.db";

/// What helps where acknowledged events are missing.
const REMEDY: &str = "bring back a copy of the data directory or `consort restore` a backup into another one; or go \
                      on with what can be read with --accept-loss, which pauses every job that has not ended in it";

impl Journal {
    /// Opens the journal in a data directory, or begins one, and rebuilds the state from it: `apply` only. A torn tail of
    /// which no client was told is cut off with a note. Anything else that is missing is a fault, and no file is changed,
    /// unless the loss is accepted: then the damaged files are kept, and jobs whose end is uncertain are paused.
    pub fn open(
        folder: &Path,
        policy: Arc<dyn Policy>,
        capabilities: Capabilities,
        accept_loss: bool,
    ) -> Result<(Journal, Recovered), Fault> {
        let path = folder.join(FILE);
        backup::require_finished(folder)?;
        salvage::finish(&path)?;
        let mut reading = recover::read(&path, &policy, capabilities)?;
        let loss = reading.loss(acknowledged::read(folder)?, &path);
        let mut notes = vec![];
        if let Some(why) = &loss {
            if !accept_loss {
                return Err(Fault::new(why, REMEDY));
            }
            let kept = reading.kept();
            let settings =
                lost::settings(&reading.scheduler, reading.connection.as_ref(), reading.ahead.as_deref());
            let is_whole = reading.connection.is_some() && reading.torn.is_none();
            drop(reading);
            let (told, aside) = salvage::set_aside(&path, is_whole)?;
            notes.push(format!("{why}; {told}; jobs among what was lost may have to be submitted again"));
            notes.push(lost::note(kept, &settings));
            reading = recover::read(&path, &policy, capabilities)?;
            salvage::set_logs_aside(&path, &aside, reading.scheduler.view().next_job())?;
        }
        let (journal, mut recovered) = Self::go_on(folder, reading, loss.as_deref())?;
        notes.append(&mut recovered.notes);
        notes.extend(uncertain::note(folder, &recovered.scheduler));
        Ok((journal, Recovered { notes, ..recovered }))
    }

    /// Prepares what was read for writing.
    fn go_on(
        folder: &Path,
        reading: recover::Reading,
        loss: Option<&str>,
    ) -> Result<(Journal, Recovered), Fault> {
        let path = folder.join(FILE);
        let kept = reading.kept();
        let recover::Reading {
            connection,
            mut scheduler,
            replayed,
            mut notes,
            torn,
            has_snapshot,
            identity,
            ..
        } = reading;
        // After a loss it is another journal, to which no file of the old one belongs.
        let identity = identity.filter(|_| loss.is_none()).map_or_else(Identity::draw, Ok)?;
        let begin = |position| Acknowledged::begin(folder, position, identity);
        // A new journal never exists without the mark: a crash before the first commit must not look like a loss.
        let mut begun = match (loss, &connection) {
            (None, None) => Some(begin(kept)?),
            _ => None,
        };
        let prepared = match connection {
            Some(connection) => tables::prepare(&connection).map(|()| connection),
            None => tables::open(&path),
        };
        let mut connection = prepared.map_err(|error| error.into_fault(&path))?;
        tables::identify(&connection, identity)?;
        if loss.is_none() && begun.is_none() {
            begun = Some(begin(kept)?);
        }
        if let Some(torn) = torn {
            let event = kept + 1;
            let dropped = tables::drop_after(&mut connection, kept, folder);
            let dropped = dropped.map_err(|error| error.into_fault(&path))?;
            tables::forget_endings(&mut connection, &scheduler)?;
            notes.push(format!(
                "event {event} of the journal {torn}: recovered to event {kept}; {dropped} dropped and kept in \
                 journal.dropped"
            ));
        }
        if let Some(lost) = loss {
            uncertain::pause_all(folder, &mut connection, &mut scheduler, lost)?;
        }
        let last = scheduler.view().seen();
        // After the pauses are on disk: a crash before this point is refused once more, and nothing runs.
        let acknowledged = begun.map_or_else(|| begin(last), Ok)?;
        let files = Files::of(&path);
        let journal = Journal { connection, folder: folder.into(), last, acknowledged, identity, files };
        Ok((journal, Recovered { scheduler, replayed, notes, has_snapshot, identity }))
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

    /// Whether what is written still reaches the files that the next start reads. Where it does not, nothing may be
    /// acknowledged any more.
    pub fn require_files(&mut self) -> Result<(), Fault> {
        self.files.check().inspect_err(|_| {
            // What lies at the paths now is not ours to tidy up when the connection is closed.
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        })
    }

    /// Writes a snapshot of this journal beside it.
    pub fn write_snapshot(&self, saved: &Saved) -> Result<u64, Fault> {
        snapshot::write(&self.folder, saved, self.identity)
    }

    /// Which journal it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Notes how far clients are about to be told yes. Nobody may be told before this has succeeded.
    pub fn acknowledge(&mut self) -> Result<(), NotCommitted> {
        self.require_files().map_err(NotCommitted::Broken)?;
        self.acknowledged.set(self.last).map_err(|error| match error.kind() {
            std::io::ErrorKind::StorageFull => NotCommitted::Full,
            _ => NotCommitted::Broken(Fault::at(&self.folder.join(acknowledged::FILE), &error)),
        })
    }

    /// Moves everything into `journal.db`, so that a clean stop leaves no log beside it, and waits for the disk.
    pub fn close(self) -> Result<(), Fault> {
        let path = self.folder.join(acknowledged::FILE);
        self.acknowledged.sync().map_err(|error| Fault::at(&path, &error))?;
        Ok(tables::take_in_log(&self.connection)?)
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

/// Rebuilds the state from a data directory that may be in use: from the first event, without a snapshot. `seen` is told
/// the position of each event, how many there are, and the event.
pub fn replay(
    folder: &Path,
    policy: Arc<dyn Policy>,
    capabilities: Capabilities,
    seen: &mut dyn FnMut(u64, u64, &Event),
) -> Result<Scheduler, Fault> {
    if let snapshot::Found::Newer(layout) = snapshot::read(folder) {
        return Err(snapshot::newer(folder, layout));
    }
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
            "start `consort up` on it, which recovers up to the event before",
        )),
    }
}

/// Looks up what jobs run, for worlds that have to start it.
impl consort_types::Works for Shelf {
    fn find(&self, job: JobId) -> Result<(Arc<JobSpec>, Arc<Work>), String> {
        self.work(job)
            .map_err(|fault| fault.to_string())?
            .ok_or_else(|| format!("the journal has no command for job {job}"))
    }
}
