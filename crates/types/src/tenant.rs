//! Who is owed what, and where they wait.

use serde::{Deserialize, Serialize};

/// Who owns work and is owed a share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TenantSpec {
    /// Unique.
    pub name: String,
    /// At most one for each device kind; kinds not named have no guarantee and no ceiling.
    pub quotas: Vec<Quota>,
}

/// A tenant's promise and ceiling for one kind of device.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Quota {
    /// The name of the kind.
    pub kind: String,
    /// So many devices it may take back from whoever holds more than promised.
    pub guarantee: u32,
    /// So many devices it never exceeds.
    pub ceiling: Option<u32>,
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
