//! What is free, indexed so that placement asks and does not search.
//!
//! Derived from the cluster and never part of the state hash: `apply` keeps it in step, a draft borrows it, tries
//! things on it and puts everything back. `check` does not look at it, so an error here cannot reach the cluster.
//!
//! For each kind: nodes bucketed by how many wholly free devices they have, and the partly free devices.
//! Only usable nodes (up, not drained) are listed.

use crate::node_set::NodeSet;
use crate::notes::Notes;
use crate::state::cluster::{Cluster, FeatureId, NO_ISLAND};
use consort_types::*;
use std::collections::BTreeSet;

/// The index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// By device: free thousandths and free memory. Below zero where foreign use overlaps what we granted, so that
    /// giving back a part does not make the rest look free.
    devices: Vec<(i32, i64)>,
    nodes: Vec<NodeFree>,
    kinds: Vec<KindFree>,
    /// By domain, then by kind: wholly free devices on usable nodes.
    domains: Vec<Vec<u32>>,
    /// By feature: the nodes that have it, usable or not.
    features: Vec<NodeSet>,
    growth: Growth,
    pub(crate) notes: Notes,
}

/// When there last was more of a kind than before, by a clock that counts such moments. What found no room before that
/// moment may find some after it; what found none since then finds none now. Moved by `apply` alone: a draft that takes
/// and gives back has not made anything grow.
#[derive(Clone, Debug, Default)]
struct Growth {
    clock: u64,
    kinds: Vec<u64>,
    /// By node: rises whenever anything about it changes at all, if only in a draft.
    nodes: Vec<u64>,
}

/// When something changed is no part of what is free.
impl PartialEq for Growth {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Growth {}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NodeFree {
    usable: bool,
    /// By kind, for the kinds the node has: wholly free devices. Most nodes have one kind, and the index is copied often.
    first: Option<(KindId, u32)>,
    others: Vec<(KindId, u32)>,
}

impl NodeFree {
    fn whole(&self) -> impl Iterator<Item = &(KindId, u32)> {
        self.first.iter().chain(&self.others)
    }

    fn whole_mut(&mut self, kind: KindId) -> Option<&mut u32> {
        let mut all = self.first.iter_mut().chain(&mut self.others);
        all.find(|entry| entry.0 == kind).map(|entry| &mut entry.1)
    }
}

#[derive(Clone, Debug, Default)]
struct KindFree {
    /// `by_whole[n]`: usable nodes with exactly `n` wholly free devices of the kind, n > 0.
    by_whole: Vec<NodeSet>,
    total: u32,
    /// Partly free devices on usable nodes, least free first.
    partial: BTreeSet<(u16, DeviceId)>,
}

/// Equal when they list the same; how many empty buckets they have grown does not matter.
impl PartialEq for KindFree {
    fn eq(&self, other: &Self) -> bool {
        let buckets = self.by_whole.len().max(other.by_whole.len());
        let empty = NodeSet::default();
        let same = |n| self.by_whole.get(n).unwrap_or(&empty) == other.by_whole.get(n).unwrap_or(&empty);
        self.total == other.total && self.partial == other.partial && (0..buckets).all(same)
    }
}

impl Eq for KindFree {}

impl Free {
    /// Builds the index from nothing but the cluster.
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let mut free = Free::default();
        for node in 0..cluster.nodes.len() as u32 {
            free.admit(cluster, NodeId(node));
        }
        free.make_room(cluster);
        free
    }

    /// There is more of a kind than before, or of what stands beside it on its nodes.
    pub(crate) fn grew(&mut self, kind: KindId) {
        let Growth { clock, kinds, .. } = &mut self.growth;
        *clock += 1;
        if kinds.len() <= kind.index() {
            kinds.resize(kind.index() + 1, 0);
        }
        kinds[kind.index()] = *clock;
    }

    /// The growth clock.
    pub(crate) fn clock(&self) -> u64 {
        self.growth.clock
    }

    /// Whether there has been more of a kind since the clock showed this.
    pub(crate) fn has_grown(&self, kind: KindId, since: u64) -> bool {
        self.growth.kinds.get(kind.index()).is_some_and(|&last| last > since)
    }

    /// Makes room for kinds, domains, devices and nodes that are new in the cluster.
    pub(crate) fn make_room(&mut self, cluster: &Cluster) {
        let known = if self.kinds.len() == cluster.kinds.len() { self.domains.len() } else { 0 };
        self.kinds.resize(cluster.kinds.len(), KindFree::default());
        self.nodes.resize(cluster.nodes.len(), NodeFree::default());
        self.devices.extend(
            (self.devices.len() as u32..cluster.devices.len() as u32).map(|id| cluster.unheld(DeviceId(id))),
        );
        self.growth.nodes.resize(cluster.nodes.len(), 1);
        self.features.resize(cluster.features.len(), NodeSet::default());
        self.domains.resize(cluster.domains.len(), vec![]);
        for kinds in &mut self.domains[known..] {
            kinds.resize(cluster.kinds.len(), 0);
        }
    }

    /// Takes in a node that has just joined, for the first time or again.
    pub(crate) fn admit(&mut self, cluster: &Cluster, id: NodeId) {
        self.make_room(cluster);
        let node = &cluster.nodes[id.index()];
        assert!(!self.nodes[id.index()].usable, "it was fenced, or nobody knew it");
        (self.nodes[id.index()].first, self.nodes[id.index()].others) = (None, vec![]);
        for number in node.numbers() {
            self.devices[number.index()] = cluster.unheld(number);
        }
        for device in node.devices().map(DeviceId) {
            let kind = cluster.device(device).kind;
            let is_whole = u32::from(self.device(device).0 == WHOLE);
            let found = &mut self.nodes[id.index()];
            if let Some(whole) = found.whole_mut(kind) {
                *whole += is_whole;
            } else if found.first.is_none() {
                found.first = Some((kind, is_whole));
            } else {
                found.others.push((kind, is_whole));
            }
        }
        for (nodes, name) in self.features.iter_mut().zip(&cluster.features) {
            if node.spec.features.contains(name) {
                nodes.insert(id.0)
            } else {
                nodes.remove(id.0)
            };
        }
        self.growth.nodes[id.index()] += 1;
        self.set_usable(cluster, id, node.usable());
    }

    /// Forgets a fenced node that left for good.
    pub(crate) fn dismiss(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        assert!(!node.usable, "it was fenced");
        *node = NodeFree::default();
        self.features.iter_mut().for_each(|nodes| {
            nodes.remove(id.0);
        });
        self.growth.nodes[id.index()] += 1;
    }

    /// Lists or unlists a node.
    pub(crate) fn set_usable(&mut self, cluster: &Cluster, id: NodeId, usable: bool) {
        if self.nodes[id.index()].usable == usable {
            return;
        }
        self.nodes[id.index()].usable = usable;
        self.growth.nodes[id.index()] += 1;
        if usable && !cluster.nodes[id.index()].spec.host.is_none() {
            cluster.pool_kinds().for_each(|kind| self.grew(kind));
        }
        let kinds: Vec<(KindId, u32)> = self.nodes[id.index()].whole().copied().collect();
        for (kind, whole) in kinds {
            let (from, to) = if usable { (0, whole) } else { (whole, 0) };
            self.list(cluster, id, kind, from, to);
            if usable {
                self.grew(kind);
            }
        }
        for device in cluster.nodes[id.index()].devices().map(DeviceId) {
            let share = self.device(device).0;
            if share > 0 && share < WHOLE {
                let partial = &mut self.kinds[cluster.device(device).kind.index()].partial;
                if usable {
                    partial.insert((share, device))
                } else {
                    partial.remove(&(share, device))
                };
            }
        }
    }

    fn list(&mut self, cluster: &Cluster, node: NodeId, kind: KindId, from: u32, to: u32) {
        let listed = &mut self.kinds[kind.index()];
        let most = from.max(to) as usize;
        if listed.by_whole.len() <= most {
            listed.by_whole.resize(most + 1, NodeSet::default());
        }
        if from > 0 {
            listed.by_whole[from as usize].remove(node.0);
        }
        if to > 0 {
            listed.by_whole[to as usize].insert(node.0);
        }
        listed.total = listed.total - from + to;
        for &domain in &cluster.nodes[node.index()].domains {
            let count = &mut self.domains[domain as usize][kind.index()];
            *count = *count - from + to;
        }
    }

    /// A device's free part changed, for good and not only in a draft.
    pub(crate) fn sync(&mut self, cluster: &Cluster, id: DeviceId, unheld: (i32, i64)) {
        let was = self.devices[id.index()];
        self.set(cluster, id, unheld);
        if unheld.0 > was.0 || unheld.1 > was.1 {
            self.grew(cluster.device(id).kind);
        }
    }

    /// A device's free part changed.
    fn set(&mut self, cluster: &Cluster, id: DeviceId, (raw, memory): (i32, i64)) {
        let was = self.device(id).0;
        self.devices[id.index()] = (raw, memory);
        self.growth.nodes[cluster.device(id).node.index()] += 1;
        let share = self.device(id).0;
        if was == share {
            return;
        }
        let device = cluster.device(id);
        let node = &mut self.nodes[device.node.index()];
        let usable = node.usable;
        if (was == WHOLE) != (share == WHOLE) {
            let whole = node.whole_mut(device.kind).expect("the node has this kind");
            let from = *whole;
            *whole = if share == WHOLE { from + 1 } else { from - 1 };
            let to = *whole;
            if usable {
                self.list(cluster, device.node, device.kind, from, to);
            }
        }
        if usable {
            let partial = &mut self.kinds[device.kind.index()].partial;
            if was > 0 && was < WHOLE {
                partial.remove(&(was, id));
            }
            if share > 0 && share < WHOLE {
                partial.insert((share, id));
            }
        }
    }

    /// Takes a grant out of what is free, if it fits. Nothing of something always fits, also where less than nothing is left
    /// of a pool because foreign use overlaps what we granted.
    pub(crate) fn take(&mut self, cluster: &Cluster, grant: &Grant) -> bool {
        let Some(&(share, memory)) = self.devices.get(grant.device.index()) else { return false };
        let left = (share - i32::from(grant.share), memory - grant.memory_bytes as i64);
        let fits = left.0 >= 0 && (left.1 >= 0 || grant.memory_bytes == 0);
        if fits {
            self.set(cluster, grant.device, left);
        }
        fits
    }

    /// Puts a grant back.
    pub(crate) fn give(&mut self, cluster: &Cluster, grant: &Grant) {
        let (share, memory) = self.devices[grant.device.index()];
        self.set(cluster, grant.device, (share + i32::from(grant.share), memory + grant.memory_bytes as i64));
    }

    /// Undoes a [`give`](Self::give). Unlike `take` it never says no: where foreign use overlaps what we granted,
    /// less than nothing was free before, and that is what must be there again.
    pub(crate) fn ungive(&mut self, cluster: &Cluster, grant: &Grant) {
        let (share, memory) = self.devices[grant.device.index()];
        self.set(cluster, grant.device, (share - i32::from(grant.share), memory - grant.memory_bytes as i64));
    }

    /// Free thousandths and free memory of a device, wherever it is.
    pub fn device(&self, id: DeviceId) -> (u16, u64) {
        let (share, memory) = self.devices[id.index()];
        (share.max(0) as u16, memory.max(0) as u64)
    }

    /// How many members a node's host could take, each with this need; what is not accounted for is never short.
    pub(crate) fn hosts(&self, cluster: &Cluster, node: NodeId, need: &Host) -> u32 {
        let node = &cluster.nodes[node.index()];
        let each = Pool::ALL.into_iter().filter(|pool| pool.of(need) > 0);
        let fits = each.filter_map(|pool| Some(self.device(node.pool(pool)?).1 / pool.of(need)));
        fits.min().map_or(u32::MAX, |members| u32::try_from(members).unwrap_or(u32::MAX))
    }

    /// What is left of a node's host, for whoever weighs; 0 of what is not accounted for.
    pub(crate) fn host(&self, cluster: &Cluster, node: NodeId) -> Host {
        let left = |pool| cluster.nodes[node.index()].pool(pool).map_or(0, |id| self.device(id).1);
        Host { cpu_milli: left(Pool::Cpu), memory_bytes: left(Pool::Memory) }
    }

    /// A number that differs whenever anything about a node does.
    pub(crate) fn version(&self, node: NodeId) -> u64 {
        self.growth.nodes[node.index()]
    }

    /// Whether a node has devices of a kind, free or not.
    pub(crate) fn has_kind(&self, node: NodeId, kind: KindId) -> bool {
        self.nodes[node.index()].whole().any(|entry| entry.0 == kind)
    }

    /// Whether a node takes new work.
    pub(crate) fn is_usable(&self, node: NodeId) -> bool {
        self.nodes[node.index()].usable
    }

    /// The nodes that have all of these features; `None` when nothing is asked for and every node will do.
    pub(crate) fn nodes_having(&self, features: &[FeatureId]) -> Option<NodeSet> {
        let (first, rest) = features.split_first()?;
        let mut nodes = self.features[first.0 as usize].clone();
        rest.iter().for_each(|feature| nodes.keep(&self.features[feature.0 as usize]));
        Some(nodes)
    }

    /// Wholly free devices of a kind on usable nodes.
    pub fn total(&self, kind: KindId) -> u32 {
        self.kinds[kind.index()].total
    }

    /// The same on some of them.
    pub(crate) fn total_on(&self, kind: KindId, only: Option<&NodeSet>) -> u32 {
        let Some(only) = only else { return self.total(kind) };
        only.iter().map(|node| self.on_node(NodeId(node), kind)).sum()
    }

    /// Wholly free devices of a kind on one node; 0 when it takes no work.
    pub fn on_node(&self, node: NodeId, kind: KindId) -> u32 {
        let node = &self.nodes[node.index()];
        if !node.usable {
            return 0;
        }
        node.whole().find(|entry| entry.0 == kind).map_or(0, |entry| entry.1)
    }

    /// Wholly free devices of a kind in one domain.
    pub(crate) fn in_domain(&self, domain: u32, kind: KindId) -> u32 {
        self.domains[domain as usize][kind.index()]
    }

    /// The most wholly free devices that any one node has.
    pub fn most(&self, kind: KindId) -> u32 {
        let buckets = &self.kinds[kind.index()].by_whole;
        (1..buckets.len()).rev().find(|&n| !buckets[n].is_empty()).unwrap_or(0) as u32
    }

    /// Usable nodes with exactly so many wholly free devices of a kind, lowest id first.
    pub fn nodes_with(&self, kind: KindId, whole: u32) -> impl Iterator<Item = NodeId> + '_ {
        let bucket = self.kinds[kind.index()].by_whole.get(whole as usize);
        bucket.into_iter().flat_map(|nodes| nodes.iter().map(NodeId))
    }

    /// The usable node with the fewest wholly free devices that are still at least so many; lowest id on ties.
    pub fn tightest(&self, kind: KindId, at_least: u32) -> Option<NodeId> {
        let buckets = &self.kinds[kind.index()].by_whole;
        let first = at_least.max(1) as usize;
        buckets.get(first..)?.iter().find_map(|nodes| nodes.first()).map(NodeId)
    }

    /// Partly free devices of a kind, least free first.
    pub(crate) fn partial(&self, kind: KindId) -> impl Iterator<Item = (u16, DeviceId)> + '_ {
        self.kinds[kind.index()].partial.iter().copied()
    }

    /// Wholly free devices of one kind on one node, in order, optionally of one island.
    pub(crate) fn devices_on<'a>(
        &'a self,
        cluster: &'a Cluster,
        node: NodeId,
        kind: KindId,
        island: Option<u32>,
    ) -> impl Iterator<Item = DeviceId> + 'a {
        cluster.nodes[node.index()].devices().map(DeviceId).filter(move |&id| {
            let device = cluster.device(id);
            device.kind == kind
                && self.device(id).0 == WHOLE
                && island.is_none_or(|wanted| device.island == wanted)
        })
    }

    /// The island of a node with the fewest wholly free devices that are still at least so many.
    pub(crate) fn tightest_island(
        &self,
        cluster: &Cluster,
        node: NodeId,
        kind: KindId,
        at_least: u32,
    ) -> Option<u32> {
        let mut islands: Vec<(u32, u32)> = vec![]; // (island, free); a node has few
        for id in self.devices_on(cluster, node, kind, None) {
            let island = cluster.device(id).island;
            match islands.iter_mut().find(|entry| entry.0 == island) {
                _ if island == NO_ISLAND => {}
                Some(entry) => entry.1 += 1,
                None => islands.push((island, 1)),
            }
        }
        islands
            .into_iter()
            .filter(|entry| entry.1 >= at_least)
            .min_by_key(|entry| (entry.1, entry.0))
            .map(|entry| entry.0)
    }
}
