//! Nodes, their devices, and who holds how much of each.
//!
//! `held` is the truth about a device: what was granted and not yet observed to be released. The free-capacity
//! index (`free.rs`) is derived from it; `check` believes only this.
//!
//! The processors and the memory of a node that accounts for them are *pools*: devices of two kinds of their own, behind the
//! node's devices, of which amounts are granted and no thousandths. So everything that holds for a device (it is promised,
//! held, given back, lost with its node, charged to a tenant) holds for them too.

use consort_types::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The level of a number that no domain has.
const NO_LEVEL: u8 = u8::MAX;

/// An island number that means "joined to nothing".
pub(crate) const NO_ISLAND: u32 = u32::MAX;

/// Where a domain lies in the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Level {
    /// A configured level above the node, outermost first.
    Domain(u8),
    Node,
    Island,
}

/// A feature of nodes, by position among all that were ever named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct FeatureId(pub u32);

#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(crate) struct Cluster {
    pub settings: Settings,
    pub kinds: Vec<Kind>,
    pub nodes: Vec<Node>,
    pub devices: Vec<Device>,
    pub domains: Vec<Domain>,
    /// Names of features that some node has or once had.
    pub features: Vec<String>,
    /// Suspect nodes by the time at which they are fenced.
    pub suspects: BTreeSet<(Time, NodeId)>,
    /// Rises whenever what the cluster could ever hold changes.
    pub make: u64,
    /// The kind of all pools of processors, once there are pools; that of memory follows. Neither has a name that could be
    /// asked for.
    pub pools: Option<KindId>,
    /// What the hosts of all nodes have, whatever their health.
    pub hosts: Host,
    kind_by_name: BTreeMap<String, KindId>,
    node_by_name: BTreeMap<String, NodeId>,
    domain_by_path: BTreeMap<Vec<String>, u32>,
    feature_by_name: BTreeMap<String, FeatureId>,
    /// Numbers of nodes that left, and of their devices.
    pub vacant: Vacancies,
    /// Numbers of domains in which no node is left.
    vacant_domains: BTreeSet<u32>,
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct Kind {
    pub spec: KindSpec,
    /// How many nodes have how many devices of this kind, whatever their health: what the cluster could ever hold.
    pub sizes: BTreeMap<u32, u32>,
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct Node {
    pub spec: NodeSpec,
    pub first: u32,
    pub count: u32,
    /// One for each configured level, outermost first.
    pub domains: Vec<u32>,
    pub health: Health,
    pub drained: bool,
}

/// ```text
/// up ──silent──▶ suspect ──lease + margin, or the world's word──▶ fenced ──joined──▶ up
///  ▲───returned────┘                                                  └──left──▶ left; a new node may get its number
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Health {
    Up,
    Suspect {
        fence_at: Time,
    },
    Fenced,
    /// It is no longer a node: nothing of it is left but its number.
    Left,
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct Device {
    pub node: NodeId,
    pub kind: KindId,
    pub island: u32,
    /// Thousandths granted and not yet observed to be released.
    pub held: u16,
    pub held_memory: u64,
    /// Thousandths in foreign hands.
    pub foreign: u16,
    /// Why it must not be used, if so.
    pub ill: Option<Arc<str>>,
    /// How much there is of a pool.
    pub amount: u64,
    /// How much of a pool is in foreign hands.
    pub foreign_amount: u64,
}

#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub(crate) struct Domain {
    pub level: u8,
    pub name: String,
    pub nodes: Vec<NodeId>,
}

impl Node {
    /// Whether new work may go there.
    pub fn usable(&self) -> bool {
        self.health == Health::Up && !self.drained
    }

    /// Whether it is a node at all, whatever its health.
    pub fn is_there(&self) -> bool {
        self.health != Health::Left
    }

    /// How many numbers its devices and pools take.
    fn size(&self) -> u32 {
        self.count + if self.spec.host.is_none() { 0 } else { Pool::ALL.len() as u32 }
    }

    /// The numbers of its devices and, if it accounts for any part of its host, of both pools.
    pub fn numbers(&self) -> impl Iterator<Item = DeviceId> + use<> {
        (self.first..self.first + self.size()).map(DeviceId)
    }

    pub fn devices(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.count
    }

    /// What it accounts for of its host.
    pub fn pool(&self, pool: Pool) -> Option<DeviceId> {
        let behind = self.first + self.count + pool as u32;
        (pool.of(&self.spec.host) > 0).then_some(DeviceId(behind))
    }

    /// Its devices and pools; one that was taken out of it still has its number and is not among them.
    pub fn has(&self, id: DeviceId) -> bool {
        self.devices().contains(&id.0) || Pool::ALL.into_iter().any(|pool| self.pool(pool) == Some(id))
    }
}

impl Device {
    fn new(node: NodeId, kind: KindId, island: u32) -> Self {
        Device {
            node,
            kind,
            island,
            held: 0,
            held_memory: 0,
            foreign: 0,
            ill: None,
            amount: 0,
            foreign_amount: 0,
        }
    }
}

impl Cluster {
    pub fn kind(&self, name: &str) -> Option<KindId> {
        self.kind_by_name.get(name).copied()
    }

    /// The kind that a user means: the one of that name, else the first whose name differs only in case (`H200`).
    pub fn kind_meant(&self, name: &str) -> Option<KindId> {
        let alike = |kind: &Kind| kind.spec.name.eq_ignore_ascii_case(name) && !name.is_empty();
        self.kind(name).or_else(|| Some(KindId(self.kinds.iter().position(alike)? as u32)))
    }

    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.node_by_name.get(name).copied()
    }

    /// A feature that some node has or once had.
    pub fn feature(&self, name: &str) -> Option<FeatureId> {
        self.feature_by_name.get(name).copied()
    }

    /// Whether a node has all of these, by what it said of itself when it joined.
    pub fn has_features(&self, node: NodeId, wanted: &[FeatureId]) -> bool {
        let has = &self.nodes[node.index()].spec.features;
        wanted.iter().all(|id| has.contains(&self.features[id.0 as usize]))
    }

    pub fn kind_ids(&self) -> impl Iterator<Item = KindId> + use<> {
        (0..self.kinds.len() as u32).map(KindId)
    }

    pub fn device(&self, id: DeviceId) -> &Device {
        &self.devices[id.index()]
    }

    pub fn memory(&self, kind: KindId) -> u64 {
        self.kinds[kind.index()].spec.memory_bytes
    }

    /// A level, or the class of link that joins one, by name.
    pub fn level(&self, name: &str) -> Option<Level> {
        let settings = &self.settings;
        let linked = |link: &Option<String>| link.as_deref() == Some(name);
        if name == "island" || linked(&settings.island_link) {
            return Some(Level::Island);
        }
        if name == "node" || linked(&settings.node_link) {
            return Some(Level::Node);
        }
        // Innermost first: of two levels joined by the same class of link, the tighter one is meant.
        let found = settings.levels.iter().rposition(|level| level.name == name || linked(&level.link))?;
        Some(Level::Domain(found as u8))
    }

    /// Whether it is a pool, and no device that anybody could ask for.
    pub fn is_pool(&self, id: DeviceId) -> bool {
        self.pool_of(self.device(id).kind).is_some()
    }

    /// Whether devices of this kind are processors, which are in the pool of their node as well.
    pub fn is_processors(&self, kind: KindId) -> bool {
        self.kinds[kind.index()].spec.name == CPU
    }

    /// The pool whose kind this is.
    pub fn pool_of(&self, kind: KindId) -> Option<Pool> {
        let place = kind.0.wrapping_sub(self.pools?.0);
        Pool::ALL.get(place as usize).copied()
    }

    /// The kind of a pool, once there are pools.
    pub fn pool_kind(&self, pool: Pool) -> Option<KindId> {
        self.pools.map(|first| KindId(first.0 + pool as u32))
    }

    /// The kinds of the pools, once there are pools.
    pub fn pool_kinds(&self) -> impl Iterator<Item = KindId> + use<> {
        let first = self.pools.map_or(0, |kind| kind.0);
        let count = self.pools.map_or(0, |_| Pool::ALL.len() as u32);
        (first..first + count).map(KindId)
    }

    /// What a quota of this name is for, and how much one of its units is in an account: a kind, or where none is called so,
    /// a pool.
    pub fn quota_for(&self, name: &str) -> Option<(KindId, u64)> {
        let kind = self.kind(name).map(|kind| (kind, u64::from(WHOLE)));
        kind.or_else(|| Pool::named(name).and_then(|pool| Some((self.pool_kind(pool)?, pool.unit()))))
    }

    /// The kind of a grant, and how much of it that is: thousandths of devices, or an amount of a pool.
    pub fn amount(&self, grant: &Grant) -> (KindId, u64) {
        let kind = self.device(grant.device).kind;
        (kind, if self.pool_of(kind).is_some() { grant.memory_bytes } else { u64::from(grant.share) })
    }

    /// Bits by which amounts of a kind are shifted to the right in averages of what was held: bytes, multiplied by time and
    /// with bits behind the point, would not fit into 64 bits; mebibytes do.
    pub fn coarseness(&self, kind: KindId) -> u32 {
        if self.pool_of(kind) == Some(Pool::Memory) { 20 } else { 0 }
    }

    /// What these thousandths of devices bring with them of a pool of their node: in proportion to all accelerators of the
    /// node, or to all processors where the devices are processors.
    pub fn share_of_pool(&self, node: NodeId, pool: Pool, kind: KindId, thousandths: u64) -> u64 {
        let spec = &self.nodes[node.index()].spec;
        let is_cpu = self.is_processors(kind);
        let alike = spec.devices.iter().filter(|group| (group.kind == CPU) == is_cpu);
        let devices: u64 = alike.map(|group| u64::from(group.count)).sum();
        let all = u128::from(devices.max(1)) * u128::from(WHOLE);
        (u128::from(pool.of(&spec.host)) * u128::from(thousandths) / all) as u64
    }

    /// Thousandths of a device that nobody holds, and the memory beside them. Below zero where foreign use
    /// overlaps what we granted. There is nothing to be had of one that is ill. Of a pool, the second number is the amount.
    pub fn unheld(&self, id: DeviceId) -> (i32, i64) {
        let device = self.device(id);
        if self.pool_of(device.kind).is_some() {
            return (0, device.amount as i64 - device.held_memory as i64 - device.foreign_amount as i64);
        }
        let memory = self.memory(device.kind) as i64 - device.held_memory as i64;
        let foreign = if device.ill.is_some() { WHOLE } else { device.foreign };
        (i32::from(WHOLE) - i32::from(device.held) - i32::from(foreign), memory)
    }

    pub fn hold(&mut self, grant: &Grant) {
        let device = &mut self.devices[grant.device.index()];
        device.held += grant.share;
        device.held_memory += grant.memory_bytes;
        assert!(device.held <= WHOLE, "{} granted beyond its capacity", grant.device);
    }

    pub fn release(&mut self, grant: &Grant) {
        let device = &mut self.devices[grant.device.index()];
        assert!(device.held >= grant.share, "{} released more than was granted", grant.device);
        device.held -= grant.share;
        device.held_memory -= grant.memory_bytes;
    }

    pub fn set_kind(&mut self, spec: &KindSpec) -> KindId {
        self.make += 1;
        match self.kind(&spec.name) {
            Some(id) => {
                self.kinds[id.index()].spec = spec.clone();
                id
            }
            None => {
                let id = KindId(self.kinds.len() as u32);
                self.kinds.push(Kind { spec: spec.clone(), sizes: BTreeMap::new() });
                self.kind_by_name.insert(spec.name.clone(), id);
                id
            }
        }
    }

    /// Adds a node, or brings back a fenced one; its hardware may have changed meanwhile.
    pub fn join(&mut self, spec: &NodeSpec) -> NodeId {
        let domains = self.enter_domains(&spec.domains);
        self.enter_features(&spec.features);
        if let Some(id) = self.node(&spec.name) {
            let node = &self.nodes[id.index()];
            let same = node.spec.devices == spec.devices && node.spec.host == spec.host;
            let is_moved = node.domains != domains || node.spec.features != spec.features;
            self.make += u64::from(is_moved);
            for domain in node.domains.clone() {
                self.domains[domain as usize].nodes.retain(|&member| member != id);
            }
            if !same {
                self.count_sizes(&self.nodes[id.index()].spec.clone(), -1);
                let (first, size) = (self.nodes[id.index()].first, self.nodes[id.index()].size());
                self.vacant.replace(id, first, size);
                let (first, count) = self.add_devices(id, spec);
                (self.nodes[id.index()].first, self.nodes[id.index()].count) = (first, count);
                self.count_sizes(spec, 1);
            }
            let node = &mut self.nodes[id.index()];
            node.spec = spec.clone();
            node.health = Health::Up;
            node.domains.clone_from(&domains);
            self.list_in_domains(id, &domains);
            return id;
        }
        let id = self.vacant.take_node(NodeId(self.nodes.len() as u32));
        let (first, count) = self.add_devices(id, spec);
        let node = Node { spec: spec.clone(), first, count, domains, health: Health::Up, drained: false };
        self.list_in_domains(id, &node.domains);
        match self.nodes.get_mut(id.index()) {
            Some(left) => *left = node,
            None => self.nodes.push(node),
        }
        self.node_by_name.insert(spec.name.clone(), id);
        self.count_sizes(spec, 1);
        id
    }

    /// Forgets a fenced node on which nothing is left. Its numbers are free for others.
    pub fn leave(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        assert!(node.health == Health::Fenced, "a node is fenced before it leaves");
        let (first, size) = (node.first, node.size());
        let left = Node {
            spec: NodeSpec::default(),
            first: 0,
            count: 0,
            domains: vec![],
            health: Health::Left,
            drained: false,
        };
        let node = std::mem::replace(node, left);
        self.count_sizes(&node.spec, -1);
        self.node_by_name.remove(&node.spec.name);
        for &domain in &node.domains {
            self.domains[domain as usize].nodes.retain(|&member| member != id);
        }
        self.forget_empty_domains();
        self.vacant.leave(id, first, size);
    }

    fn forget_empty_domains(&mut self) {
        let (domains, vacant) = (&mut self.domains, &mut self.vacant_domains);
        self.domain_by_path.retain(|_, &mut id| {
            let domain = &mut domains[id as usize];
            if domain.nodes.is_empty() {
                *domain = Domain { level: NO_LEVEL, name: String::new(), nodes: vec![] };
                vacant.insert(id);
            }
            domain.level != NO_LEVEL
        });
    }

    fn enter_features(&mut self, names: &[String]) {
        for name in names {
            let next = FeatureId(self.features.len() as u32);
            if *self.feature_by_name.entry(name.clone()).or_insert(next) == next {
                self.features.push(name.clone());
            }
        }
    }

    fn list_in_domains(&mut self, id: NodeId, domains: &[u32]) {
        for &domain in domains {
            let nodes = &mut self.domains[domain as usize].nodes;
            let place = nodes.partition_point(|&member| member < id);
            nodes.insert(place, id);
        }
    }

    /// The first of its devices and their number; its pools follow.
    fn add_devices(&mut self, node: NodeId, spec: &NodeSpec) -> (u32, u32) {
        let mut devices = vec![];
        let mut island = 0;
        for group in &spec.devices {
            let kind = self.kind(&group.kind).expect("accept admits only known kinds");
            for position in 0..group.count {
                let number = position.checked_div(group.island).map_or(NO_ISLAND, |nth| island + nth);
                devices.push(Device::new(node, kind, number));
            }
            if group.island != 0 {
                island += group.count.div_ceil(group.island);
            }
        }
        let count = devices.len() as u32;
        if !spec.host.is_none() {
            self.enter_pools();
            for (pool, kind) in Pool::ALL.into_iter().zip(self.pool_kinds()) {
                let amount = pool.of(&spec.host);
                devices.push(Device { amount, ..Device::new(node, kind, NO_ISLAND) });
            }
        }
        let next = self.devices.len();
        let first = self.vacant.take_block(devices.len() as u32, next as u32);
        let end = next.min(first as usize + devices.len());
        self.devices.splice(first as usize..end, devices);
        (first, count)
    }

    /// Makes the kinds of the pools, unless they are there.
    pub fn enter_pools(&mut self) {
        if self.pools.is_none() {
            self.pools = Some(KindId(self.kinds.len() as u32));
            let spec = KindSpec { by_name: true, ..KindSpec::named("") };
            self.kinds.extend(Pool::ALL.map(|_| Kind { spec: spec.clone(), sizes: BTreeMap::new() }));
        }
    }

    fn count_sizes(&mut self, spec: &NodeSpec, change: i32) {
        self.make += 1;
        let Host { cpu_milli, memory_bytes } = &mut self.hosts;
        let count = |sum: u64, part: u64| {
            if change < 0 { sum.saturating_sub(part) } else { sum.saturating_add(part) }
        };
        (*cpu_milli, *memory_bytes) =
            (count(*cpu_milli, spec.host.cpu_milli), count(*memory_bytes, spec.host.memory_bytes));
        for kind in self.kind_ids() {
            let name = &self.kinds[kind.index()].spec.name;
            let count: u32 =
                spec.devices.iter().filter(|group| group.kind == *name).map(|group| group.count).sum();
            if count > 0 {
                let nodes = self.kinds[kind.index()].sizes.entry(count).or_default();
                *nodes = nodes.checked_add_signed(change).expect("a node is counted once");
            }
        }
    }

    fn enter_domains(&mut self, path: &[String]) -> Vec<u32> {
        (0..path.len())
            .map(|level| {
                let key = path[..=level].to_vec();
                let (domains, vacant) = (&mut self.domains, &mut self.vacant_domains);
                *self.domain_by_path.entry(key).or_insert_with(|| {
                    let domain = Domain { level: level as u8, name: path[level].clone(), nodes: vec![] };
                    match vacant.pop_first() {
                        Some(number) => {
                            domains[number as usize] = domain;
                            number
                        }
                        None => {
                            domains.push(domain);
                            domains.len() as u32 - 1
                        }
                    }
                })
            })
            .collect()
    }
}
