//! The server itself: how it is, what happened, and what went wrong.

use crate::moment::Moment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the server is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Of the program.
    pub version: String,
    /// Where work is carried out: local, slurm, kube.
    pub world: String,
    /// Where its journal is.
    pub data_dir: String,
    /// Where it listens.
    pub url: String,
    /// The Unix socket on which its owner needs no token; absent where none could be made.
    #[serde(default)]
    pub socket: Option<String>,
    /// Since when it is up.
    pub started: Moment,
    /// A hash of everything it knows, in hexadecimal.
    pub state_hash: Option<String>,
    /// How many events its journal holds.
    pub position: u64,
    /// The policy that decides.
    pub policy: String,
    /// Jobs that wait, for whatever.
    pub waiting: u64,
    /// Jobs that hold devices.
    pub running: u64,
    /// Jobs that have ended.
    pub ended: u64,
    /// Devices there are.
    pub devices: u64,
    /// Warnings, a sentence each.
    pub notes: Vec<String>,
    /// What is wrong with the world just now; among the notes too.
    pub trouble: Option<String>,
    /// Plans that broke a rule and were not carried out, since the start. Each is a bug in the policy.
    #[serde(default)]
    pub plans_rejected: u64,
    /// The last few of them, newest first.
    #[serde(default)]
    pub rejections: Vec<Rejection>,
}

/// A plan that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rejection {
    /// When it was made.
    pub at: Moment,
    /// The rule that it broke, by name.
    pub rule: String,
    /// What is wrong with it.
    pub why: String,
}

/// The world that carries out the work, asked anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct World {
    /// Which: local, slurm, kube.
    pub world: String,
    /// How it is reached and what it is like.
    pub lines: Vec<WorldLine>,
}

/// One thing that is to be said about the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorldLine {
    /// What this is about: `reached by`.
    pub what: String,
    /// What there is to say about it.
    pub says: String,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventLine {
    /// Its place in the journal.
    pub position: u64,
    /// When.
    pub at: Moment,
    /// What kind of thing: submitted, cancelled, paused, resumed, started, ended, output-lost, start-refused, planned,
    /// node-joined and so on. New kinds may come.
    pub kind: String,
    /// The job it is about, if it is about one.
    pub job: Option<u64>,
    /// In words.
    pub text: String,
    /// The tenant it is about, if it is about one.
    #[serde(default)]
    pub tenant: Option<String>,
    /// The node it is about, if it is about one.
    #[serde(default)]
    pub node: Option<String>,
    /// Why it happened, as far as the event says: how an attempt ended, why a start was refused.
    #[serde(default)]
    pub cause: Option<String>,
    /// Figures by name: `attempt`, `exit_code`, `devices`, `starts`, `stops` and so on.
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
    /// Which part of it, as `17`, `17.1` or `17.1[3]`.
    pub ask: Option<String>,
    /// Whose it is.
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

/// How the server is asked to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shutdown {
    /// What becomes of the work.
    pub workers: Workers,
}

/// What becomes of the work when the server goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Workers {
    /// It goes on, and is found again.
    Keep,
    /// It is ended.
    Stop,
}

/// What went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// One sentence: what, and what would pass.
    pub error: String,
    /// The rule that said no, when the request was understood and refused.
    pub rule: Option<String>,
    /// Where in the file that was sent; counts from 1.
    pub line: Option<u64>,
    /// Where in that line; counts from 1.
    pub column: Option<u64>,
    /// The field or parameter to blame.
    pub field: Option<String>,
}

impl Problem {
    /// Only the sentence.
    pub fn said(error: impl Into<String>) -> Self {
        Self { error: error.into(), ..Self::default() }
    }
}
