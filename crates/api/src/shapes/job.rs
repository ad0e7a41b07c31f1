//! Jobs: in a line, in full, and why they are where they are.

use super::server::Problem;
use crate::moment::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A job, as in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Id; ids count from 1 in the order of submission.
    pub id: u64,
    /// Name; need not be unique.
    pub name: String,
    /// User who submitted it; absent where the journal does not say, as in journals of versions before 0.2.
    #[serde(default)]
    pub user: Option<String>,
    /// Tenant that owns it.
    pub tenant: String,
    /// Queue that it was submitted to.
    pub queue: String,
    /// What it is doing.
    pub state: State,
    /// Why it is in this state, in a few words; empty when there is nothing to say.
    pub reason: String,
    /// Number of devices that it holds; while it holds none, the number that it needs at least.
    pub devices: u64,
    /// When it was submitted.
    pub submitted: Moment,
    /// When its first worker was up.
    pub started: Option<Moment>,
    /// When it is expected to start; absent while that is unknown.
    #[serde(default)]
    pub expected_start: Option<Moment>,
    /// When it had ended and its last device was released.
    pub ended: Option<Moment>,
    /// Exit status, as in a shell; absent until it has ended, and when it never ran.
    pub exit_code: Option<i32>,
    /// Higher goes first.
    pub priority: i32,
    /// Quality of service: best-effort, standard or guaranteed.
    pub qos: String,
    /// Number of attempts that were started, of all its parts.
    pub attempts: u32,
    /// Number of attempts that were preempted.
    pub preemptions: u32,
    /// Number of attempts that ran, were interrupted for any reason and had to run again.
    pub restarts: u32,
    /// Processor time that was reserved for it, in attempts that have ended: milliseconds of one processor. This is what it was
    /// granted, not what it used; 0 where nodes do not report their processors, and for jobs that ended under a version
    /// before 0.2.
    #[serde(default)]
    pub used_cpu_ms: u64,
    /// Memory of hosts that was reserved for it, multiplied by the time for which it ran: milliseconds of one mebibyte;
    /// likewise.
    #[serde(default)]
    pub used_memory_mib_ms: u64,
    /// What it asks for: one entry for each role of each stage.
    #[serde(default)]
    pub asks_for: Vec<AskedFor>,
}

/// What one role of a stage asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskedFor {
    /// The name of the stage.
    pub stage: String,
    /// The name of the role.
    pub role: String,
    /// Number of tasks of a bag or replicas of a service; 1 for a gang. The rest is about each of them.
    pub tasks: u32,
    /// Number of workers at its narrowest.
    pub workers: u32,
    /// Number of workers at its widest.
    pub most_workers: u32,
    /// Devices for each worker; 0 for workers that need none.
    pub devices: u32,
    /// Acceptable kinds of device, the preferred first; any kind when empty.
    pub kinds: Vec<String>,
    /// Thousandths of each device; 1000 for whole devices.
    pub share_thousandths: u32,
    /// Memory that each device must have; 0 when it does not matter.
    pub device_memory_bytes: u64,
    /// Processors for each worker, in thousandths; 0 when the job does not say.
    pub cpu_thousandths: u64,
    /// Memory of the host for each worker; 0 when the job does not say.
    pub memory_bytes: u64,
    /// Acceptable number formats, the preferred first; any when empty.
    pub precision: Vec<String>,
    /// Container image; absent in lists, and for jobs without one.
    pub image: Option<String>,
}

/// State of a job.
///
/// ```text
/// held ─▶ waiting ─▶ starting ─▶ running ─▶ stopping ─▶ succeeded | failed | cancelled
///            ▲  └▶ paused ◀───────────────────┘  └─▶ waiting (it was interrupted, or tries again)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Pending: it waits for devices.
    Waiting,
    /// It waits for other jobs to end.
    Held,
    /// Paused by a user.
    Paused,
    /// Devices are granted, and its workers are being started.
    Starting,
    /// Its workers run.
    Running,
    /// It is being terminated and releases its devices.
    Stopping,
    /// All its work ended with success.
    Succeeded,
    /// A worker failed, or it exceeded its time limit.
    Failed,
    /// Cancelled by a user, or because a job it waited for ended in another way.
    Cancelled,
}

impl State {
    /// All of them, in the order of a job's life.
    pub const ALL: [State; 9] = [
        State::Waiting,
        State::Held,
        State::Paused,
        State::Starting,
        State::Running,
        State::Stopping,
        State::Succeeded,
        State::Failed,
        State::Cancelled,
    ];

    /// Whether nothing more will happen to it.
    pub fn has_ended(self) -> bool {
        matches!(self, State::Succeeded | State::Failed | State::Cancelled)
    }

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Held => "held",
            State::Paused => "paused",
            State::Starting => "starting",
            State::Running => "running",
            State::Stopping => "stopping",
            State::Succeeded => "succeeded",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// All details of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobDetail {
    /// The same as in a list of jobs.
    #[serde(flatten)]
    pub job: Job,
    /// Working directory of its workers.
    pub workdir: Option<String>,
    /// Its commands, one line for each role of each stage.
    pub command: Vec<String>,
    /// Jobs that it waits for.
    pub after: Vec<u64>,
    /// When it should have ended.
    pub deadline: Option<Moment>,
    /// The user's estimate of its run time, in seconds.
    pub estimate_s: Option<f64>,
    /// How long one attempt may run, in seconds.
    pub time_limit_s: Option<f64>,
    /// Number of failed attempts that are retried.
    pub retries: u32,
    /// Its parts that are granted as a whole: a gang, a task of a bag, a replica of a service. Empty for jobs that have ended.
    pub asks: Vec<Ask>,
    /// Number of parts; `asks` has the first thousand.
    #[serde(default)]
    pub parts: u64,
    /// Where the attempt that ended last ran, of a job that has ended; absent for jobs that ended under a version before 0.2.
    #[serde(default)]
    pub ran_on: Option<RanOn>,
    /// Files with its output.
    pub logs: Vec<String>,
    /// Its last entries of history, oldest first.
    #[serde(default)]
    pub story: Vec<StoryLine>,
    /// Output that could not be written, of all workers and attempts that have ended.
    pub output_lost: Option<OutputLost>,
}

/// Output that could not be written, because the disk was full or the file could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputLost {
    /// Number of bytes.
    pub bytes: u64,
    /// The moment from which on output was lost.
    pub since: Moment,
}

/// Where an attempt ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RanOn {
    /// Part of the job, as `17`, `17.1` or `17.1[3]`.
    pub ask: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// Names of its nodes.
    pub nodes: Vec<String>,
    /// Its devices, as `node[0]`; the first thousand.
    pub devices: Vec<String>,
}

/// An entry in the history of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoryLine {
    /// Time of the entry.
    pub at: Moment,
    /// Kind of entry: preempted, failed, interrupted, start-refused, node-lost, device-unhealthy, started, paused,
    /// resumed, cancelled. New kinds may come.
    pub kind: String,
    /// Part of the job, as `17`, `17.1` or `17.1[3]`.
    pub ask: String,
    /// Number of the attempt; 0 if it happened to the job as a whole.
    pub attempt: u32,
    /// The job for which it was preempted.
    pub by: Option<u64>,
    /// The node that was lost or has the unhealthy device.
    pub node: Option<String>,
    /// A sentence.
    pub text: String,
}

/// A part of a job that is granted as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ask {
    /// The name of its stage.
    pub stage: String,
    /// Index of the task of a bag or of the replica of a service, as in the job file; 0 for a gang.
    pub task: u32,
    /// What it is doing.
    pub state: State,
    /// Number of the attempt; 0 before the first.
    pub attempt: u32,
    /// Its node; the first one if there are several.
    pub node: Option<String>,
    /// Devices that it holds, as `node[0]`.
    pub devices: Vec<String>,
    /// Kind of the devices that it holds.
    #[serde(default)]
    pub kind: Option<String>,
    /// Processors that it holds, in thousandths, asked for or charged.
    #[serde(default)]
    pub cpu_thousandths: u64,
    /// Memory of hosts that it holds, asked for or charged.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Kind of the variant that it runs; absent where it runs none.
    #[serde(default)]
    pub variant: Option<String>,
    /// Number format that it was granted; absent where the job does not ask for any.
    #[serde(default)]
    pub precision: Option<String>,
    /// Since when it is in this state.
    pub since: Option<Moment>,
    /// Why it is in this state, in a few words.
    pub reason: String,
    /// What the backend that runs it reports, as `Slurm job 12 is pending: Priority`; absent when nothing.
    pub engine: Option<String>,
    /// What it last reported of itself; absent if it never did.
    #[serde(default)]
    pub progress: Option<Progress>,
}

/// What a part of a job last reported of itself, in its own unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Time of the last report.
    pub at: Moment,
    /// Attempt that reported last.
    pub attempt: u32,
    /// In words.
    pub text: String,
    /// What it counts in.
    pub unit: Option<String>,
    /// Work done so far.
    pub done: f64,
    /// Work in all.
    pub total: Option<f64>,
    /// Work that the last save would restore.
    pub saved: Option<f64>,
    /// Expected rate, per second: of its reports, the latest of which weigh most.
    pub rate_per_s: Option<f64>,
    /// Mean deviation from that rate.
    pub rate_spread_per_s: Option<f64>,
    /// Expected time left, in seconds.
    pub left_s: Option<f64>,
    /// Global batch size.
    pub batch: Option<u64>,
    /// Most memory used on one device.
    pub memory_bytes: Option<u64>,
    /// Most power drawn by one device.
    pub power_w: Option<f64>,
    /// Statistics by name.
    pub stats: BTreeMap<String, f64>,
}

/// A report of progress was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reported {
    /// Attempt that it counts for, as `12.0.0#1`. It counts only while that attempt runs.
    pub attempt: String,
}

/// Why a job is in its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The job.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: State,
    /// The explanation, a sentence each.
    pub sentences: Vec<String>,
    /// One entry for each group of parts in the same state. Of stages whose tasks are counted in `sentences`, those that
    /// have ended are left out.
    pub asks: Vec<AskReason>,
    /// What would let it start now, a sentence each. Each was tried on a copy of the scheduler.
    #[serde(default)]
    pub remedies: Vec<String>,
    /// Its last entries of history, oldest first.
    #[serde(default)]
    pub story: Vec<StoryLine>,
}

/// Why a part of a job is in its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskReason {
    /// Part of the job, as `17`, `17.1` or `17.1[3]`.
    pub ask: String,
    /// The same in words: `task 3 of stage fit`; empty for a job that has only one part.
    #[serde(default)]
    pub part: String,
    /// Reason, in a few words.
    pub reason: String,
}

/// Jobs of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobList {
    /// Their ids, 10,000 at most.
    pub jobs: Vec<u64>,
}

/// Result for one job of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acted {
    /// The id that was sent.
    pub id: u64,
    /// The status that a request about this job alone would have been answered with.
    pub status: u16,
    /// The job afterwards, if the request succeeded.
    pub job: Option<Job>,
    /// Why the request failed.
    pub problem: Option<Problem>,
}

/// Answer to a submission, once it is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// The id of the new job.
    pub id: u64,
    /// Its name.
    pub name: String,
}
