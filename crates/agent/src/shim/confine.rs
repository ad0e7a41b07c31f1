//! What a worker may use of the machine.
//!
//! For: limits, processors and control groups, settled before the worker exists and put on by the worker's own process.
//! Promises: nothing is made when nothing was asked for; what the kernel will not keep is said in a note.
//! Never: takes memory or locks between fork and exec: everything is ready before.

use crate::launch::{Order, Slot};
use crate::shim::groups::{self, Groups};
use consort_types::{Digest, Limits};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::path::PathBuf;

/// Everything that is put on between fork and exec.
pub(super) struct Confinement {
    groups: Groups,
    cpus: Option<CpuSet>,
    limits: Vec<(Resource, Rlimit)>,
    notes: Vec<String>,
    /// Those of the notes that the owner of the job has to know.
    warnings: Vec<String>,
}

/// Why the processors and the memory that jobs ask for are not enforced on this machine; nothing if they are. Makes a group
/// to find out, and removes it.
pub fn unenforced() -> Option<String> {
    let limits = Limits { memory_bytes: Some(1 << 30), cpu_thousandths: Some(1000), ..Limits::default() };
    let (made, missing) = Groups::make(&format!("probe-{}", std::process::id()), &limits);
    groups::remove(made.folders());
    let words = missing.iter().map(|(controller, why)| format!("no control group for {controller} ({why})"));
    let words: Vec<String> = words.collect();
    let told = "what jobs ask for with `cpus` and `mem` is reserved but not enforced";
    (!words.is_empty()).then(|| format!("{told}: {}", words.join("; ")))
}

impl Confinement {
    /// Makes what has to be made.
    pub fn prepare(order: &Order, slot: &Slot) -> Self {
        let wanted = &order.limits.or_asked(&order.asked);
        let (mut limits, mut notes, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let is_wanted =
            wanted.memory_bytes.is_some() || wanted.cpu_thousandths.is_some() || wanted.processes.is_some();
        // A runtime with groups of its own is told the limits; there they would hold its client.
        let is_ours = order.container.as_ref().is_none_or(|container| !container.runtime.owns_groups());
        let (groups, missing) = if is_wanted && is_ours {
            Groups::make(&group_name(order, slot), wanted)
        } else {
            (Groups::default(), Vec::new())
        };
        for (controller, why) in missing {
            let instead = match (controller, order.limits.memory_bytes) {
                ("memory", Some(bytes)) => {
                    // Not the whole address space: programs that use devices reserve far more than they touch.
                    limits.push((Resource::Data, Rlimit { current: Some(bytes), maximum: Some(bytes) }));
                    "the limit applies to each process separately"
                }
                ("memory", None) => "what the job asked for is reserved but not enforced",
                // The kernel would count everything that the same user runs on the whole machine.
                ("pids", _) => "the number of processes is not limited",
                _ => "processor time is not limited",
            };
            let note = format!("no control group for {controller} ({why}): {instead}");
            // What every job asks for in the same way is said once, by the daemon.
            let is_asked = match controller {
                "memory" => order.limits.memory_bytes.is_none(),
                "cpu" => order.limits.cpu_thousandths.is_none(),
                _ => false,
            };
            warnings.extend((!is_asked).then(|| note.clone()));
            notes.push(note);
        }
        limits.extend(open_files(order));
        Self { groups, cpus: cpu_set(&order.cpus), limits, notes, warnings }
    }

    /// The groups that were made.
    pub fn groups(&self) -> &[PathBuf] {
        self.groups.folders()
    }

    /// What could not be had.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Those of them that belong into the output of the worker.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Puts everything on; between fork and exec.
    pub fn enter(&self) -> io::Result<()> {
        self.groups.enter()?;
        for (resource, limit) in &self.limits {
            setrlimit(*resource, *limit)?;
        }
        if let Some(cpus) = &self.cpus {
            // A processor that was taken away from this machine since is no reason not to run.
            let _ = sched_setaffinity(None, cpus);
        }
        Ok(())
    }

    /// Whether somebody was killed because memory was short.
    pub fn ran_out_of_memory(&self) -> bool {
        self.groups.deaths() > 0
    }

    /// Whether such deaths are counted for this worker alone.
    pub fn counts_memory(&self) -> bool {
        self.groups.counts_deaths()
    }

    /// Takes away what was made. Nobody is left in it.
    pub fn remove(&self) {
        groups::remove(self.groups.folders());
    }
}

/// Those of the folders that are control groups of this slot. They are read from a record, in which somebody may have
/// written any path.
pub(super) fn own_groups(folders: &[PathBuf], slot: &Slot) -> Vec<PathBuf> {
    let suffix = format!("-{:08x}", place(slot));
    let is_own = |folder: &&PathBuf| {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("consort-") && name.ends_with(&suffix) && groups::is_group(folder)
    };
    folders.iter().filter(is_own).cloned().collect()
}

/// Two daemons on one machine count their jobs alike, but keep them in folders of their own.
fn group_name(order: &Order, slot: &Slot) -> String {
    format!("{}-w{}-{:08x}", order.allocation, order.rank, place(slot))
}

fn place(slot: &Slot) -> u32 {
    Digest::of(&slot.folder()) as u32
}

fn open_files(order: &Order) -> Option<(Resource, Rlimit)> {
    // The client of a container runtime needs its own; what it starts is told the limit.
    let is_set = order.limits.open_files.is_some() || order.soft_files.is_some();
    (is_set && order.container.is_none()).then(|| (Resource::Nofile, file_limit(order)))
}

/// How many files a worker may have open.
pub(super) fn file_limit(order: &Order) -> Rlimit {
    let Rlimit { current, maximum: hard } = getrlimit(Resource::Nofile);
    let at_most = |value: u64| Some(hard.map_or(value, |hard| value.min(hard)));
    match (order.limits.open_files, order.soft_files) {
        (Some(files), _) => Rlimit { current: at_most(files.into()), maximum: at_most(files.into()) },
        (None, Some(soft)) => Rlimit { current: at_most(soft), maximum: hard },
        (None, None) => Rlimit { current, maximum: hard },
    }
}

fn cpu_set(cpus: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    let known = cpus.iter().map(|&cpu| cpu as usize).filter(|&cpu| cpu < CpuSet::MAX_CPU);
    known.for_each(|cpu| set.set(cpu));
    (set.count() > 0).then_some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_control_group_is_not_taken_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let slot = Slot::at("/run/1.0.0#1/w0");
        let planted = dir.path().join(format!("consort-1.0.0#1-w0-{:08x}", place(&slot)));
        std::fs::create_dir(&planted).unwrap();
        // A list of victims, in the place where the kernel would list who is in the group.
        std::fs::write(planted.join("cgroup.procs"), "1\n").unwrap();
        assert_eq!(own_groups(&[planted, "/sys/fs/cgroup".into()], &slot), [] as [PathBuf; 0]);
    }
}
