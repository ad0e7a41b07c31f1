//! Jobs: in a line, in full, and why they are where they are.

use super::server::Problem;
use crate::moment::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A job in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Counts from 1, in the order of submission.
    pub id: u64,
    /// For people; need not be unique.
    pub name: String,
    /// Who owns it.
    pub tenant: String,
    /// Where it waits.
    pub queue: String,
    /// What it is doing.
    pub state: State,
    /// Why it is there, in a few words; empty when there is nothing to say.
    pub reason: String,
    /// Devices it holds, or asks for at its smallest while it holds none.
    pub devices: u64,
    /// When it was submitted.
    pub submitted: Moment,
    /// When its first worker was up.
    pub started: Option<Moment>,
    /// When it had ended and its last device was back.
    pub ended: Option<Moment>,
    /// Exit status, as a shell would tell it; absent until it has ended, and when it never ran.
    pub exit_code: Option<i32>,
    /// Higher goes first.
    pub priority: i32,
    /// How firmly it holds what it has: best-effort, standard or guaranteed.
    pub qos: String,
    /// How many times anything of it was started.
    pub attempts: u32,
    /// How many times devices were taken back from it.
    pub preemptions: u32,
    /// How many times something of it ran, was interrupted for whatever reason and had to run again.
    pub restarts: u32,
    /// Processor time that it was granted, in attempts that are over: milliseconds of one processor. So far as nodes account
    /// for their processors; 0 for jobs that ended under a version before 0.2.
    #[serde(default)]
    pub used_cpu_ms: u64,
    /// Memory of hosts that it was granted, times the time for which it ran: milliseconds of one mebibyte; likewise.
    #[serde(default)]
    pub used_memory_mib_ms: u64,
}

/// What a job is doing.
///
/// ```text
/// held ─▶ waiting ─▶ starting ─▶ running ─▶ stopping ─▶ succeeded | failed | cancelled
///            ▲  └▶ paused ◀───────────────────┘  └─▶ waiting (it was interrupted, or tries again)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It waits for devices.
    Waiting,
    /// It waits for other jobs.
    Held,
    /// Paused by a user.
    Paused,
    /// Devices are granted; it is being brought up.
    Starting,
    /// It runs.
    Running,
    /// It has been told to end and is releasing its devices.
    Stopping,
    /// It is done.
    Succeeded,
    /// It broke, or ran longer than it may.
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

/// A job in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobDetail {
    /// What is in its line.
    #[serde(flatten)]
    pub job: Job,
    /// Where its workers are started.
    pub workdir: Option<String>,
    /// What it runs, one line for each role of each stage.
    pub command: Vec<String>,
    /// Jobs that must have ended first.
    pub after: Vec<u64>,
    /// When it should have ended.
    pub deadline: Option<Moment>,
    /// How long it is said to need, in seconds.
    pub estimate_s: Option<f64>,
    /// How long one attempt may run, in seconds.
    pub time_limit_s: Option<f64>,
    /// How many failed attempts are tried again.
    pub retries: u32,
    /// Everything of it that is granted or refused as a whole: a gang, a task of a bag, a replica of a service.
    pub asks: Vec<Ask>,
    /// How many parts there are; `asks` has the first thousand.
    #[serde(default)]
    pub parts: u64,
    /// Files that hold its output.
    pub logs: Vec<String>,
    /// What happened to it lately, the oldest first.
    #[serde(default)]
    pub story: Vec<StoryLine>,
    /// Output that could not be kept, of all workers and attempts that have ended.
    pub output_lost: Option<OutputLost>,
}

/// Output that could not be kept, because the disk was full or the file could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputLost {
    /// How much.
    pub bytes: u64,
    /// The moment from which on output was lost.
    pub since: Moment,
}

/// One thing that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoryLine {
    /// When.
    pub at: Moment,
    /// What kind of thing: preempted, failed, interrupted, start-refused, node-lost, device-unhealthy, started, paused,
    /// resumed. New kinds may come.
    pub kind: String,
    /// Which part of the job, as `17`, `17.1` or `17.1[3]`.
    pub ask: String,
    /// Which attempt; 0 if it happened to the job as a whole.
    pub attempt: u32,
    /// The job for which it was preempted.
    pub by: Option<u64>,
    /// The node that was lost or has the unhealthy device.
    pub node: Option<String>,
    /// In words.
    pub text: String,
}

/// One part of a job that is granted or refused as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ask {
    /// The name of its stage.
    pub stage: String,
    /// Which task of the bag or replica of the service, as its owner counts; 0 for a gang.
    pub task: u32,
    /// What it is doing.
    pub state: State,
    /// Which attempt this is; 0 before the first.
    pub attempt: u32,
    /// Where it is; the first of its nodes when there are several.
    pub node: Option<String>,
    /// What it holds, as `node[0]`.
    pub devices: Vec<String>,
    /// Since when it is in this state.
    pub since: Option<Moment>,
    /// Why, in a few words.
    pub reason: String,
    /// What the world that carries it out says of it, as `Slurm job 12 is pending: Priority`; absent when nothing.
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

/// Why a job is where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The job.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: State,
    /// The answer for a person, a sentence each.
    pub sentences: Vec<String>,
    /// One entry for each group of asks in the same position. Of stages whose tasks are counted in `sentences`, those that
    /// have ended are left out.
    pub asks: Vec<AskReason>,
    /// What would let it start now, a sentence each; tried, not guessed.
    #[serde(default)]
    pub remedies: Vec<String>,
    /// What happened to it lately, the oldest first.
    #[serde(default)]
    pub story: Vec<StoryLine>,
}

/// Why one part of a job is where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskReason {
    /// Which, as `17`, `17.1` or `17.1[3]`.
    pub ask: String,
    /// The same in words: `task 3 of stage fit`; empty for a job that has only one part.
    #[serde(default)]
    pub part: String,
    /// Why.
    pub reason: String,
}

/// Jobs that one request is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobList {
    /// Their ids, 10,000 at most.
    pub jobs: Vec<u64>,
}

/// What became of one job of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acted {
    /// The id that was sent.
    pub id: u64,
    /// The status that a request about this job alone would have been answered with.
    pub status: u16,
    /// The job afterwards, if it was done.
    pub job: Option<Job>,
    /// Why it was not done.
    pub problem: Option<Problem>,
}

/// What a submission is answered with, once it is safe on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// The id of the new job.
    pub id: u64,
    /// Its name.
    pub name: String,
}
