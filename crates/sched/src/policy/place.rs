//! Where. One opinion per file.
//!
//! A place opinion chooses devices for the members of one role, of one kind, in one attempt. Most opinions are about whole
//! devices only: shares are packed with other shares ([`share`]), and members without devices sit where it is tightest
//! ([`seat`]).

mod best_fit;
mod consolidated;
mod least_fragments;
mod random;
mod seat;
mod share;
mod spread;

pub use best_fit::BestFit;
pub use consolidated::Consolidated;
pub use least_fragments::{Asked, LeastFragments};
pub use random::Random;
pub use spread::Spread;

use crate::free::Free;
use crate::node_set::NodeSet;
use crate::state::cluster::{Cluster, Level, NO_ISLAND};
use crate::view::{AskView, View};
use consort_types::{DeviceId, Grant, Host, KindId, NodeId, Pool, Time, WHOLE};
use std::collections::BTreeMap;

/// Members of one role that want devices of one kind.
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
    /// Devices for each, all on one node; 0 for members that want nothing but a part of a host.
    pub devices: u32,
    /// Thousandths of each device.
    pub share: u16,
    /// Memory on each device.
    pub memory_bytes: u64,
    /// What each member takes of its node beside devices.
    pub host: Host,
    /// Whether what it does not ask for is counted in proportion to its devices; see `Capabilities::counts_hosts`.
    pub(crate) counts_hosts: bool,
    pub(crate) within: Option<Level>,
    /// The view and the time, and the ask; where a plan is made.
    pub(crate) about: Option<About<'a>>,
    /// Differs from one decision to the next, and is the same whenever the same decision is made again.
    pub salt: u64,
}

/// On whose behalf room is looked for, and when.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub view: View<'a>,
    pub now: Time,
    /// None where it is asked for all asks of a class.
    pub ask: Option<AskView<'a>>,
}

/// A choice of nodes.
///
/// Sees what is needed, and through [`Need::ask`], [`Need::view`] and [`Need::now`] for whom, in which state and when.
///
/// Must hold for each of the three choices:
/// * It chooses from what is free, on nodes that would do, and grants every member whole.
/// * Whether there is room follows from the need and from what is free alone. The ask, the view and the time may decide
///   *where*, never *whether*.
/// * It is monotone: if it returns `None`, it returns `None` for any subset of the free devices; and if a number of
///   members fits, fewer fit too.
///
/// `lines/stuck.rs` remembers classes that found no room until something grows, `Full` in `pipeline.rs` does not ask
/// twice in a pass, and the pipeline finds widths by bisection: all rely on it. `tests/laws.rs` in `consort-sim` checks
/// every placement on random clusters; `consort_sim::swarm::laws` is there for your own.
pub trait Place: Send + Sync {
    /// Whole devices for all members, member by member; or `None` when there is no room.
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>>;

    /// Parts of devices, likewise.
    fn part(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        share::pack(need)
    }

    /// Places for members without devices, likewise.
    fn seat(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        seat::tightest(need)
    }

    /// What it would cost to take this. Of several shapes and kinds the cheapest is taken; an opinion that does not know
    /// takes the first that has room.
    fn cost(&self, _need: &Need<'_>, _grants: &[Grant]) -> Option<i64> {
        None
    }
}

impl<'a> Need<'a> {
    /// The ask for which room is looked for; `None` where it is asked for all asks of a class at once.
    pub fn ask(&self) -> Option<AskView<'a>> {
        self.about.and_then(|about| about.ask)
    }

    /// The state in which a plan is made; `None` where `accept` asks whether an empty cluster could hold something.
    pub fn view(&self) -> Option<View<'a>> {
        self.about.map(|about| about.view)
    }

    /// When the plan is made.
    pub fn now(&self) -> Option<Time> {
        self.about.map(|about| about.now)
    }
}

impl Need<'_> {
    /// Devices in all.
    pub fn total(&self) -> u32 {
        self.count.saturating_mul(self.devices)
    }

    /// Whatever it is that they want.
    pub(crate) fn placed_by(&self, place: &dyn Place) -> Option<Vec<Grant>> {
        let placed = match (self.devices, self.share) {
            (0, _) => place.seat(self),
            (_, WHOLE) => place.place(self),
            _ => place.part(self),
        };
        let counts = self.counts_hosts && self.devices > 0 && self.cluster.pools.is_some();
        if counts { placed.map(|grants| self.with_hosts(grants)) } else { placed }
    }

    /// The same grants, and behind those of each member its devices' share of each pool that it does not ask for, as far
    /// as something is left there.
    fn with_hosts(&self, placed: Vec<Grant>) -> Vec<Grant> {
        let thousandths = u64::from(self.devices) * u64::from(self.share);
        let mut left: BTreeMap<DeviceId, u64> = BTreeMap::new();
        let mut grants = Vec::with_capacity(3 * placed.len());
        let mut rest = placed.into_iter().peekable();
        while let Some(first) = rest.peek() {
            let id = self.node_of(first);
            grants.extend(rest.by_ref().take(self.devices as usize));
            for pool in Pool::ALL {
                let Some(device) = self.cluster.nodes[id.index()].pool(pool) else { continue };
                if pool.of(&self.host) > 0 {
                    grants.extend(rest.next());
                    continue;
                }
                let left = left.entry(device).or_insert_with(|| self.free.device(device).1);
                let memory_bytes = self.cluster.share_of_pool(id, pool, self.kind, thousandths).min(*left);
                *left -= memory_bytes;
                // Also where nothing is left: then it is plain where the grants of the next member begin.
                grants.push(Grant { device, share: 0, memory_bytes });
            }
        }
        grants
    }

    fn is_admitted(&self, node: NodeId) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(node.0))
    }

    /// How many members the host of a node could take.
    pub(crate) fn hosted_on(&self, node: NodeId) -> u32 {
        if self.host.is_none() { u32::MAX } else { self.free.hosts(self.cluster, node, &self.host) }
    }

    /// Nodes with devices of the kind that would do and take work, lowest id first; they may be full.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let nodes = (0..self.cluster.nodes.len() as u32).map(NodeId);
        let has_kind = |node| self.devices == 0 || self.free.has_kind(node, self.kind);
        nodes.filter(move |&node| has_kind(node) && self.free.is_usable(node) && self.is_admitted(node))
    }

    /// Whether one member fits on a node that takes work and would do.
    pub fn has_room(&self, node: NodeId) -> bool {
        self.is_admitted(node) && self.free.is_usable(node) && self.fits(node)
    }

    /// Whether a node has what one member needs, whether or not it would do otherwise.
    fn fits(&self, node: NodeId) -> bool {
        match (self.devices, self.share) {
            (0, _) => self.is_accounted(node) && self.hosted_on(node) > 0,
            (devices, WHOLE) => self.free.on_node(node, self.kind) >= devices && self.hosted_on(node) > 0,
            _ => self.hosted_on(node) > 0 && self.parts(node).next().is_some(),
        }
    }

    /// Whether a node has the free devices that one member needs, whatever its host has.
    pub(crate) fn has_devices(&self, node: NodeId) -> bool {
        match self.share {
            WHOLE => self.free.on_node(node, self.kind) >= self.devices,
            _ => self.parts(node).next().is_some(),
        }
    }

    /// Devices of a node with room for a part, and their free thousandths.
    pub fn parts(&self, node: NodeId) -> impl Iterator<Item = (DeviceId, u16)> + '_ {
        let devices = self.cluster.nodes[node.index()].devices().map(DeviceId);
        let of_kind = devices.filter(|&id| self.cluster.device(id).kind == self.kind);
        let free = of_kind.map(|id| (id, self.free.device(id)));
        let fits = free.filter(|(_, (share, memory))| *share >= self.share && *memory >= self.memory_bytes);
        fits.map(|(id, (share, _))| (id, share))
    }

    /// What is left of a node's host; 0 of what it does not account for.
    pub fn host_left(&self, node: NodeId) -> Host {
        self.free.host(self.cluster, node)
    }

    /// Free thousandths of all devices of a node, of whatever kind.
    pub fn idle(&self, node: NodeId) -> u64 {
        self.cluster.nodes[node.index()].devices().map(|id| u64::from(self.free.device(DeviceId(id)).0)).sum()
    }

    /// The node of a grant.
    pub fn node_of(&self, grant: &Grant) -> NodeId {
        self.cluster.device(grant.device).node
    }

    /// Wholly free devices of the kind, on all nodes that would do.
    pub fn free(&self) -> u32 {
        self.free.total_on(self.kind, self.only.as_ref())
    }

    /// The most of them that any one node has; at least that, where not every node would do.
    pub fn most(&self) -> u32 {
        self.free.most(self.kind)
    }

    /// Wholly free devices of the kind on one node, as far as its host could take members that use them; 0 when it takes no
    /// work or would not do.
    pub fn on_node(&self, node: NodeId) -> u32 {
        if !self.is_admitted(node) {
            return 0;
        }
        self.free.on_node(node, self.kind).min(self.hosted_on(node).saturating_mul(self.devices))
    }

    /// Nodes that would do with exactly so many wholly free devices of the kind, lowest id first; a host may be short.
    pub fn nodes_with(&self, whole: u32) -> impl Iterator<Item = NodeId> + '_ {
        self.free.nodes_with(self.kind, whole).filter(|&node| self.is_admitted(node))
    }

    /// The node with the fewest wholly free devices that are still at least so many; lowest id on ties.
    pub fn tightest(&self, at_least: u32) -> Option<NodeId> {
        if self.only.is_none() && self.host.is_none() {
            return self.free.tightest(self.kind, at_least);
        }
        let sizes = at_least.max(1)..=self.most();
        let mut nodes = sizes.flat_map(|free| self.nodes_with(free));
        nodes.find(|&node| self.on_node(node) >= at_least)
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
        devices.truncate(wanted);
        devices.chunks(self.devices as usize).for_each(|member| self.grant(node, member, grants));
    }

    /// Grants one member these devices, and what it takes of the host beside them.
    pub fn grant(&self, node: NodeId, devices: &[DeviceId], grants: &mut Vec<Grant>) {
        let (share, memory_bytes) = (self.share, self.memory_bytes);
        grants.extend(devices.iter().map(|&device| Grant { device, share, memory_bytes }));
        if self.host.is_none() {
            return;
        }
        for pool in Pool::ALL.into_iter().filter(|pool| pool.of(&self.host) > 0) {
            if let Some(device) = self.cluster.nodes[node.index()].pool(pool) {
                grants.push(Grant { device, share: 0, memory_bytes: pool.of(&self.host) });
            }
        }
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
            for node in self.nodes_with(free).filter(|&node| self.on_node(node) >= total) {
                if let Some(island) = self.free.tightest_island(self.cluster, node, self.kind, total) {
                    self.take_of(node, self.count, Some(island), &mut grants);
                    return Some(grants);
                }
            }
        }
        None
    }
}
