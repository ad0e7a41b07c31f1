//! What there is: nodes, devices, queues, tenants.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Unique.
    pub name: String,
    /// Whether it takes work.
    pub state: NodeState,
    /// How many devices it has.
    pub devices: u64,
    /// How many of them are in use, wholly or in part.
    pub used: u64,
    /// How many jobs are on it.
    pub jobs: u64,
    /// How many devices it has of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// What else is to be said; empty when nothing.
    pub note: String,
    /// What jobs may insist on: `ib`, `nvme`.
    #[serde(default)]
    pub features: Vec<String>,
    /// Its processors, in thousandths; 0 where they are not accounted for.
    #[serde(default)]
    pub cpu_thousandths: u64,
    /// Those of them that no job was given.
    #[serde(default)]
    pub cpu_thousandths_free: u64,
    /// Its main memory; 0 where it is not accounted for.
    #[serde(default)]
    pub memory_bytes: u64,
    /// What no job was given of it.
    #[serde(default)]
    pub memory_bytes_free: u64,
}

/// Whether a node takes work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    /// It does.
    Up,
    /// No new work; what runs there may finish.
    Draining,
    /// No sign of life, for a while.
    Suspect,
    /// Nothing of it runs any more.
    Fenced,
}

impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            NodeState::Up => "up",
            NodeState::Draining => "draining",
            NodeState::Suspect => "suspect",
            NodeState::Fenced => "fenced",
        })
    }
}

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// The machine it is in.
    pub node: String,
    /// Its position there.
    pub index: u32,
    /// Its kind.
    pub kind: String,
    /// Vendor; empty if unknown.
    pub vendor: String,
    /// What its maker calls this very one.
    pub uuid: Option<String>,
    /// Whether it can be had.
    pub state: DeviceState,
    /// How much of it is granted, in thousandths.
    pub used_thousandths: u32,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// The jobs that hold it or a part of it.
    pub jobs: Vec<u64>,
    /// How warm it is.
    pub temperature_c: Option<f64>,
    /// What it draws.
    pub power_w: Option<f64>,
    /// How busy it says it is.
    pub utilization_percent: Option<f64>,
    /// Memory in use, by any process.
    pub memory_used_bytes: Option<u64>,
    /// Why it cannot be granted, if it is unhealthy or in foreign use.
    pub why: Option<String>,
}

/// Whether a device can be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceState {
    /// No job holds it.
    Free,
    /// A job holds all of it.
    Used,
    /// Jobs hold parts of it.
    Shared,
    /// Used by a process that Consort did not start.
    Foreign,
    /// It must not be used.
    #[serde(alias = "ill")] // what daemons before 0.2 call it
    Unhealthy,
}

impl fmt::Display for DeviceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DeviceState::Free => "free",
            DeviceState::Used => "used",
            DeviceState::Shared => "shared",
            DeviceState::Foreign => "foreign",
            DeviceState::Unhealthy => "unhealthy",
        })
    }
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Unique.
    pub name: String,
    /// Queues of higher priority are served first.
    pub priority: i32,
    /// Whether the first that cannot start blocks those behind it.
    pub strict: bool,
    /// Tenants that may use it; empty admits all.
    pub tenants: Vec<String>,
    /// Jobs that wait in it.
    pub waiting: u64,
    /// Jobs of it that run.
    pub running: u64,
}

/// What a queue is to be like. Replaces what it was like; a queue that is not there is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueChange {
    /// Queues of higher priority are served first.
    #[serde(default)]
    pub priority: i32,
    /// Whether the first that cannot start blocks those behind it.
    #[serde(default)]
    pub strict: bool,
    /// Tenants that may use it; empty admits all.
    #[serde(default)]
    pub tenants: Vec<String>,
}

/// Who owns work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tenant {
    /// Unique.
    pub name: String,
    /// What it is promised and what it may not exceed, for each kind of device and part of hosts.
    pub quotas: Vec<Quota>,
    /// Devices it holds, by kind; parts of a device count as parts.
    pub holds: BTreeMap<String, f64>,
    /// What it has used so far, by kind.
    pub usage_device_hours: BTreeMap<String, f64>,
    /// Processors of hosts that it holds, in thousandths: what its jobs asked for, and what is only counted for them.
    #[serde(default)]
    pub cpu_thousandths: u64,
    /// Memory of hosts that it holds, likewise.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Processor time that it was granted so far: milliseconds of one processor.
    #[serde(default)]
    pub usage_cpu_ms: u64,
    /// Memory that it was granted so far, times the time for which it was: milliseconds of one mebibyte.
    #[serde(default)]
    pub usage_memory_mib_ms: u64,
    /// Its jobs that wait.
    pub waiting: u64,
    /// Its jobs that run.
    pub running: u64,
    /// Guarantees of it that cannot be met together with those of the other tenants, in a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a tenant is to be promised. Replaces its quotas; a tenant that is not there is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantChange {
    /// At most one for each kind; kinds that are not named have no guarantee and no ceiling.
    #[serde(default)]
    pub quotas: Vec<Quota>,
}

/// A promise and a ceiling for one kind of device; or a ceiling for the processors (`cpus`) or the memory (`mem`) of hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// The name of the kind, `cpus` or `mem`.
    pub kind: String,
    /// Guaranteed devices, for which jobs of tenants above their guarantee can be preempted. Not for `cpus` and `mem`.
    #[serde(default)]
    pub guarantee: u32,
    /// So many devices it never exceeds. Of `cpus` so many processors, of `mem` so many bytes: a job that asks for some
    /// waits until it fits below.
    #[serde(default)]
    pub ceiling: Option<u64>,
}
