//! What is simulated: submissions with their hidden truth, and the cluster they meet.
//!
//! Readers turn files into plain data, the generator turns a seed into the same data. A reader promises that any
//! bytes at all give either a value or one [`ReadError`] that says where and what was expected: it never panics,
//! never loops, and uses memory in proportion to the file, up to the bounds in [`limits`]. Nothing in here decides
//! anything, and nothing in here shows a [`Truth`] to a policy.
//!
//! | read | for |
//! |---|---|
//! | [`read`] | any file, chosen by its extension and its header |
//! | [`cluster_file`] | the cluster a person describes (YAML) |
//! | [`job_list`], [`job_csv`] | the jobs a person describes (YAML, CSV) |
//! | [`helios`], [`tiresias`] | job tables of public benchmarks |
//! | [`swf`], [`philly`], [`pai`], [`helios_log`], [`gavel`], [`sia`], [`openb`] | logs and workloads as others publish them |
//! | [`generate`] | seeded workloads with a daily rhythm, and a demonstration cluster |
//! | [`limits`] | how large anything may be |

mod assemble;
pub mod cluster_file;
pub mod gavel;
pub mod generate;
pub mod helios;
pub mod helios_log;
pub mod job_csv;
pub mod job_list;
mod left_out;
mod lines;
mod moment;
pub mod openb;
pub mod pai;
pub mod philly;
pub mod read;
pub mod sia;
pub mod swf;
mod table;
pub mod tiresias;

pub use consort_types::file::{ReadError, limits};
pub(crate) use consort_types::file::{read_error, value, yaml};
pub use read::{read_cluster, read_workload};

use crate::truth::Speed;
use consort_types::{
    Condition, DeviceGroup, Host, Input, JobSpec, KindSpec, NodeSpec, QueueSpec, Settings, Span, TenantSpec,
    Time,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What every cluster has, declared or not: the tenant and the queue of whoever names none.
pub const DEFAULT: &str = "default";

/// Submissions, in the order in which they arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Sorted by [`Submission::at`]; those of one instant in the order of their source.
    pub submissions: Vec<Submission>,
    /// The tenants that the submissions name, in the order of their first mention, without quotas.
    pub tenants: Vec<TenantSpec>,
    /// The queues that the submissions name, in the order of their first mention, open to all and not strict.
    pub queues: Vec<QueueSpec>,
    /// What the reader has to tell a person: rows that are left out, and why. A sentence each.
    pub notes: Vec<String>,
}

/// By hand: notes are for people, and a workload without any keeps the digest it always had.
impl Hash for Workload {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.submissions, &self.tenants, &self.queues).hash(state);
    }
}

impl Workload {
    /// Declarations of the tenants and queues that `cluster` does not declare itself.
    pub fn undeclared(&self, cluster: &Cluster) -> Vec<Input> {
        let tenants = self.tenants.iter().filter(|tenant| {
            tenant.name != DEFAULT && !cluster.tenants.iter().any(|known| known.name == tenant.name)
        });
        let queues = self.queues.iter().filter(|queue| {
            queue.name != DEFAULT && !cluster.queues.iter().any(|known| known.name == queue.name)
        });
        let tenants = tenants.cloned().map(Input::SetTenant);
        tenants.chain(queues.cloned().map(Input::SetQueue)).collect()
    }
}

/// One job on its way in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Submission {
    /// What its source calls it; unique in the workload.
    pub label: String,
    /// When it arrives.
    pub at: Time,
    /// What is submitted. Its `after` is empty: ids exist only once jobs are accepted.
    pub spec: Arc<JobSpec>,
    /// Which earlier submissions it waits for, by position. Always smaller than its own.
    pub after: Vec<(usize, Condition)>,
    /// What only the simulated world knows.
    pub truth: Truth,
}

/// How a job really behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// For each stage, the run time of one ask of it at its largest width, without interruptions.
    pub lengths: Vec<Span>,
    /// So many first attempts of the first stage fail, half-way through.
    pub failures: u32,
    /// How fast it really is; in proportion to its width when absent.
    pub speed: Option<Arc<Speed>>,
}

/// By hand: a workload that says nothing of speed keeps the digest it had before there was any.
impl Hash for Truth {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.lengths, self.failures).hash(state);
        if let Some(speed) = &self.speed {
            speed.hash(state);
        }
    }
}

impl Truth {
    /// The length of what never ends by itself: a replica of a service.
    pub const FOREVER: Span = Span(i64::MAX);

    /// One stage of this length that never fails.
    pub fn runs(length: Span) -> Self {
        Self { lengths: vec![length], ..Self::default() }
    }
}

/// Everything that is there before the first job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// Levels, links and leases.
    pub settings: Settings,
    /// Kinds of device.
    pub kinds: Vec<KindSpec>,
    /// Nodes, in the order in which they join.
    pub nodes: Vec<NodeSpec>,
    /// Tenants and their quotas.
    pub tenants: Vec<TenantSpec>,
    /// Queues.
    pub queues: Vec<QueueSpec>,
}

impl Cluster {
    /// The inputs that build this cluster, in an order in which each is acceptable. The tenant and the queue
    /// called [`DEFAULT`] are always among them.
    pub fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![Input::Configure(self.settings.clone())];
        inputs.extend(self.kinds.iter().cloned().map(Input::SetKind));
        if !self.tenants.iter().any(|tenant| tenant.name == DEFAULT) {
            inputs.push(Input::SetTenant(plain_tenant(DEFAULT)));
        }
        inputs.extend(self.tenants.iter().cloned().map(Input::SetTenant));
        if !self.queues.iter().any(|queue| queue.name == DEFAULT) {
            inputs.push(Input::SetQueue(plain_queue(DEFAULT)));
        }
        inputs.extend(self.queues.iter().cloned().map(Input::SetQueue));
        inputs.extend(self.nodes.iter().cloned().map(Input::NodeJoined));
        inputs
    }

    /// So many like nodes, called `n1` and so on, each with so many devices of one kind. No racks, no links.
    pub fn uniform(kind: &str, nodes: u32, devices: u32) -> Cluster {
        let node = |number| NodeSpec {
            name: format!("n{number}"),
            domains: vec![],
            devices: vec![DeviceGroup { kind: kind.into(), count: devices, island: 0 }],
            features: vec![],
            host: Host::NONE,
        };
        Cluster {
            kinds: vec![KindSpec::named(kind)],
            nodes: (1..=nodes).map(node).collect(),
            ..Cluster::default()
        }
    }

    /// How many devices there are.
    pub fn devices(&self) -> u64 {
        self.nodes.iter().flat_map(|node| &node.devices).map(|group| u64::from(group.count)).sum()
    }

    /// How many devices of one kind there are.
    pub fn devices_of(&self, kind: &str) -> u64 {
        let groups = self.nodes.iter().flat_map(|node| &node.devices);
        groups.filter(|group| group.kind == kind).map(|group| u64::from(group.count)).sum()
    }
}

/// A tenant of whom only the name is known.
fn plain_tenant(name: &str) -> TenantSpec {
    TenantSpec { name: name.into(), quotas: vec![] }
}

/// A queue of which only the name is known.
fn plain_queue(name: &str) -> QueueSpec {
    QueueSpec { name: name.into(), priority: 0, strict: false, tenants: vec![] }
}

#[cfg(test)]
mod tests;
