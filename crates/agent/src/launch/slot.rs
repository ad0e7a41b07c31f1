//! The folder of one worker, its record, and what can be told from both.
//!
//! The folder holds what the worker needs and is known to it. The record, which says what became of the worker, lies
//! elsewhere (`RECORD_DIR/12.0.0#1.w0`), so that a job that clears away its own folder does not take along what is known
//! of it. Jobs run as our user, so that neither place is safe from a job that means harm: everything here is read through
//! [`crate::untrusted`].
//!
//! For: whoever comes back after a crash sees at a glance what to do about each worker.
//! Promises: what is seen stays true until a shim or this daemon adds a record; names of folders can be turned back
//! into ids. An ending is not shown while the shim that is to write it lives.
//! Never: takes the lock to have a look: a shim that is just starting would think that another is alive.

use crate::launch::Order;
use crate::process;
use crate::status::{self, Claim, Exited, Lost, Record, Started};
use crate::untrusted;
use consort_types::{AllocationId, AskId, JobId};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    folder: PathBuf,
    record: PathBuf,
}

/// What a look at a slot shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// No shim has taken it on, as far as one can see. One may be just about to.
    Open {
        /// An order is there.
        ordered: bool,
    },
    /// Its shim is alive.
    Live(Started),
    /// Its shim died without a word. Something of the worker may be left.
    Orphaned(Started),
    /// Nothing of it is left, if the record is to be believed.
    Exited(Exited),
    /// It was never run and never will be.
    Void,
    /// It was ordered before the machine last went down. Whether it ran cannot be told any more; it does not run now.
    Bygone,
    /// Something is in the place of the record that no shim put there. The worker may have run, and may run.
    Spoiled(String),
}

impl Slot {
    /// The slot of a worker of this allocation. Both folders must be canonical.
    pub fn new(run_dir: &Path, record_dir: &Path, allocation: AllocationId, rank: u32) -> Self {
        Self {
            folder: run_dir.join(allocation_name(allocation)).join(format!("w{rank}")),
            record: record_dir.join(record_name(allocation, rank)),
        }
    }

    /// The slot in a folder, with its record beside the order: as older daemons have it.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { record: folder.join("status"), folder }
    }

    /// The same slot with its record where its order says.
    pub fn recorded_as(self, order: &Order) -> Self {
        Self { record: order.record.clone().unwrap_or(self.record), ..self }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where its order lies.
    pub fn order(&self) -> PathBuf {
        self.folder.join("launch.json")
    }

    /// The file that says what became of the worker.
    pub fn record(&self) -> &Path {
        &self.record
    }

    /// Where the text of a script is put.
    pub fn script(&self) -> PathBuf {
        self.folder.join("script")
    }

    /// What says that the gang is whole. All workers of an allocation look at the same place.
    pub fn go(&self) -> PathBuf {
        self.folder.parent().unwrap_or(Path::new("/")).join("go")
    }

    /// What can be told from here.
    pub fn look(&self) -> io::Result<Sight> {
        let records = match status::read(&self.record) {
            Ok(records) => records,
            // A disk that fails may come back. What a job has put there stays.
            Err(error) if is_spoiled(&error) => return Ok(Sight::Spoiled(error.to_string())),
            Err(error) => return Err(error),
        };
        if records.contains(&Record::Void) {
            return Ok(Sight::Void);
        }
        match (started(&records), exited(&records)) {
            (Some(started), _) if process::is_shim_of(&started.shim, &self.folder) => {
                Ok(Sight::Live(started))
            }
            (Some(_), Some(exited)) => Ok(Sight::Exited(exited)),
            (Some(started), None) => self.last_word(started),
            (None, Some(_)) => Ok(Sight::Spoiled("it has the end of the worker but not its start".into())),
            (None, None) => self.look_at_order(),
        }
    }

    /// Output that the worker wrote and that was not kept, according to its record.
    pub fn lost(&self) -> Option<Lost> {
        status::read(&self.record).unwrap_or_default().into_iter().find_map(|record| match record {
            Record::Lost(lost) => Some(lost),
            _ => None,
        })
    }

    /// The shim is gone. It may have written its last word between our two looks.
    fn last_word(&self, started: Started) -> io::Result<Sight> {
        if started.shim.boot != process::boot() {
            return Ok(Sight::Bygone);
        }
        let records = status::read(&self.record).unwrap_or_default();
        Ok(exited(&records).map_or(Sight::Orphaned(started), Sight::Exited))
    }

    fn look_at_order(&self) -> io::Result<Sight> {
        match Order::read(&self.order()) {
            Ok(Some(order)) if order.boot == process::boot() => Ok(Sight::Open { ordered: true }),
            Ok(_) => Ok(Sight::Bygone),
            // Something else in its place is replaced, if that can be done.
            Err(error) if is_spoiled(&error) || error.kind() == io::ErrorKind::NotFound => {
                Ok(Sight::Open { ordered: false })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes sure that no shim will ever take it on. False if one is doing so at this moment, or has done so.
    pub fn close(&self) -> io::Result<bool> {
        match status::claim(&self.record)? {
            Claim::Ours(mut held) => held.append(&Record::Void).map(|()| true),
            Claim::Taken => Ok(false),
            Claim::Spent(records) => Ok(records.contains(&Record::Void)),
        }
    }

    /// Whether anything is in the place of its record.
    pub fn is_recorded(&self) -> bool {
        let (base, name) = untrusted::rooted(&self.record);
        untrusted::exists(base, name)
    }
}

fn started(records: &[Record]) -> Option<Started> {
    records.iter().find_map(|record| match record {
        Record::Started(started) => Some(started.clone()),
        _ => None,
    })
}

fn exited(records: &[Record]) -> Option<Exited> {
    records.iter().find_map(|record| match record {
        Record::Exited(exited) => Some(*exited),
        _ => None,
    })
}

/// Whether this error is the doing of a job and not of a disk.
fn is_spoiled(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, PermissionDenied};
    matches!(error.kind(), InvalidData | PermissionDenied | NotADirectory | IsADirectory)
}

/// The record of a worker: `12.0.0#1.w0`.
pub fn record_name(allocation: AllocationId, rank: u32) -> String {
    format!("{}.w{rank}", allocation_name(allocation))
}

/// The worker whose record this is.
pub fn recorded_in(name: &str) -> Option<(AllocationId, u32)> {
    let (allocation, rank) = name.rsplit_once(".w")?;
    let (allocation, rank) = (allocation_of(allocation)?, rank.parse().ok()?);
    (record_name(allocation, rank) == name).then_some((allocation, rank))
}

/// The folder of an allocation: `12.0.0#1`.
pub fn allocation_name(allocation: AllocationId) -> String {
    let AskId { job, stage, task } = allocation.ask;
    format!("{}.{stage}.{task}#{}", job.0, allocation.attempt)
}

/// The allocation whose folder this is.
pub fn allocation_of(name: &str) -> Option<AllocationId> {
    let (ask, attempt) = name.split_once('#')?;
    let mut parts = ask.split('.');
    let job = JobId(parts.next()?.parse().ok()?);
    let (stage, task) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let allocation = AllocationId { ask: AskId { job, stage, task }, attempt: attempt.parse().ok()? };
    (parts.next().is_none() && allocation_name(allocation) == name).then_some(allocation)
}

/// Where the output of a worker goes when nobody named a file: `LOG_DIR/12/0.0#1.w0.log`.
pub fn log_path(log_dir: &Path, allocation: AllocationId, rank: u32) -> PathBuf {
    let AskId { job, stage, task } = allocation.ask;
    log_dir.join(job.0.to_string()).join(format!("{stage}.{task}#{}.w{rank}.log", allocation.attempt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Identity;

    fn allocation(job: u64, stage: u16, task: u32, attempt: u32) -> AllocationId {
        AllocationId { ask: AskId { job: JobId(job), stage, task }, attempt }
    }

    #[test]
    fn names_of_folders_can_be_turned_back() {
        for id in [allocation(12, 0, 0, 1), allocation(u64::MAX, 3, 70_000, 9)] {
            assert_eq!(allocation_of(&allocation_name(id)), Some(id));
        }
        assert_eq!(allocation_name(allocation(12, 0, 0, 1)), "12.0.0#1");
        assert_eq!(record_name(allocation(12, 0, 0, 1), 3), "12.0.0#1.w3");
        assert_eq!(recorded_in("12.0.0#1.w3"), Some((allocation(12, 0, 0, 1), 3)));
        assert_eq!((recorded_in("12.0.0#1.w03"), recorded_in("boot")), (None, None));
        for name in ["", "12", "12#1", "12.0#1", "12.0.0.0#1", "012.0.0#1", "12.0.0#", "lost+found"] {
            assert_eq!(allocation_of(name), None, "{name}");
        }
    }

    /// A slot in a folder of its own, not yet begun.
    fn slot(dir: &tempfile::TempDir) -> Slot {
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("1.0.0#1/w0")).unwrap();
        Slot::new(&base, &base, allocation(1, 0, 0, 1), 0)
    }

    fn write(slot: &Slot, records: &[Record]) {
        let text: Vec<u8> = records.iter().flat_map(status::line).collect();
        std::fs::write(slot.record(), text).unwrap();
    }

    fn begun(shim: Identity) -> Record {
        Record::Started(Started::by(shim))
    }

    const SUCCESS: Record =
        Record::Exited(Exited { code: 0, cause: consort_types::Cause::Exit, stopped: false, at_ms: 1 });

    #[test]
    fn a_slot_that_was_closed_stays_closed() {
        let dir = tempfile::tempdir().unwrap();
        let slot = slot(&dir);
        assert_eq!(slot.look().unwrap(), Sight::Open { ordered: false });
        assert!(slot.close().unwrap());
        assert!(slot.close().unwrap());
        assert_eq!(slot.look().unwrap(), Sight::Void);
    }

    #[test]
    fn a_slot_whose_lock_is_held_cannot_be_closed() {
        let dir = tempfile::tempdir().unwrap();
        let slot = slot(&dir);
        let held = status::claim(slot.record()).unwrap();
        assert!(!slot.close().unwrap());
        drop(held);
        assert!(slot.close().unwrap());
    }

    #[test]
    fn a_number_in_a_record_is_not_believed_to_be_a_shim() {
        let dir = tempfile::tempdir().unwrap();
        let slot = slot(&dir);
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = other.id() as i32;
        let started = begun(Identity::of(pid).unwrap());
        write(&slot, std::slice::from_ref(&started));
        assert!(matches!(slot.look().unwrap(), Sight::Orphaned(_)));
        write(&slot, &[started, SUCCESS]);
        assert!(matches!(slot.look().unwrap(), Sight::Exited(_)));
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn an_ending_is_not_shown_while_its_shim_lives() {
        let dir = tempfile::tempdir().unwrap();
        let slot = slot(&dir);
        let mut shim = std::process::Command::new("sleep");
        let mut shim = shim.arg("60").env(process::SHIM_MARK, slot.folder()).spawn().unwrap();
        let identity = Identity::of(shim.id() as i32).unwrap();
        // Until it runs another program a child carries the environment of this one.
        while !process::is_shim_of(&identity, slot.folder()) {}
        write(&slot, &[begun(identity), SUCCESS]);
        assert!(matches!(slot.look().unwrap(), Sight::Live(_)));
        shim.kill().unwrap();
        shim.wait().unwrap();
        assert!(matches!(slot.look().unwrap(), Sight::Exited(_)));
    }

    #[test]
    fn a_record_without_a_beginning_or_of_another_boot_is_no_ending() {
        let dir = tempfile::tempdir().unwrap();
        let slot = slot(&dir);
        write(&slot, &[SUCCESS]);
        assert!(matches!(slot.look().unwrap(), Sight::Spoiled(_)));
        write(&slot, &[begun(Identity { pid: 1, born: 1, boot: "another".into() })]);
        assert_eq!(slot.look().unwrap(), Sight::Bygone);
        std::fs::remove_file(slot.record()).unwrap();
        std::fs::create_dir(slot.record()).unwrap();
        assert!(matches!(slot.look().unwrap(), Sight::Spoiled(_)));
    }
}
