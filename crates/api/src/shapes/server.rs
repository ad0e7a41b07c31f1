//! The server itself: how it is, what happened, and what went wrong.

use crate::moment::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Version of the program.
    pub version: String,
    /// Backend that runs jobs: local, slurm, kube.
    pub world: String,
    /// Data directory, in which its journal is.
    pub data_dir: String,
    /// Address on which it listens.
    pub url: String,
    /// Unix socket on which its owner needs no token; absent if it could not be created.
    #[serde(default)]
    pub socket: Option<String>,
    /// When it was started.
    pub started: Moment,
    /// Hash of the whole scheduler state, in hexadecimal; absent unless requested.
    pub state_hash: Option<String>,
    /// Number of events in its journal.
    pub position: u64,
    /// Name of its policy.
    pub policy: String,
    /// Number of jobs that hold no devices.
    pub waiting: u64,
    /// Number of jobs that hold devices.
    pub running: u64,
    /// Number of jobs that have ended.
    pub ended: u64,
    /// Number of devices.
    pub devices: u64,
    /// Warnings, a sentence each.
    pub notes: Vec<String>,
    /// What is wrong with the backend at the moment; it is among the notes too.
    pub trouble: Option<String>,
    /// Number of plans rejected since the start because they broke a rule. Each is a bug in the policy.
    #[serde(default)]
    pub plans_rejected: u64,
    /// The last few rejected plans, newest first.
    #[serde(default)]
    pub rejections: Vec<Rejection>,
}

/// A plan that was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rejection {
    /// When the plan was made.
    pub at: Moment,
    /// Name of the rule that it broke.
    pub rule: String,
    /// What is wrong with the plan.
    pub why: String,
}

/// The backend that runs jobs, checked for this request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct World {
    /// Name of the backend: local, slurm, kube.
    pub world: String,
    /// How it is reached, and its properties.
    pub lines: Vec<WorldLine>,
}

/// One property of the backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorldLine {
    /// Name of the property: `reached by`.
    pub what: String,
    /// Its value.
    pub says: String,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventLine {
    /// Position in the journal.
    pub position: u64,
    /// Time of the event.
    pub at: Moment,
    /// Kind of event: submitted, cancelled, paused, resumed, started, ended, output-lost, start-refused, planned,
    /// node-joined and so on. New kinds may come.
    pub kind: String,
    /// Job that it is about, if any.
    pub job: Option<u64>,
    /// In words.
    pub text: String,
    /// Tenant that it is about, if any.
    #[serde(default)]
    pub tenant: Option<String>,
    /// Node that it is about, if it is a single one: of an attempt, the node on which it runs, as far as that is known.
    #[serde(default)]
    pub node: Option<String>,
    /// Why it happened, as far as the event says: how an attempt ended, why a start was refused.
    #[serde(default)]
    pub cause: Option<String>,
    /// Figures by name: `attempt`, `exit_code`, `devices`, `workers`, `starts`, `ceiling.h200` and so on.
    #[serde(default)]
    pub numbers: BTreeMap<String, i64>,
    /// What a plan changes, the first hundred changes; `numbers` counts all.
    #[serde(default)]
    pub changes: Vec<EventChange>,
    /// Who caused it; absent in events of versions before 0.2.
    #[serde(default)]
    pub actor: Option<EventActor>,
}

/// One change of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventChange {
    /// `start`, `promise` (a start on devices that others still hold), `stop`, `resize` or `fence`.
    pub kind: String,
    /// The job that is started or stopped.
    pub job: Option<u64>,
    /// Part of the job, as `17`, `17.1` or `17.1[3]`.
    pub ask: Option<String>,
    /// Tenant of the job.
    pub tenant: Option<String>,
    /// The nodes on which it starts, or the node that is fenced.
    pub nodes: Vec<String>,
    /// Devices that are granted.
    pub devices: u32,
    /// Why it is stopped: the rule by which it is preempted (`guarantee`, `priority`, `best-effort`, `order`),
    /// `time-limit` or `yield`.
    pub cause: Option<String>,
    /// The job for which it is preempted.
    pub by: Option<u64>,
    /// In words.
    pub text: String,
}

/// Who caused an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventActor {
    /// A user, `token` for a client whose user is unknown, a world, or `scheduler`.
    pub who: String,
    /// `socket`, a TCP address, `world` or `scheduler`.
    pub from: String,
}

/// How the server stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shutdown {
    /// What happens to running jobs.
    pub workers: Workers,
}

/// What happens to running jobs when the server stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Workers {
    /// They keep running, and the next start finds them.
    Keep,
    /// They are terminated.
    Stop,
}

/// An error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// One sentence: what is wrong, and what to do.
    pub error: String,
    /// Rule by which the request was refused, if it was understood.
    pub rule: Option<String>,
    /// Line of the file that was sent, from 1.
    pub line: Option<u64>,
    /// Column in that line, from 1.
    pub column: Option<u64>,
    /// Field or parameter that is wrong.
    pub field: Option<String>,
}

impl Problem {
    /// Only the sentence.
    pub fn said(error: impl Into<String>) -> Self {
        Self { error: error.into(), ..Self::default() }
    }
}
