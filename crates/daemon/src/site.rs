//! What a world can show beside its news: sensors, log files, notes. Asked by readers, never by the loop.

use consort_types::{JobId, JobSpec, Work};
use std::path::PathBuf;

/// The place where work is carried out, for those who look.
pub trait Site: Send + Sync {
    /// Its name: local, slurm, kube.
    fn world(&self) -> &'static str;

    /// What the sensors of one device last said.
    fn reading(&self, node: &str, position: u32) -> Reading;

    /// The log files of a job, oldest attempt first.
    fn logs(&self, job: JobId, spec: &JobSpec, work: &Work) -> Vec<LogFile>;

    /// What somebody should know.
    fn notes(&self) -> Vec<String>;
}

/// What the sensors of one device said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// What its maker calls it.
    pub uuid: Option<String>,
    /// How warm it is.
    pub temperature_c: Option<f64>,
    /// What it draws.
    pub power_w: Option<f64>,
    /// How busy it is.
    pub utilization_percent: Option<f64>,
    /// Memory in use.
    pub memory_used_bytes: Option<u64>,
}

/// One file of output. What was put aside lies beside it, numbered: `.1` is the latest of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Which stage of the job.
    pub stage: u16,
    /// Which task of the stage.
    pub task: u32,
    /// Which attempt.
    pub attempt: u32,
    /// Which worker.
    pub rank: u32,
    /// Where.
    pub path: PathBuf,
}
