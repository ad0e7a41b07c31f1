//! What arrives, and what it becomes once it is believed.
//!
//! An [`Input`] is a claim: from a user, from an administrator, from the world. `accept` looks at it and returns
//! either a refusal or an [`Event`]: the same claim, stamped, now a fact. Facts and committed plans are all that
//! the journal holds.

use crate::actor::Actor;
use crate::cluster::{Host, KindSpec, NodeSpec, Settings};
use crate::id::{AllocationId, JobId, NodeId};
use crate::job::JobSpec;
use crate::plan::Plan;
use crate::progress::Report;
use crate::tenant::{QueueSpec, TenantSpec};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A fact, stamped. Never edited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Never earlier than the event before it.
    pub at: Time,
    /// What happened.
    pub fact: Fact,
    /// Who caused it. Stamped by whoever keeps a journal; absent in simulations, and in journals of versions before 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}

impl Event {
    /// A fact that nobody is known to have caused.
    pub fn new(at: Time, fact: Fact) -> Self {
        Self { at, fact, actor: None }
    }
}

/// Without the actor: the state and its hash follow from what happened, whoever caused it.
impl Hash for Event {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.at.hash(state);
        self.fact.hash(state);
    }
}

/// Something that changed the state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// An input was accepted.
    Accepted(Input),
    /// A plan was committed.
    Planned(Plan),
}

/// Arrived, not yet believed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    // -- administrators
    /// Levels, links and leases; before the first node.
    Configure(Settings),
    /// Declare a kind of device, or change what is known of it while no node has one.
    SetKind(KindSpec),
    /// Declare a tenant or replace its quotas.
    SetTenant(TenantSpec),
    /// Declare a queue or replace its parameters.
    SetQueue(QueueSpec),
    /// Give a node no new work; what runs there may finish.
    Drain(NodeId),
    /// Use a drained node again.
    Undrain(NodeId),

    // -- users
    /// A new job. Its id is the next one.
    Submit(Arc<JobSpec>),
    /// End a job, whatever it is doing.
    Cancel(JobId),
    /// Give back what the job holds and do not start it until resumed.
    Pause(JobId),
    /// Undo a pause.
    Resume(JobId),

    // -- the world, about nodes
    /// A node presents itself, for the first time or after it was fenced.
    NodeJoined(NodeSpec),
    /// No sign of life: suspect, and fenced once lease and margin have passed.
    NodeSilent(NodeId),
    /// A sign of life from a suspect node: its work was never interrupted.
    NodeReturned(NodeId),
    /// The world has given the node up. Attempts that were there are told to go until their end is reported.
    NodeFenced(NodeId),
    /// A fenced node leaves for good: its name, its place and its devices are forgotten, and its number may be given to
    /// a node that joins later. Reported by a world once nothing of an earlier attempt is left on the node.
    NodeLeft(NodeId),
    /// Devices of a node are in use by somebody we do not schedule. Replaces the last such report.
    ForeignUse {
        /// Whose devices.
        node: NodeId,
        /// Thousandths in foreign hands, for each device of the node in order.
        shares: Vec<u16>,
        /// What is in foreign hands of the node's processors and memory. Absent in journals of versions before 0.2.
        #[serde(default, skip_serializing_if = "Host::is_none")]
        host: Host,
    },

    /// Devices of a node that must not be used. Replaces the last such report; work that holds one is moved.
    DeviceHealth {
        /// Whose devices.
        node: NodeId,
        /// Those that are ill, in order of position; all others are well.
        ill: Vec<Illness>,
    },

    // -- the world, about allocations
    /// All workers are up.
    Started(AllocationId),
    /// The world cannot start it there; nothing of it is running.
    StartRefused {
        /// What.
        allocation: AllocationId,
        /// In the world's words.
        why: String,
    },
    /// No worker is left and its devices are free.
    Ended {
        /// What.
        allocation: AllocationId,
        /// How.
        outcome: Outcome,
        /// What the world has to say about it, in its own words: `node n3 is down`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Arc<str>>,
    },
    /// Output of its workers could not be kept, for want of disk or of permission. Comes before the end, and changes nothing
    /// that is scheduled.
    OutputLost {
        /// Whose output.
        allocation: AllocationId,
        /// How much of it.
        bytes: u64,
        /// From which moment on.
        since: Time,
    },
    /// What running jobs report of themselves. It changes what is believed, and is no reason to plan.
    Progress(Vec<Report>),
    /// A resize in place is done: all members of the new placement are up, and nothing is left on what it lacks.
    Resized {
        /// What.
        allocation: AllocationId,
        /// The generation that was desired.
        generation: u32,
    },
    /// The world cannot resize it; it runs on as it did.
    ResizeRefused {
        /// What.
        allocation: AllocationId,
        /// The generation that was desired.
        generation: u32,
        /// In the world's words.
        why: Arc<str>,
    },
}

impl Input {
    /// The end of an allocation about which there is nothing more to say.
    pub fn over(allocation: AllocationId, outcome: Outcome) -> Self {
        Input::Ended { allocation, outcome, why: None }
    }

    /// The allocation that is over, according to this. Whoever wrote it down tells the world that it is settled.
    pub fn ended(&self) -> Option<AllocationId> {
        match self {
            Input::Ended { allocation, .. } | Input::StartRefused { allocation, .. } => Some(*allocation),
            _ => None,
        }
    }
}

/// A device that must not be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Illness {
    /// Its position in the node.
    pub device: u32,
    /// In the world's words: `fell off the bus`.
    pub why: Arc<str>,
}

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The work said so itself.
    #[default]
    Exit,
    /// A signal that was not ours.
    Signal,
    /// It used more memory than it was given.
    OutOfMemory,
    /// The command does not exist or cannot be executed.
    NotRun,
    /// A time limit that is not the job's own.
    TimeLimit,
    /// It needed more memory than its devices have, as its own last words say.
    DeviceMemory,
    /// Somebody ended it where it ran, past us. It is not tried again: whoever did it meant it.
    Cancelled,
}

/// How an allocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The work is done.
    Succeeded,
    /// The work broke; retried while retries are left.
    Failed {
        /// Exit status, as a shell would tell it: 128 and the number of the signal for one that was killed.
        code: i32,
        /// What kind of failure it was.
        #[serde(default)]
        cause: Cause,
    },
    /// It was ended because we asked, or because its node went away: not the work's fault.
    Stopped,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Succeeded => f.write_str("succeeded"),
            Outcome::Failed { code, cause: Cause::Exit } => write!(f, "failed with status {code}"),
            Outcome::Failed { code, cause: Cause::Signal } => {
                write!(f, "was killed by signal {}", code.saturating_sub(128))
            }
            Outcome::Failed { cause: Cause::OutOfMemory, .. } => f.write_str("ran out of memory"),
            Outcome::Failed { cause: Cause::DeviceMemory, .. } => f.write_str("ran out of device memory"),
            Outcome::Failed { cause: Cause::NotRun, .. } => f.write_str("could not be executed, see its log"),
            Outcome::Failed { cause: Cause::TimeLimit, .. } => {
                f.write_str("exceeded a time limit of the cluster")
            }
            Outcome::Failed { cause: Cause::Cancelled, .. } => f.write_str("was cancelled outside Consort"),
            Outcome::Stopped => f.write_str("stopped"),
        }
    }
}
