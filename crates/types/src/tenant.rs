//! Who is owed what, and where they wait.

use serde::{Deserialize, Serialize};

/// Who owns work and is owed a share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TenantSpec {
    /// Unique.
    pub name: String,
    /// At most one for each device kind, for [`Pool::Cpu`](crate::Pool::Cpu) and for [`Pool::Memory`](crate::Pool::Memory); what is not
    /// named has no guarantee and no ceiling.
    pub quotas: Vec<Quota>,
}

/// A tenant's promise and ceiling for one kind of device, or its ceiling for a pool of the hosts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Quota {
    /// The name of the kind; of a pool ([`Pool::name`](crate::Pool::name)) where no kind is called so.
    pub kind: String,
    /// Guaranteed devices, for which jobs of tenants above their guarantee can be preempted. Always 0 for a pool.
    pub guarantee: u32,
    /// The most devices that the tenant may use; for a pool, processors or bytes of memory. A job that asks for some of the
    /// pool is pending until it fits below the ceiling.
    pub ceiling: Option<u64>,
}

/// An ordered waiting line with its own parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueueSpec {
    /// Unique.
    pub name: String,
    /// Queues of higher priority are served first.
    pub priority: i32,
    /// Whether the first that cannot start blocks those behind it. If not, they may pass it.
    pub strict: bool,
    /// Tenants that may use it; empty admits all.
    pub tenants: Vec<String>,
}
