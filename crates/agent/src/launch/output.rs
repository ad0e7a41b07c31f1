//! Where the output of a worker goes.
//!
//! For: every world that starts workers, and everybody who looks for what they wrote.
//! Promises: the same answer whenever it is asked; a job's name is no place to hide a path in.
//! Never: opens anything.

use super::log_path;
use consort_types::{AllocationId, JobSpec, Work};
use std::path::{Path, PathBuf};

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
    use consort_types::{AskId, Command, Grace, JobId, Limits, Output, Shape, StageWork};

    #[test]
    fn patterns_name_job_task_and_rank() {
        let spec = JobSpec::gang("a/b", 1, Shape::any());
        let stage =
            StageWork { commands: vec![Command::Program(vec![])], indices: vec![4, 7], variants: vec![] };
        let mut work = Work {
            stages: vec![stage],
            workdir: "/data".into(),
            env: vec![],
            inherited: vec![],
            grace: Grace::default(),
            limits: Limits::default(),
            output: Output::default(),
        };
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
