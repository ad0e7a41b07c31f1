//! Where the output of a worker goes.
//!
//! For: every world that starts workers, and everybody who looks for what they wrote.
//! Promises: the same answer whenever it is asked; a job's name is no place to hide a path in.
//! Never: opens anything.

use super::log_path;
use consort_types::{AllocationId, AskId, JobId, JobSpec, Work};
use std::path::{Component, Path, PathBuf};

/// Files of the system that keep nothing of what is written to them.
const NOWHERE: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// The folder that the output of a job must stay in: its working directory, if this process is root. Root could write
/// anywhere for a submitter who may not, and nobody knows yet who submits. Anything may be named otherwise: workers run as
/// the user of this process, so that the kernel keeps them to their own.
pub fn output_within(work: &Work, path: &Path) -> Option<PathBuf> {
    let is_nowhere = NOWHERE.iter().any(|nowhere| path == Path::new(nowhere));
    let is_confined = rustix::process::geteuid().is_root() && work.output.path.is_some() && !is_nowhere;
    is_confined.then(|| PathBuf::from(&work.workdir))
}

/// Folders that belong to the system. Who owns a folder says nothing: root owns many in which its jobs may well write, such as
/// those of a container.
const SYSTEM: [&str; 13] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
    "/var",
];
/// Folders inside them that do not.
const OPEN: [&str; 6] = ["/dev/shm", "/run/user", "/usr/local/src", "/var/lib", "/var/tmp", "/var/scratch"];

/// Whether a folder is one of the system, also through links.
fn is_of_the_system(folder: &Path) -> bool {
    let real = folder.canonicalize();
    let is_below = |folder: &Path, names: &[&str]| names.iter().any(|name| folder.starts_with(name));
    let is_closed = |folder: &Path| is_below(folder, &SYSTEM) && !is_below(folder, &OPEN);
    is_closed(folder) || real.is_ok_and(|real| is_closed(&real))
}

/// Why this process will not write the output of a job where the job says, in words.
pub fn output_refusal(spec: &JobSpec, work: &Work) -> Option<String> {
    // Numbers are no way out of a folder, so that any will do.
    let allocation = AllocationId { ask: AskId { job: JobId(1), stage: 0, task: 0 }, attempt: 1 };
    let path = output_path(Path::new("/"), allocation, spec, work, 0);
    let folder = output_within(work, &path)?;
    let is_plain = |name: &Path| name.components().all(|part| matches!(part, Component::Normal(_)));
    let is_inside = path.strip_prefix(&folder).is_ok_and(|name| name != Path::new("") && is_plain(name));
    let pattern = work.output.path.as_deref().unwrap_or_default();
    if folder != Path::new("/") && is_of_the_system(&folder) {
        return Some(format!(
            "`output` is {pattern} and the working directory is {}: the daemon runs as root and writes no output into \
             folders of the system; set another `workdir`, or leave `output` out and read it with `consort logs`",
            folder.display()
        ));
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Some(format!(
            "`output` {pattern} contains `..`: the daemon runs as root and writes output only inside the working directory \
             {}; name the file without `..`, or leave `output` out and read it with `consort logs`",
            folder.display()
        ));
    }
    match (folder == Path::new("/"), is_inside) {
        (false, true) => None,
        (true, _) => Some(format!(
            "`output` is {pattern} and the working directory is /: the daemon runs as root and writes output only inside \
             the working directory of a job; set `workdir`, or leave `output` out and read it with `consort logs`"
        )),
        (false, false) => Some(format!(
            "`output` {pattern} leads out of the working directory {}: the daemon runs as root and writes output only \
             there; name a file inside it, or leave `output` out and read it with `consort logs`",
            folder.display()
        )),
    }
}

/// Where the output of a worker goes: where its owner said, or below the folder of logs.
pub fn output_path(
    log_dir: &Path,
    allocation: AllocationId,
    spec: &JobSpec,
    work: &Work,
    rank: u32,
) -> PathBuf {
    let Some(pattern) = &work.output.path else { return log_path(log_dir, allocation, rank) };
    let ask = allocation.ask;
    let indices = work.stages.get(usize::from(ask.stage)).map_or(&[][..], |stage| &stage.indices);
    let task = indices.get(ask.task as usize).copied().unwrap_or(ask.task);
    let mut path = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            path.push(letter);
            continue;
        }
        match letters.next() {
            Some('j') => path.push_str(&ask.job.0.to_string()),
            // A name is no place to hide a path in.
            Some('x') => path.push_str(&spec.name.replace('/', "_")),
            Some('a') => path.push_str(&task.to_string()),
            Some('t') => path.push_str(&rank.to_string()),
            Some('%') => path.push('%'),
            Some(other) => path.extend(['%', other]),
            None => path.push('%'),
        }
    }
    Path::new(&work.workdir).join(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_types::{Command, Shape};

    fn work() -> Work {
        let mut work = Work::of(Command::Program(vec![]), "/data");
        work.stages[0].indices = vec![4, 7];
        work
    }

    #[test]
    fn a_daemon_of_root_writes_only_into_the_folder_of_the_job() {
        let refused = |workdir: &str, output: Option<&str>, name: &str| {
            let mut work = Work { workdir: workdir.into(), ..work() };
            work.output.path = output.map(str::to_owned);
            output_refusal(&JobSpec::gang(name, 1, Shape::any()), &work)
        };
        let is_root = rustix::process::geteuid().is_root();
        for inside in [None, Some("out.log"), Some("a/%j/%a.log"), Some("/data/%x.log"), Some("/dev/null")] {
            assert_eq!(refused("/data", inside, "train"), None, "{inside:?}");
        }
        for outside in ["/etc/cron.d/x", "../x", "a/../../x", "/data", "/database/x", "%x/x"] {
            let why = refused("/data", Some(outside), "..");
            assert_eq!(why.is_some(), is_root, "{outside}: {why:?}");
            assert!(why.is_none_or(|why| why.contains(outside) && why.contains("/data")), "{outside}");
        }
        assert_eq!(refused("/", Some("etc/x"), "train").is_some(), is_root);
        for folder in ["/etc", "/etc/cron.d", "/usr/bin", "/proc/self/root/etc"] {
            let why = refused(folder, Some("x"), "train");
            assert_eq!(why.is_some(), is_root, "{folder}");
            assert!(why.is_none_or(|why| why.contains("folders of the system")), "{folder}");
            assert_eq!(refused(folder, None, "train"), None, "its output is in the data directory");
        }
        for folder in ["/var/tmp", "/users/ada", "/etcetera"] {
            assert_eq!(refused(folder, Some("x"), "train"), None, "{folder}");
        }
        let why = refused("/data", Some("a/../b"), "train");
        assert!(why.is_none_or(|why| why.contains("contains `..`") && !why.contains("leads out")));
    }

    #[test]
    fn patterns_name_job_task_and_rank() {
        let spec = JobSpec::gang("a/b", 1, Shape::any());
        let mut work = work();
        let id = AllocationId { ask: AskId { job: JobId(12), stage: 0, task: 1 }, attempt: 2 };
        let mut path = |pattern: Option<&str>| {
            work.output.path = pattern.map(str::to_owned);
            output_path(Path::new("/logs"), id, &spec, &work, 3).display().to_string()
        };
        assert_eq!(path(None), "/logs/12/0.1#2.w3.log");
        assert_eq!(path(Some("out-%j-%x-%a-%t.txt")), "/data/out-12-a_b-7-3.txt");
        assert_eq!(path(Some("/tmp/%%%q%")), "/tmp/%%q%");
    }
}
