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
use crate::state::cluster::{Cluster, Level, NO_ISLAND};
use consort_types::{Grant, KindId, NodeId, WHOLE};

/// Members of one role that want whole devices of one kind.
pub struct Need<'a> {
    pub(crate) cluster: &'a Cluster,
    /// What is free, as the draft sees it.
    pub free: &'a Free,
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
    /// Devices for all members, member by member; or `None` when there is no room.
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>>;
}

impl Need<'_> {
    /// Devices in all.
    pub fn total(&self) -> u32 {
        self.count.saturating_mul(self.devices)
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
            let size = |device: &consort_types::DeviceId| {
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
            let node = self.free.tightest(self.kind, total)?;
            self.take(node, self.count, &mut grants);
            return Some(grants);
        }
        for free in total..=self.free.most(self.kind) {
            for node in self.free.nodes_with(self.kind, free) {
                if let Some(island) = self.free.tightest_island(self.cluster, node, self.kind, total) {
                    self.take_of(node, self.count, Some(island), &mut grants);
                    return Some(grants);
                }
            }
        }
        None
    }
}
