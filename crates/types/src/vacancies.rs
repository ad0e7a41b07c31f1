//! Numbers that are free again: those of nodes that left for good, and of their devices.
//!
//! Nodes and devices are numbered in order, and tables are indexed by these numbers. On a cluster that grows and shrinks all
//! day the tables must not grow with every node that ever was, so a node that joins takes the numbers of one that left:
//! the lowest node number, and the first block of exactly as many devices. The scheduler and the [`Directory`] number
//! nodes independently from the same events; both do it with this type, so that they agree.
//!
//! Devices that were replaced in a node that stayed keep their numbers to themselves until that node leaves: journals
//! written before nodes could leave number them so.
//!
//! [`Directory`]: crate::Directory

use crate::id::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

/// Numbers of nodes and blocks of device numbers that nothing uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vacancies {
    nodes: BTreeSet<NodeId>,
    /// By size: the first number of each vacant block.
    blocks: BTreeMap<u32, BTreeSet<u32>>,
    /// By node: blocks (first, size) of devices that it had before it got others.
    replaced: BTreeMap<NodeId, Vec<(u32, u32)>>,
}

/// A state that no node ever left has the hash that it had before nodes could leave.
impl Hash for Vacancies {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        if !self.nodes.is_empty() || !self.blocks.is_empty() {
            (&self.nodes, &self.blocks, &self.replaced).hash(hasher);
        }
    }
}

impl Vacancies {
    /// The number of a node that joins: the lowest vacant one, or `next`.
    pub fn take_node(&mut self, next: NodeId) -> NodeId {
        self.nodes.pop_first().unwrap_or(next)
    }

    /// The first number for this many devices: that of the first vacant block of this size, or `next`.
    pub fn take_block(&mut self, size: u32, next: u32) -> u32 {
        let Some(blocks) = self.blocks.get_mut(&size) else { return next };
        let first = blocks.pop_first().expect("empty sets are removed");
        if blocks.is_empty() {
            self.blocks.remove(&size);
        }
        first
    }

    /// A node got other devices; those it had are no longer there.
    pub fn replace(&mut self, node: NodeId, first: u32, size: u32) {
        if size > 0 {
            self.replaced.entry(node).or_default().push((first, size));
        }
    }

    /// A node left for good, and nothing refers to its devices any more.
    pub fn leave(&mut self, node: NodeId, first: u32, size: u32) {
        self.replace(node, first, size);
        for (first, size) in self.replaced.remove(&node).unwrap_or_default() {
            self.blocks.entry(size).or_default().insert(first);
        }
        self.nodes.insert(node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_numbers_that_fit_are_used_again() {
        let mut vacant = Vacancies::default();
        assert_eq!((vacant.take_node(NodeId(3)), vacant.take_block(8, 24)), (NodeId(3), 24));
        vacant.replace(NodeId(1), 8, 4);
        vacant.leave(NodeId(1), 16, 8);
        vacant.leave(NodeId(0), 0, 8);
        assert_eq!(vacant.take_block(2, 32), 32, "no block of this size");
        assert_eq!([vacant.take_block(8, 32), vacant.take_block(8, 32)], [0, 16]);
        assert_eq!([vacant.take_block(4, 32), vacant.take_block(4, 32)], [8, 32]);
        assert_eq!(
            [NodeId(0), NodeId(1), NodeId(9)].map(|_| vacant.take_node(NodeId(9))),
            [NodeId(0), NodeId(1), NodeId(9)]
        );
    }
}
