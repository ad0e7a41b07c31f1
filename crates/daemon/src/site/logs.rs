//! Where the output of workers lies, for every world whose workers write to files that we can see.

use super::{Admits, LOOKED_FOR, LogFile};
use consort_types::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// So many files are looked for one by one; for more the folder is listed.
const FEW: usize = 64;

/// Those log files of a job that are wanted, oldest attempt first.
pub fn log_files(
    log_dir: &Path,
    job: JobId,
    spec: &JobSpec,
    work: &Work,
    wanted: &Admits<'_>,
) -> Vec<LogFile> {
    if work.output.path.is_none() {
        return written(log_dir, job, wanted);
    }
    let mut looked_for: BTreeMap<PathBuf, LogFile> = BTreeMap::new();
    let mut looks = 0;
    'all: for (stage, shape) in (0..).zip(&spec.stages) {
        let workers: u32 = shape.roles.iter().map(|role| role.count.max).sum();
        for (task, rank) in (0..shape.form.asks()).flat_map(|task| (0..workers).map(move |rank| (task, rank)))
        {
            if !wanted(stage, task, rank, 1) {
                continue;
            }
            if looks >= LOOKED_FOR {
                break 'all;
            }
            looks += 1;
            let allocation = AllocationId { ask: AskId { job, stage, task }, attempt: 1 };
            let path = consort_agent::launch::output_path(log_dir, allocation, spec, work, rank);
            let (Some(base), Some(name)) = (path.parent(), path.file_name()) else { continue };
            // Several may write to one file; it is read once.
            let file = || LogFile { stage, task, attempt: 1, rank, base: base.into(), name: name.into() };
            looked_for.entry(path.clone()).or_insert_with(file);
        }
    }
    let mut files = existing(looked_for);
    files.sort_by_key(|file| (file.stage, file.task, file.rank));
    files
}

/// Those that exist.
fn existing(looked_for: BTreeMap<PathBuf, LogFile>) -> Vec<LogFile> {
    if looked_for.len() <= FEW {
        return looked_for.into_values().filter(|file| file.path().symlink_metadata().is_ok()).collect();
    }
    let mut folders: BTreeMap<PathBuf, BTreeSet<std::ffi::OsString>> = BTreeMap::new();
    let mut files: Vec<LogFile> = looked_for.into_values().collect();
    files.retain(|file| {
        let folder = &file.base;
        let list =
            || std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        folders.entry(folder.clone()).or_insert_with(|| list().collect()).contains(file.name.as_os_str())
    });
    files
}

/// The files in the folder of one job, by their names: `0.1#2.w3.log`.
fn written(log_dir: &Path, job: JobId, wanted: &Admits<'_>) -> Vec<LogFile> {
    let folder = PathBuf::from(job.to_string());
    let entries = std::fs::read_dir(log_dir.join(&folder)).into_iter().flatten().flatten();
    let mut files: Vec<LogFile> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (ask, rest) = name.strip_suffix(".log")?.split_once('#')?;
            let ((stage, task), (attempt, rank)) = (ask.split_once('.')?, rest.split_once(".w")?);
            let file = LogFile {
                stage: stage.parse().ok()?,
                task: task.parse().ok()?,
                attempt: attempt.parse().ok()?,
                rank: rank.parse().ok()?,
                base: log_dir.into(),
                name: folder.join(&name),
            };
            wanted(file.stage, file.task, file.rank, file.attempt).then_some(file)
        })
        .collect();
    files.sort_by_key(|file| (file.attempt, file.stage, file.task, file.rank));
    files.truncate(LOOKED_FOR);
    files
}
