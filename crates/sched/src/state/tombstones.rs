//! Attempts that lost a node to a fence and whose end the world has not reported yet.
//!
//! A fence takes the devices back at once, but the attempt itself may still be queued or running somewhere: a pending
//! job of a cluster manager, a worker behind a broken network. Until the world reports its end, or the node joins again,
//! the attempt stays desired `Gone`, and its ask does not start again. A world reports a node as joined only when nothing
//! of these attempts is left on it.

use consort_types::{AllocationId, AskId, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// Attempts by id, with the fenced nodes that they had a part on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tombstones(BTreeMap<AllocationId, Vec<NodeId>>);

/// A state without tombstones has the hash that it had before there were any.
impl Hash for Tombstones {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if !self.0.is_empty() {
            self.0.hash(hasher);
        }
    }
}

impl Tombstones {
    pub fn set(&mut self, attempt: AllocationId, node: NodeId) {
        let nodes = self.0.entry(attempt).or_default();
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }

    pub fn has(&self, attempt: AllocationId) -> bool {
        self.0.contains_key(&attempt)
    }

    /// The world reported the end of an attempt.
    pub fn clear(&mut self, attempt: AllocationId) {
        self.0.remove(&attempt);
    }

    /// A node joined again, and nothing of these attempts is left on it.
    pub fn clear_node(&mut self, node: NodeId) {
        self.0.retain(|_, nodes| {
            nodes.retain(|&other| other != node);
            !nodes.is_empty()
        });
    }

    /// An earlier attempt of this ask that may not be over yet, and a node it was on.
    pub fn of(&self, ask: AskId) -> Option<(AllocationId, NodeId)> {
        let from = AllocationId { ask, attempt: 0 };
        let to = AllocationId { ask, attempt: u32::MAX };
        self.0.range(from..=to).next().map(|(&attempt, nodes)| (attempt, nodes[0]))
    }

    /// An attempt that had a part on this node and may not be over yet.
    pub fn on(&self, node: NodeId) -> Option<AllocationId> {
        self.0.iter().find(|(_, nodes)| nodes.contains(&node)).map(|(&attempt, _)| attempt)
    }

    pub fn iter(&self) -> impl Iterator<Item = (AllocationId, &[NodeId])> {
        self.0.iter().map(|(&attempt, nodes)| (attempt, nodes.as_slice()))
    }
}
