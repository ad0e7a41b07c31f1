//! The folder of one worker, and what can be told from it.
//!
//! For: whoever comes back after a crash sees at a glance what to do about each worker.
//! Promises: what is seen stays true until a shim or this daemon adds a record; names of folders can be turned back
//! into ids.
//! Never: takes the lock to have a look: a shim that is just starting would think that another is alive.

use crate::launch::Order;
use crate::process;
use crate::status::{self, Claim, Exited, Record, Started};
use consort_types::{AllocationId, AskId, JobId};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    folder: PathBuf,
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
    /// Nothing of it is left.
    Exited(Exited),
    /// It was never run and never will be.
    Void,
    /// It was ordered before the machine last went down. Whether it ran cannot be told any more; it does not run now.
    Bygone,
}

impl Slot {
    /// The slot of a worker of this allocation.
    pub fn new(run_dir: &Path, allocation: AllocationId, rank: u32) -> Self {
        Self { folder: run_dir.join(allocation_name(allocation)).join(format!("w{rank}")) }
    }

    /// The slot in a folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where its order lies.
    pub fn order(&self) -> PathBuf {
        self.folder.join("launch.json")
    }

    /// Where its records are.
    pub fn status(&self) -> PathBuf {
        self.folder.join("status")
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
        let mut started = None;
        for record in status::read(&self.status())? {
            match record {
                Record::Exited(exited) => return Ok(Sight::Exited(exited)),
                Record::Void => return Ok(Sight::Void),
                Record::Started(record) => started = Some(record),
            }
        }
        match started {
            Some(record) if record.shim.is_alive() => Ok(Sight::Live(record)),
            // It may have written its last word between our two looks.
            Some(record) => Ok(match self.last_word()? {
                Some(exited) => Sight::Exited(exited),
                None => Sight::Orphaned(record),
            }),
            None => self.look_at_order(),
        }
    }

    fn last_word(&self) -> io::Result<Option<Exited>> {
        let records = status::read(&self.status())?;
        Ok(records.into_iter().find_map(|record| match record {
            Record::Exited(exited) => Some(exited),
            _ => None,
        }))
    }

    fn look_at_order(&self) -> io::Result<Sight> {
        match Order::read(&self.order()) {
            Ok(order) if order.boot != process::boot() => Ok(Sight::Bygone),
            Ok(_) => Ok(Sight::Open { ordered: true }),
            Err(error) => match error.kind() {
                // Orders are moved into place whole: only a machine that went down leaves half of one.
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Ok(Sight::Bygone),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                    Ok(Sight::Open { ordered: false })
                }
                _ => Err(error),
            },
        }
    }

    /// Makes sure that no shim will ever take it on. False if one is doing so at this moment, or has done so.
    pub fn close(&self) -> io::Result<bool> {
        std::fs::create_dir_all(&self.folder)?;
        match status::claim(&self.status())? {
            Claim::Ours(mut held) => held.append(&Record::Void).map(|()| true),
            Claim::Taken => Ok(false),
            Claim::Spent(records) => Ok(records.contains(&Record::Void)),
        }
    }
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

    fn allocation(job: u64, stage: u16, task: u32, attempt: u32) -> AllocationId {
        AllocationId { ask: AskId { job: JobId(job), stage, task }, attempt }
    }

    #[test]
    fn names_of_folders_can_be_turned_back() {
        for id in [allocation(12, 0, 0, 1), allocation(u64::MAX, 3, 70_000, 9)] {
            assert_eq!(allocation_of(&allocation_name(id)), Some(id));
        }
        assert_eq!(allocation_name(allocation(12, 0, 0, 1)), "12.0.0#1");
        for name in ["", "12", "12#1", "12.0#1", "12.0.0.0#1", "012.0.0#1", "12.0.0#", "lost+found"] {
            assert_eq!(allocation_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_slot_that_was_closed_stays_closed() {
        let dir = tempfile::tempdir().unwrap();
        let slot = Slot::new(dir.path(), allocation(1, 0, 0, 1), 0);
        assert_eq!(slot.look().unwrap(), Sight::Open { ordered: false });
        assert!(slot.close().unwrap());
        assert!(slot.close().unwrap());
        assert_eq!(slot.look().unwrap(), Sight::Void);
    }

    #[test]
    fn a_slot_whose_lock_is_held_cannot_be_closed() {
        let dir = tempfile::tempdir().unwrap();
        let slot = Slot::at(dir.path());
        let held = status::claim(&slot.status()).unwrap();
        assert!(!slot.close().unwrap());
        drop(held);
        assert!(slot.close().unwrap());
    }
}
