//! What there is: nodes, devices, queues, tenants.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A node: one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Unique.
    pub name: String,
    /// Whether new jobs start there.
    pub state: NodeState,
    /// Number of its devices.
    pub devices: u64,
    /// Number of its devices that jobs hold, in whole or in part.
    pub used: u64,
    /// Number of jobs that hold something of it.
    pub jobs: u64,
    /// Number of its devices by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Remarks, such as unhealthy devices; empty when there are none.
    pub note: String,
    /// Features that jobs may require: `ib`, `nvme`.
    #[serde(default)]
    pub features: Vec<String>,
    /// Its processors, in thousandths; 0 where they are not accounted for.
    #[serde(default)]
    pub cpu_thousandths: u64,
    /// Processors that no job holds.
    #[serde(default)]
    pub cpu_thousandths_free: u64,
    /// Its main memory; 0 where it is not accounted for.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Main memory that no job holds.
    #[serde(default)]
    pub memory_bytes_free: u64,
}

/// Whether new jobs start on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    /// New jobs start there.
    Up,
    /// No new jobs start there; running ones may finish.
    Draining,
    /// It has stopped responding.
    Suspect,
    /// It was given up: its devices are taken back.
    Fenced,
}

impl NodeState {
    /// Every one.
    pub const ALL: [NodeState; 4] =
        [NodeState::Up, NodeState::Draining, NodeState::Suspect, NodeState::Fenced];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            NodeState::Up => "up",
            NodeState::Draining => "draining",
            NodeState::Suspect => "suspect",
            NodeState::Fenced => "fenced",
        }
    }
}

impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Name of its node.
    pub node: String,
    /// Index within the node.
    pub index: u32,
    /// Kind of the device.
    pub kind: String,
    /// Vendor; empty if unknown.
    pub vendor: String,
    /// Unique identifier given by the vendor.
    pub uuid: Option<String>,
    /// Whether it can be granted.
    pub state: DeviceState,
    /// Part of it that is granted, in thousandths.
    pub used_thousandths: u32,
    /// Memory of the device; absent if unknown.
    pub memory_bytes: Option<u64>,
    /// Jobs that hold it or a part of it.
    pub jobs: Vec<u64>,
    /// Temperature.
    pub temperature_c: Option<f64>,
    /// Power draw.
    pub power_w: Option<f64>,
    /// Utilization that it reports.
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

impl DeviceState {
    /// Every one.
    pub const ALL: [DeviceState; 5] = [
        DeviceState::Free,
        DeviceState::Used,
        DeviceState::Shared,
        DeviceState::Foreign,
        DeviceState::Unhealthy,
    ];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            DeviceState::Free => "free",
            DeviceState::Used => "used",
            DeviceState::Shared => "shared",
            DeviceState::Foreign => "foreign",
            DeviceState::Unhealthy => "unhealthy",
        }
    }
}

impl fmt::Display for DeviceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Unique.
    pub name: String,
    /// Queues of higher priority are served first.
    pub priority: i32,
    /// Whether the first job that cannot start blocks the jobs behind it.
    pub strict: bool,
    /// Tenants that may use it; all if empty.
    pub tenants: Vec<String>,
    /// Number of its jobs that hold no devices.
    pub waiting: u64,
    /// Number of its jobs that hold devices.
    pub running: u64,
}

/// Settings of a queue. Replaces all its settings; creates the queue if it does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueChange {
    /// Queues of higher priority are served first.
    #[serde(default)]
    pub priority: i32,
    /// Whether the first job that cannot start blocks the jobs behind it.
    #[serde(default)]
    pub strict: bool,
    /// Tenants that may use it; all if empty.
    #[serde(default)]
    pub tenants: Vec<String>,
}

/// A tenant: an account that owns jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tenant {
    /// Unique.
    pub name: String,
    /// Guarantees and ceilings, by kind of device, and ceilings for processors and memory of hosts.
    pub quotas: Vec<Quota>,
    /// Devices in use by its jobs, by kind; parts of a device count as parts.
    pub holds: BTreeMap<String, f64>,
    /// Device hours used so far, by kind.
    pub usage_device_hours: BTreeMap<String, f64>,
    /// Processors of hosts in use by its jobs, in thousandths: those that jobs asked for, and those charged to jobs without `cpus`.
    #[serde(default)]
    pub cpu_thousandths: u64,
    /// Memory of hosts in use by its jobs, likewise.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Processor time reserved so far: milliseconds of one processor.
    #[serde(default)]
    pub usage_cpu_ms: u64,
    /// Memory reserved so far, multiplied by time: milliseconds of one mebibyte.
    #[serde(default)]
    pub usage_memory_mib_ms: u64,
    /// Number of its jobs that hold no devices.
    pub waiting: u64,
    /// Number of its jobs that hold devices.
    pub running: u64,
    /// Warnings, a sentence each: guarantees that cannot be met together with those of other tenants.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Quotas of a tenant. Replaces all its quotas; creates the tenant if it does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantChange {
    /// At most one for each kind; kinds that are not named have no guarantee and no ceiling.
    #[serde(default)]
    pub quotas: Vec<Quota>,
}

/// Guarantee and ceiling for one kind of device, or a ceiling for the processors (`cpus`) or the memory (`mem`) of hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Name of the kind, `cpus` or `mem`.
    pub kind: String,
    /// Guaranteed devices, for which jobs of tenants above their guarantee can be preempted. Not for `cpus` and `mem`.
    #[serde(default)]
    pub guarantee: u32,
    /// Maximum number of devices in use; of `cpus` the number of processors, of `mem` the number of bytes. A job that would
    /// exceed it is pending. Processors granted as devices of kind `cpu` count for `cpus`.
    #[serde(default)]
    pub ceiling: Option<u64>,
}
