//! The folder of records: one small file for each worker, written by its shim.
//!
//! It lies beside the run folder and not inside, because jobs know their part of the run folder and may clear it away.
//! It also remembers the boot in which it was last used: what is missing after the machine went down was perhaps never
//! on the disk, what is missing otherwise was removed. That file is on the disk before the folder is, so if it is missing
//! or damaged, a job or a person removed it, and any other file that is missing counts as removed too.

use consort_agent::launch::{allocation_of, record_name, recorded_in};
use consort_agent::untrusted::{self, Owners};
use consort_agent::{owned, process};
use consort_types::AllocationId;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The file that names the boot.
const BOOT: &str = "boot";

/// More workers than this have no room on one machine; more names than this are not of our making.
pub(crate) const MOST: u32 = 1 << 16;

/// The folder of records.
pub(crate) struct Records {
    folder: PathBuf,
    /// The machine has not gone down since the folder was last used.
    pub same_boot: bool,
}

impl Records {
    /// Opens the folder, and makes it if it is not there. Records of older versions are moved into it: a shim that has
    /// one open goes on writing to it.
    pub fn open(folder: &Path, run_dir: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(folder).is_err() {
            let beside = owned::make(&folder.with_extension("new")).map_err(io::Error::other)?;
            adopt_older(run_dir, &beside)?;
            remember_boot(&beside)?;
            fs::rename(&beside, folder)?;
        }
        let folder = owned::make(folder).map_err(io::Error::other)?;
        let last = untrusted::read(&folder, Path::new(BOOT), Owners::ours(), 100).ok();
        let same_boot = last.as_ref().is_none_or(|last| last == process::boot().as_bytes());
        if !same_boot || last.is_none() {
            // What is in the way is a job's; that it may be there is no reason not to start.
            let _ = untrusted::remove(&folder, Path::new(BOOT), &mut 1000);
            let _ = remember_boot(&folder);
        }
        Ok(Self { folder, same_boot })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder again if a job has removed it.
    pub fn make_sure(&self) -> io::Result<()> {
        let (base, name) = untrusted::rooted(&self.folder);
        untrusted::make_folder(base, name).map(|_| ())
    }

    /// Every worker of which there is a record.
    pub fn all(&self) -> Vec<(AllocationId, u32)> {
        let (base, name) = untrusted::rooted(&self.folder);
        let names = untrusted::list(base, name, 1 << 20).unwrap_or_default();
        names.iter().filter_map(|name| recorded_in(name.to_str()?)).collect()
    }

    /// Removes what is in the place of a record. False if that is not done yet.
    pub fn remove(&self, allocation: AllocationId, rank: u32, budget: &mut u32) -> bool {
        let name = record_name(allocation, rank);
        // What cannot be removed now is swept when the daemon next starts.
        untrusted::remove(&self.folder, Path::new(&name), budget).unwrap_or(true)
    }
}

/// Names this boot, on the disk before anything else of it.
fn remember_boot(folder: &Path) -> io::Result<()> {
    untrusted::write(folder, Path::new(BOOT), process::boot().as_bytes())?;
    File::open(folder.join(BOOT))?.sync_all()?;
    File::open(folder)?.sync_all()
}

/// Moves the records that older versions kept in the slots. One that stays behind would count as removed, and its work
/// as failed while it may be running.
fn adopt_older(run_dir: &Path, records: &Path) -> io::Result<()> {
    let list = |name: &Path| untrusted::list(run_dir, name, MOST as usize).unwrap_or_default();
    let runs = fs::read_dir(run_dir).into_iter().flatten().flatten();
    for allocation in runs.filter_map(|entry| allocation_of(entry.file_name().to_str()?)) {
        let folder = consort_agent::launch::allocation_name(allocation);
        for slot in list(Path::new(&folder)) {
            let Some(rank) = rank_of(&slot) else { continue };
            let from = run_dir.join(&folder).join(&slot).join("status");
            match fs::rename(&from, records.join(record_name(allocation, rank))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let text = format!("cannot move the record {}: {error}", from.display());
                    return Err(io::Error::new(error.kind(), text));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The worker whose folder this is: `w3`.
pub(crate) fn rank_of(name: &std::ffi::OsStr) -> Option<u32> {
    let digits = name.to_str()?.strip_prefix('w')?;
    let rank: u32 = digits.parse().ok()?;
    (rank < MOST && rank.to_string() == digits).then_some(rank)
}
