//! What a world can show beside its news: sensors, log files, what it says of work and of itself. Asked by readers; of
//! all this only [`attempt`](Site::attempt) may be asked within the loop, by those who look at the state.

mod logs;

pub use logs::log_files;

use consort_agent::untrusted::Owners;
use consort_types::{AllocationId, JobId, JobSpec, Sample, Work};
use std::path::PathBuf;

/// Files that are looked for; a bag of a million tasks has more.
pub const LOOKED_FOR: usize = 10_000;

/// Whether a file is wanted, by stage, task, rank and attempt.
pub type Admits<'a> = dyn Fn(u16, u32, u32, u32) -> bool + 'a;

/// The place where work is carried out, for those who look.
pub trait Site: Send + Sync {
    /// Its name: local, slurm, kube.
    fn world(&self) -> &'static str;

    /// What the sensors of one device last said.
    fn reading(&self, node: &str, position: u32) -> Reading;

    /// Those log files of a job that are wanted (by stage, task, rank and attempt), oldest attempt first, and at most
    /// [`LOOKED_FOR`] of them. May wait for a disk.
    fn logs(&self, job: JobId, spec: &JobSpec, work: &Work, wanted: &Admits<'_>) -> Vec<LogFile>;

    /// Whose files the output of workers is. Files of others are not read: a job could name one that its own user may not
    /// read, and we may.
    fn log_owners(&self) -> Owners {
        Owners::ours()
    }

    /// What it says of an attempt that it has in its hands: `Slurm job 12 is pending: Resources`. Never waits.
    fn attempt(&self, _allocation: AllocationId) -> Option<String> {
        None
    }

    /// Takes progress that an attempt reported by a request; nothing happens if it does not run. Never waits.
    fn report(&self, _allocation: AllocationId, _sample: Sample) {}

    /// What is wrong with it just now, if anything. Never waits.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Why jobs that name a container image cannot run here, in words; nothing if they can. May wait.
    fn image_refusal(&self) -> Option<String>;

    /// How it is reached and what it is like, asked anew: what is told, and what it says. May wait.
    fn probe(&self) -> Vec<(String, String)>;
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

/// One file of output. What was put aside lies beside it, numbered: `.1` is the latest of these. Jobs can write and
/// replace it, so it is opened through [`consort_agent::untrusted`] and never by its path.
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
    /// The folder that jobs cannot replace: that of all logs. Where the owner of the job named the file, the folder it
    /// lies in.
    pub base: PathBuf,
    /// Where, from there.
    pub name: PathBuf,
}

impl LogFile {
    /// Where, as people are told.
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.name)
    }
}
