//! The folder that the daemon and all nodes see.
//!
//! What belongs to an attempt lies in one folder, which is removed once its end is settled; logs stay. Layout: `script.rs`.
//!
//! Guarantees:
//! - The shared folder and the folder of each attempt belong to us and can be written by nobody else, so that nobody leads
//!   the daemon or its jobs astray. A folder of somebody else is refused.
//! - Jobs may run as another user (a root daemon and a slurmrestd of another user): then `out`, the logs of a job, `signs`
//!   and the scripts of an attempt, which may contain secrets of its environment, belong to that user. `hosts`, by which
//!   we know where an attempt is, stays ours, and they can reach nothing else.
//! - What a job can write is read through [`consort_agent::untrusted`] only: see `records.rs`.
//! - Nothing is known only here that Slurm could also tell, except how a job ended that Slurm has already forgotten.

mod own;
mod records;

pub use records::Intent;

use crate::script::Making;
use consort_agent::launch::{allocation_name, allocation_of};
use consort_agent::owned;
use consort_agent::progress::{self, Faults, Reports};
use consort_agent::untrusted::{self, Owners};
use consort_types::AllocationId;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder.
#[derive(Clone, Debug)]
pub struct Folder {
    shared: PathBuf,
    /// The user that jobs run as, where it is not us.
    owner: Option<u32>,
}

impl Folder {
    /// Makes what is not there. `uid` is the user that jobs run as, if that is known.
    pub fn open(shared: &Path, uid: Option<u32>) -> io::Result<Self> {
        let owner = uid.filter(|&uid| uid != rustix::process::geteuid().as_raw());
        let told = |error: io::Error| {
            io::Error::new(error.kind(), format!("the shared folder {}: {error}", shared.display()))
        };
        own::make_all(shared).map_err(told)?;
        owned::require(shared).map_err(|refused| {
            let words = format!("the shared folder {refused}, with --slurm-shared");
            io::Error::new(io::ErrorKind::PermissionDenied, words)
        })?;
        let shared = shared.canonicalize().map_err(told)?;
        let folder = Self { shared, owner };
        // Jobs of another user must be able to pass through.
        let ours = if owner.is_some() { 0o711 } else { 0o700 };
        own::take(&folder.shared.join("run"), ours).map_err(told)?;
        own::take(&folder.shared.join("logs"), ours).map_err(told)?;
        own::give(&folder.shared.join("signs"), owner).map_err(told)?;
        Ok(folder)
    }

    /// Its path.
    pub fn shared(&self) -> &Path {
        &self.shared
    }

    /// Owners of files that a job may have written.
    fn theirs(&self) -> Owners {
        self.owner.map_or_else(Owners::ours, Owners::ours_or)
    }

    /// Reports that jobs write.
    pub fn reports(&self, faults: Faults) -> Reports {
        Reports::new(&self.shared, self.theirs(), faults)
    }

    /// Progress files of an attempt, one for each worker, relative to the shared folder. `script.rs` names them as well.
    pub fn progress(id: AllocationId, workers: u32) -> impl Iterator<Item = PathBuf> {
        let out = Path::new("run").join(allocation_name(id)).join("out");
        (0..workers).map(move |rank| out.join(format!("{}.{rank}", progress::FILE)))
    }

    fn of(&self, id: AllocationId) -> PathBuf {
        self.shared.join("run").join(allocation_name(id))
    }

    /// The path of the script of an attempt.
    pub fn script(&self, id: AllocationId) -> PathBuf {
        self.of(id).join("batch.sh")
    }

    /// The path of the output of that script.
    pub fn log(&self, id: AllocationId) -> PathBuf {
        self.of(id).join("out/batch.log")
    }

    /// Writes everything that nodes need. Returns the script that Slurm starts.
    pub fn write(&self, making: &Making<'_>) -> io::Result<String> {
        let (id, folder) = (making.allocation, self.of(making.allocation));
        own::take(&folder, if self.owner.is_some() { 0o711 } else { 0o700 })?;
        own::give(&folder.join("out"), self.owner)?;
        if making.work.output.path.is_none() {
            own::give(&self.shared.join("logs").join(id.ask.job.0.to_string()), self.owner)?;
        }
        let task = making.task().map_err(io::Error::other)?;
        let batch = making.batch();
        self.put(&folder.join("task.sh"), &task, 0o600)?;
        self.put_hosts(id, &making.hosts())?;
        for (role, text) in making.scripts() {
            self.put(&folder.join(format!("script.{role}")), &text, 0o700)?;
        }
        self.put(&folder.join("batch.sh"), &batch, 0o700)?;
        Ok(batch)
    }

    /// The names of its nodes: `srun` reads them too, and nobody else may change them.
    fn put_hosts(&self, id: AllocationId, text: &str) -> io::Result<()> {
        let mode = if self.owner.is_some() { 0o644 } else { 0o600 };
        own::write(&self.of(id).join("hosts"), text, mode, Some(own::us()))
    }

    /// Owned by the user that jobs run as, who must be able to read it.
    fn put(&self, path: &Path, text: &str, mode: u32) -> io::Result<()> {
        own::write(path, text, mode, self.owner)
    }

    /// Attempts to which something happened. Each is told once.
    ///
    /// The folder belongs to the jobs: what cannot be removed is not told, or it would be told for ever.
    pub fn signs(&self) -> Vec<AllocationId> {
        // So many at a time, whatever was put there.
        const MOST: usize = 10_000;
        let entries = fs::read_dir(self.shared.join("signs")).into_iter().flatten().flatten().take(MOST);
        let mut all = vec![];
        for entry in entries {
            let removed = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir(entry.path()));
            if removed.is_ok()
                && let Some(id) = entry.file_name().to_str().and_then(allocation_of)
            {
                all.push(id);
            }
        }
        all
    }

    /// All attempts that have a folder.
    pub fn all(&self) -> Vec<AllocationId> {
        let entries = fs::read_dir(self.shared.join("run")).into_iter().flatten().flatten();
        entries.filter_map(|entry| allocation_of(entry.file_name().to_str()?)).collect()
    }

    /// Removes what belongs to an attempt, whatever a job has put there. False if the budget, counted in entries, was
    /// used up first.
    pub fn remove(&self, id: AllocationId, budget: &mut u32) -> bool {
        let removed = untrusted::remove(&self.shared.join("run"), Path::new(&allocation_name(id)), budget);
        removed.unwrap_or_else(|error| {
            tracing::debug!(attempt = allocation_name(id), %error, "not removed");
            true
        })
    }
}

#[cfg(test)]
mod tests;
