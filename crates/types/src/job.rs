//! What a person asks for: a job, as a small graph of stages.
//!
//! ```text
//! job ── stage ── role ── shape        most jobs: one stage, one role, one shape
//!        gang     worker  8 x h200
//!        bag      ps      2 x cpu
//!        service
//! ```
//! Everything here is by name, exactly as submitted; the scheduler resolves names when it accepts. A spec is
//! immutable once accepted, so it is shared by reference everywhere.

use crate::cluster::Host;
use crate::id::JobId;
use crate::precision::Precision;
use crate::time::{Span, Time};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A whole device, in thousandths. A share is any smaller positive number.
pub const WHOLE: u16 = 1000;

/// A submission.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobSpec {
    /// For people; need not be unique.
    pub name: String,
    /// Who owns it.
    pub tenant: String,
    /// Where it waits.
    pub queue: String,
    /// Higher goes first, within its class.
    pub priority: i32,
    /// How firmly it holds what it has.
    pub qos: Qos,
    /// What it consists of; `after` between stages makes it a graph.
    pub stages: Vec<StageSpec>,
    /// Jobs that must have ended first.
    pub after: Vec<Dependency>,
    /// When it should have ended; orders, never kills.
    pub deadline: Option<Time>,
    /// How long it is said to need at full width, without interruptions.
    pub estimate: Option<Span>,
    /// How long one attempt of any of its asks may run; one that runs longer ends the job as failed.
    pub time_limit: Option<Span>,
    /// Work that a restart adds (loading a saved model again).
    pub restart_cost: Span,
    /// How many failed attempts are tried again. Preemptions and lost nodes do not count.
    pub retries: u32,
    /// Wait after the first failed attempt; doubles with each further one, up to an hour.
    pub backoff: Span,
}

impl JobSpec {
    /// Devices of one ask at its smallest: of the stage that asks for most.
    pub fn least_devices(&self) -> u64 {
        self.most_of_stages(|role| {
            u64::from(role.count.min) * u64::from(role.shapes.first().map_or(0, |shape| shape.devices))
        })
    }

    /// Workers of one ask at its smallest, likewise.
    pub fn least_workers(&self) -> u64 {
        self.most_of_stages(|role| u64::from(role.count.min))
    }

    fn most_of_stages(&self, of: impl Fn(&Role) -> u64) -> u64 {
        self.stages.iter().map(|stage| stage.roles.iter().map(&of).sum()).max().unwrap_or(0)
    }

    /// A job of one gang with the plainest settings; the starting point for readers, tests and scenarios.
    pub fn gang(name: impl Into<String>, count: u32, shape: Shape) -> Self {
        let role = Role { name: "worker".into(), count: Count::exactly(count), shapes: vec![shape] };
        Self {
            name: name.into(),
            tenant: "default".into(),
            queue: "default".into(),
            priority: 0,
            qos: Qos::Standard,
            stages: vec![StageSpec::new("main", Form::Gang, vec![role])],
            after: vec![],
            deadline: None,
            estimate: None,
            time_limit: None,
            restart_cost: Span::ZERO,
            retries: 0,
            backoff: Span::seconds(10),
        }
    }
}

/// How firmly a job holds what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Qos {
    /// First to be taken back, by anyone above it; takes nothing back itself.
    BestEffort,
    /// May be taken back by a firmer class, by higher priority, or by a tenant below its guarantee.
    #[default]
    Standard,
    /// Never taken back.
    Guaranteed,
}

impl fmt::Display for Qos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Qos::BestEffort => "best-effort",
            Qos::Standard => "standard",
            Qos::Guaranteed => "guaranteed",
        })
    }
}

/// A job that must have ended first, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dependency {
    /// The job waited for.
    pub job: JobId,
    /// The ending that is waited for.
    pub when: Condition,
}

/// Which ending of a job releases those that wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// It succeeded; otherwise the dependent job can never run and ends too.
    #[default]
    Succeeded,
    /// It failed or was cancelled.
    Failed,
    /// It ended, however.
    Ended,
}

/// One node of a job's graph.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct StageSpec {
    /// For people.
    pub name: String,
    /// Whether its members run together, a few at a time, or for ever.
    pub form: Form,
    /// The members of the gang, or of each single task or replica.
    pub roles: Vec<Role>,
    /// Stages, by position, that must have ended first.
    pub after: Vec<u16>,
    /// What becomes of the other tasks of a bag when one has failed for good.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// For people: the index of each task of a bag, as its owner counts; by position when empty.
    #[serde(default)]
    pub indices: Vec<u32>,
}

/// What becomes of the other tasks of a bag when one has failed and no retry is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// They are stopped, and the job fails at once: what submissions mean that do not say, among them those of 0.1.
    #[default]
    Stop,
    /// They run to their end; then the job fails.
    Continue,
}

impl StageSpec {
    /// A stage that waits for no other.
    pub fn new(name: impl Into<String>, form: Form, roles: Vec<Role>) -> Self {
        let (after, indices) = (vec![], vec![]);
        Self { name: name.into(), form, roles, after, on_failure: OnFailure::Stop, indices }
    }

    /// What the owner calls this task.
    pub fn index(&self, task: u32) -> u32 {
        self.indices.get(task as usize).copied().unwrap_or(task)
    }
}

/// By hand, as that of a shape: a workload that was generated before keeps its digest.
impl Hash for StageSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, self.form, &self.roles, &self.after).hash(state);
        if self.on_failure != OnFailure::Stop {
            self.on_failure.hash(state);
        }
        if !self.indices.is_empty() {
            self.indices.hash(state);
        }
    }
}

/// By hand too: an event that says neither keeps its bytes.
impl Serialize for StageSpec {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let said = [self.on_failure != OnFailure::Stop, !self.indices.is_empty()];
        let [on_failure, indices] = said.map(|is_said| is_said || !to.is_human_readable());
        let mut written =
            to.serialize_struct("StageSpec", 4 + usize::from(on_failure) + usize::from(indices))?;
        written.serialize_field("name", &self.name)?;
        written.serialize_field("form", &self.form)?;
        written.serialize_field("roles", &self.roles)?;
        written.serialize_field("after", &self.after)?;
        if on_failure {
            written.serialize_field("on_failure", &self.on_failure)?;
        }
        if indices {
            written.serialize_field("indices", &self.indices)?;
        }
        written.end()
    }
}

impl StageSpec {
    /// Whether it is a gang that accepts more than one width.
    pub fn is_elastic(&self) -> bool {
        self.form == Form::Gang && self.roles.iter().any(|role| role.count.min < role.count.max)
    }
}

/// How the members of a stage run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// All together or not at all.
    Gang,
    /// So many tasks, any number of them at a time, each granted alone.
    Bag {
        /// How many.
        tasks: u32,
    },
    /// So many replicas that never end; one that ends is started again.
    Service {
        /// How many are wanted.
        replicas: u32,
    },
}

impl Form {
    /// How many asks the stage consists of.
    pub fn asks(self) -> u32 {
        match self {
            Form::Gang => 1,
            Form::Bag { tasks } => tasks,
            Form::Service { replicas } => replicas,
        }
    }
}

/// A kind of member: worker, parameter server, evaluator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Role {
    /// For people and for the environment of the worker.
    pub name: String,
    /// How many; elastic when the ends differ.
    pub count: Count,
    /// Acceptable hardware, in the user's order of preference. All members of a role get the same shape.
    pub shapes: Vec<Shape>,
}

/// An inclusive range of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Count {
    /// Fewer than this is useless.
    pub min: u32,
    /// More than this is not wanted.
    pub max: u32,
}

impl Count {
    /// Not elastic.
    pub const fn exactly(count: u32) -> Self {
        Self { min: count, max: count }
    }
}

/// An acceptable form of hardware for one member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Shape {
    /// Device kind; any when absent.
    pub kind: Option<String>,
    /// Devices for each member, all on one node; 0 for one that wants nothing but a part of a host.
    pub devices: u32,
    /// Thousandths of each device; [`WHOLE`] for all of it.
    pub share: u16,
    /// Memory needed on each device; 0 asks for what the share brings with it.
    pub memory_bytes: u64,
    /// A topology level (`island`, `node`, `rack`), or the class of link that joins one (`nvlink`): all members
    /// of the role must sit inside one such domain.
    pub within: Option<String>,
    /// Features that a node must all have, in order and each once.
    #[serde(default)]
    pub features: Vec<String>,
    /// A level like those of `within`, tighter than it: preferred, and given up where no such domain has room.
    #[serde(default)]
    pub prefer: Option<String>,
    /// What each member takes of its node beside devices. A member may want nothing else, and no device.
    #[serde(default)]
    pub host: Host,
    /// Number formats that would do, the preferred first: a kind that supports none of them is not acceptable. Any kind
    /// will do when empty.
    #[serde(default)]
    pub precisions: Vec<Precision>,
    /// What is done about an attempt that ran out of device memory.
    #[serde(default)]
    pub on_oom: OnOom,
}

/// What is done about an attempt that ran out of device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnOom {
    /// The same as about any failure.
    #[default]
    Retry,
    /// It is tried again on kinds with more memory only, and fails where there is none. So are later jobs of its name.
    Larger,
}

/// By hand too: a workload that was generated before there were features and the like keeps its digest.
impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.kind, self.devices, self.share, self.memory_bytes, &self.within).hash(state);
        if !self.features.is_empty() {
            self.features.hash(state);
        }
        if self.prefer.is_some() {
            self.prefer.hash(state);
        }
        if !self.host.is_none() {
            self.host.hash(state);
        }
        if !self.precisions.is_empty() {
            self.precisions.hash(state);
        }
        if self.on_oom != OnOom::Retry {
            self.on_oom.hash(state);
        }
    }
}

/// Written by hand for the same reason as that of a node: what is not asked for is not written.
impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let said = [
            !self.features.is_empty(),
            self.prefer.is_some(),
            !self.host.is_none(),
            !self.precisions.is_empty(),
            self.on_oom != OnOom::Retry,
        ];
        let written = said.map(|is_said| is_said || !to.is_human_readable());
        let [features, prefer, host, precisions, on_oom] = written;
        let fields = 5 + written.into_iter().filter(|is_written| *is_written).count();
        let mut written = to.serialize_struct("Shape", fields)?;
        written.serialize_field("kind", &self.kind)?;
        written.serialize_field("devices", &self.devices)?;
        written.serialize_field("share", &self.share)?;
        written.serialize_field("memory_bytes", &self.memory_bytes)?;
        written.serialize_field("within", &self.within)?;
        if features {
            written.serialize_field("features", &self.features)?;
        }
        if prefer {
            written.serialize_field("prefer", &self.prefer)?;
        }
        if host {
            written.serialize_field("host", &self.host)?;
        }
        if precisions {
            written.serialize_field("precisions", &self.precisions)?;
        }
        if on_oom {
            written.serialize_field("on_oom", &self.on_oom)?;
        }
        written.end()
    }
}

impl Shape {
    /// One whole device of this kind.
    pub fn of(kind: &str) -> Self {
        Self { kind: Some(kind.into()), ..Self::any() }
    }

    /// One whole device of whatever kind.
    pub fn any() -> Self {
        Self {
            kind: None,
            devices: 1,
            share: WHOLE,
            memory_bytes: 0,
            within: None,
            features: vec![],
            prefer: None,
            host: Host::NONE,
            precisions: vec![],
            on_oom: OnOom::Retry,
        }
    }
}
