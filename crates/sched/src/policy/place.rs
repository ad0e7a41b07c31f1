//! Where. One opinion per file.
//!
//! A place opinion chooses whole devices for the members of one role, of one kind, in one attempt. Shares of a
//! device need no opinion: they are packed with other shares ([`share`]).

mod best_fit;
mod consolidated;
pub(crate) mod share;

pub use best_fit::BestFit;
pub use consolidated::Consolidated;

use crate::free::Free;
use crate::node_set::NodeSet;
use crate::state::cluster::{Cluster, Level, NO_ISLAND};
use consort_types::{DeviceId, Grant, KindId, NodeId, WHOLE};

/// Members of one role that want whole devices of one kind.
pub struct Need<'a> {
    pub(crate) cluster: &'a Cluster,
    /// What is free, as the draft sees it, on whatever node; opinions ask below.
    pub(crate) free: &'a Free,
    /// The nodes that would do; `None` when all of them would.
    pub(crate) only: Option<NodeSet>,
    /// The kind.
    pub kind: KindId,
    /// How many members.
    pub count: u32,
    /// Devices for each, all on one node.
    pub devices: u32,
    pub(crate) within: Option<Level>,
}

/// A choice of nodes.
pub trait Place: Send + Sync {
    /// Devices for all members, member by member; or `None` when there is no room. Where it finds none, it finds none when
    /// even less is free: a plan relies on that, and does not ask twice.
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>>;
}

impl Need<'_> {
    /// Devices in all.
    pub fn total(&self) -> u32 {
        self.count.saturating_mul(self.devices)
    }

    fn is_admitted(&self, node: NodeId) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(node.0))
    }

    /// Wholly free devices of the kind, on all nodes that would do.
    pub fn free(&self) -> u32 {
        self.free.total_on(self.kind, self.only.as_ref())
    }

    /// The most of them that any one node has; at least that, where not every node would do.
    pub fn most(&self) -> u32 {
        self.free.most(self.kind)
    }

    /// Wholly free devices of the kind on one node; 0 when it takes no work or would not do.
    pub fn on_node(&self, node: NodeId) -> u32 {
        if self.is_admitted(node) { self.free.on_node(node, self.kind) } else { 0 }
    }

    /// Nodes that would do with exactly so many wholly free devices of the kind, lowest id first.
    pub fn nodes_with(&self, whole: u32) -> impl Iterator<Item = NodeId> + '_ {
        self.free.nodes_with(self.kind, whole).filter(|&node| self.is_admitted(node))
    }

    /// The node with the fewest wholly free devices that are still at least so many; lowest id on ties.
    pub fn tightest(&self, at_least: u32) -> Option<NodeId> {
        match self.only {
            None => self.free.tightest(self.kind, at_least),
            Some(_) => (at_least.max(1)..=self.most()).find_map(|free| self.nodes_with(free).next()),
        }
    }

    /// Wholly free devices of the kind in one domain.
    fn in_domain(&self, domain: u32) -> u32 {
        match self.only {
            None => self.free.in_domain(domain, self.kind),
            Some(_) => {
                self.cluster.domains[domain as usize].nodes.iter().map(|&node| self.on_node(node)).sum()
            }
        }
    }

    /// Partly free devices of the kind, least free first.
    fn partial(&self) -> impl Iterator<Item = (u16, DeviceId)> + '_ {
        let all = self.free.partial(self.kind);
        all.filter(|&(_, device)| self.only.is_none() || self.is_admitted(self.cluster.device(device).node))
    }

    /// How many members fit on a node with so many free devices.
    pub(crate) fn members_in(&self, free: u32) -> u32 {
        free / self.devices
    }

    /// Grants the first free devices of a node for so many members; the caller knows there are enough.
    pub fn take(&self, node: NodeId, members: u32, grants: &mut Vec<Grant>) {
        self.take_of(node, members, None, grants);
    }

    pub(crate) fn take_of(&self, node: NodeId, members: u32, island: Option<u32>, grants: &mut Vec<Grant>) {
        let memory_bytes = self.cluster.memory(self.kind);
        let wanted = (members * self.devices) as usize;
        let mut devices: Vec<_> = self.free.devices_on(self.cluster, node, self.kind, island).collect();
        if island.is_none() && devices.len() > wanted {
            // Islands that are already broken are used up first, so that whole ones stay whole.
            let size = |device: &DeviceId| {
                let island = self.cluster.device(*device).island;
                if island == NO_ISLAND {
                    0
                } else {
                    devices.iter().filter(|d| self.cluster.device(**d).island == island).count()
                }
            };
            let mut sized: Vec<_> = devices.iter().map(|device| (size(device), *device)).collect();
            sized.sort_unstable();
            devices = sized.into_iter().map(|(_, device)| device).take(wanted).collect();
            devices.sort_unstable();
        }
        grants.extend(devices.into_iter().take(wanted).map(|device| Grant {
            device,
            share: WHOLE,
            memory_bytes,
        }));
    }

    /// The whole need on one node or one island, tightest first; `None` when no node has room.
    pub(crate) fn on_one_node(&self) -> Option<Vec<Grant>> {
        let total = self.total();
        let mut grants = Vec::with_capacity(total as usize);
        if self.within != Some(Level::Island) {
            let node = self.tightest(total)?;
            self.take(node, self.count, &mut grants);
            return Some(grants);
        }
        for free in total..=self.most() {
            for node in self.nodes_with(free) {
                if let Some(island) = self.free.tightest_island(self.cluster, node, self.kind, total) {
                    self.take_of(node, self.count, Some(island), &mut grants);
                    return Some(grants);
                }
            }
        }
        None
    }
}
