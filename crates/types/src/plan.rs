//! What a policy may ask for.
//!
//! A plan is small: moves, what it was based on, and what the policy wants to remember. It names devices, never
//! intentions, so that applying it needs no policy.

use crate::id::{AllocationId, AskId, DeviceId, NodeId};
use crate::job::Qos;
use crate::time::Time;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

/// A checked list of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Plan {
    /// In the order in which they are applied.
    pub moves: Vec<Move>,
    /// When time alone could change the answer. Not a change in itself: a plan with only this is empty.
    pub wake_at: Option<Time>,
    /// How many events the state had seen.
    pub based_on: u64,
    /// Replaces the policy's memory when present.
    pub slot: Option<Slot>,
}

impl Plan {
    /// Whether applying it would change nothing. Empty plans are not journaled.
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty() && self.slot.is_none()
    }
}

/// What a policy remembers between plans, opaque to all others. It lives in the state, so that the journal can rebuild
/// it.
///
/// There is one. A policy reads it only if it wrote it; what another policy wrote stays until the first plan in which
/// the present one remembers something, which replaces it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct Slot {
    /// The name of the policy that wrote it. Absent in journals of versions before 0.2; no policy reads such a slot.
    #[serde(default)]
    pub policy: String,
    /// The policy's own version of the layout.
    pub version: u32,
    /// Its words.
    pub words: Vec<i64>,
}

/// Written by hand: in a journal a name that is absent is left out, so that older events keep their bytes; in a snapshot,
/// where fields have no names, every field must be there.
impl Serialize for Slot {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let is_named = !self.policy.is_empty() || !to.is_human_readable();
        let mut written = to.serialize_struct("Slot", 2 + usize::from(is_named))?;
        if is_named {
            written.serialize_field("policy", &self.policy)?;
        }
        written.serialize_field("version", &self.version)?;
        written.serialize_field("words", &self.words)?;
        written.end()
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Move {
    /// Grant devices to an ask. It begins once every allocation in `after` has given back what it holds.
    Start {
        /// What starts.
        ask: AskId,
        /// Where, and how wide.
        placement: Placement,
        /// Allocations whose devices it is promised, all stopped or shrunk earlier in this plan.
        after: Vec<AllocationId>,
    },
    /// Ask the world to end an allocation. Its devices are free once that has been observed.
    Stop {
        /// What ends.
        allocation: AllocationId,
        /// On whose account.
        cause: StopCause,
    },
    /// A suspect node's time is up: what ran there is over.
    Fence {
        /// Which node.
        node: NodeId,
    },
    /// Gives a running allocation another placement: wider, narrower or elsewhere. What it has beside the new placement is
    /// free, or goes to whom it was promised, once the world has given it up; until then it holds both.
    Resize {
        /// What is resized.
        allocation: AllocationId,
        /// What it is to have instead of what it has.
        placement: Placement,
        /// Allocations whose devices it is promised, all stopped or shrunk earlier in this plan.
        after: Vec<AllocationId>,
        /// Whether members join and leave while the attempt runs on. Otherwise the attempt ends, and the next one of the
        /// same ask starts on the new placement. Written down, so that a journal means the same in every world.
        in_place: bool,
    },
}

/// Why a plan ends an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopCause {
    /// Something with a better claim needs the devices; it goes back to its queue.
    Preempted {
        /// Who needs them.
        by: AskId,
        /// By which rule. Absent in journals of versions before 0.2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<Claim>,
    },
    /// One attempt exceeded its time limit; the job has failed.
    TimeLimit,
    /// The policy wants it to give way for now, on nobody's account; it goes back to its queue.
    Yield,
}

/// The rule by which one ask may preempt another, with the figures that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The tenant of the claimant was below its guarantee. In thousandths of a device of the kind that was short.
    Guarantee {
        /// What the tenant had.
        used: u64,
        /// What it is guaranteed.
        guarantee: u64,
    },
    /// The preempted job was best effort.
    BestEffort,
    /// The claimant has a higher priority, or a firmer quality of service at any priority.
    Priority {
        /// Of the claimant.
        claimant: (Qos, i32),
        /// Of the preempted job.
        victim: (Qos, i32),
    },
    /// The claimant comes first in the order of the policy.
    Order,
}

/// Devices for one ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Placement {
    /// For each role: which of its shapes, and how many members.
    pub fills: Vec<Fill>,
    /// Role by role, member by member, device by device. This order is the order of ranks. Behind the devices of each
    /// member comes what it takes of its node's host, as far as the node accounts for that.
    pub grants: Vec<Grant>,
}

impl Placement {
    /// Members of all roles.
    pub fn members(&self) -> u32 {
        self.fills.iter().map(|fill| fill.count).sum()
    }

    /// The devices alone.
    pub fn devices(&self) -> impl Iterator<Item = &Grant> {
        self.grants.iter().filter(|grant| !grant.is_of_host())
    }
}

/// How one role was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fill {
    /// Position in the role's list of shapes.
    pub shape: u8,
    /// Members.
    pub count: u32,
}

/// A device, a share of one, or an amount of a node's processors or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Grant {
    /// Which.
    pub device: DeviceId,
    /// Thousandths of it; 0 where it is of the host.
    pub share: u16,
    /// Memory on it; where it is of the host, bytes or thousandths of a processor.
    pub memory_bytes: u64,
}

impl Grant {
    /// Whether it is an amount of a node's processors or memory, and no device.
    pub fn is_of_host(&self) -> bool {
        self.share == 0
    }
}
