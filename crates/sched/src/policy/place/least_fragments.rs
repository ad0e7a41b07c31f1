//! Least growth of fragments: FGD (ATC'23).
//!
//! A fragment is free capacity that what is usually asked for cannot use. For one node and one request: all that is idle
//! there if the request does not fit on the node, else what is idle on devices that have too little left for it. The
//! fragments of a node are the mean over requests, weighted by how often they are asked for. A member goes where they grow
//! least.
//!
//! Growth counts in whole steps of 1/25 of a device. The exact minimum is worse: smaller differences say nothing, and
//! following them scatters shares over nodes that are short of processors (on the openb benchmark 94.4 % of all devices are
//! allocated instead of 95.4 %; the authors' code rounds too, though their paper does not say so). Within a step the
//! tightest node is taken, then the lowest id; a fresh throw of dice for each tie would cost five points.
//!
//! Simplified: only members that stand alone are weighed; gangs are placed as [`Consolidated`] does. Does badly when what is
//! asked for tomorrow is unlike what is asked for today.

mod demand;

pub use demand::Asked;

use super::{Consolidated, Need, Place, seat, share};
use consort_types::{DeviceId, Grant, Host, KindId, NodeId, WHOLE};
use demand::Demand;
use std::collections::BTreeMap;

/// Thousandths of a device below which growth is no growth.
const STEP: i64 = 40;

/// Where fragments grow least.
#[derive(Default)]
pub struct LeastFragments {
    /// What is usually asked for, and how often; what living jobs ask for when absent.
    pub asked: Option<Vec<Asked>>,
}

/// What was found out about nodes that have not changed since. Follows from the state, like everything in the index.
#[derive(Default)]
struct Note {
    /// The make of the cluster, and for a demand that follows from the jobs, the event it follows from.
    of: Option<(u64, u64)>,
    demand: Demand,
    /// The most processors and the most devices that a node has.
    most: (u64, u64),
    /// By kind: the nodes that have it; those that account for their host under the kind of the pools.
    nodes: Vec<Vec<NodeId>>,
    /// By node: its fragments.
    fragments: Vec<(u64, i64)>,
    /// By request, and by position among the nodes of its kind.
    rows: BTreeMap<Request, Vec<Cell>>,
}

type Request = (KindId, u32, u16, u64, Host);

/// What it would mean to put a member on a node.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// Of the node, when this was found out; none is 0.
    version: u64,
    weight: Option<Weight>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    steps: i64,
    /// What is left of the node, in thousandths of the largest.
    left: u64,
    /// The device of which a part is taken.
    device: DeviceId,
}

impl LeastFragments {
    /// The best node for one member.
    fn lone(&self, need: &Need<'_>) -> Option<(Weight, NodeId)> {
        need.free.notes.with(|note: &mut Note| {
            self.refresh(note, need);
            let Note { demand, most, nodes, fragments, rows, .. } = note;
            let nodes = &nodes[need.kind.index()];
            let row = rows.entry(request(need)).or_insert_with(|| vec![Cell::default(); nodes.len()]);
            let mut best: Option<(Weight, NodeId)> = None;
            for (&node, cell) in nodes.iter().zip(row) {
                let version = need.free.version(node);
                if cell.version != version {
                    let before = &mut fragments[node.index()];
                    if before.0 != version {
                        *before = (version, demand.fragments(&Lot::of(need, node)));
                    }
                    let weight = weigh(need, node, demand, before.1, *most);
                    *cell = Cell { version, weight };
                }
                let Some(weight) = cell.weight else { continue };
                if best.is_none_or(|best| (weight.steps, weight.left) < (best.0.steps, best.0.left))
                    && need.is_admitted(node)
                {
                    best = Some((weight, node));
                }
            }
            best
        })
    }

    fn refresh(&self, note: &mut Note, need: &Need<'_>) {
        let seen = if self.asked.is_some() { 0 } else { need.salt >> 20 };
        let of = Some((need.cluster.make, seen));
        if note.of == of {
            return;
        }
        let demand = match (&self.asked, need.view()) {
            (Some(asked), _) => Demand::of(need.cluster, demand::given(need.cluster, asked)),
            (None, Some(view)) => Demand::of(need.cluster, demand::living(need.cluster, view.classes())),
            (None, None) => Demand::default(),
        };
        let nodes = &need.cluster.nodes;
        let mut by_kind = vec![vec![]; need.cluster.kinds.len()];
        for (index, node) in nodes.iter().enumerate() {
            let pools = need.cluster.pools.filter(|_| !node.spec.host.is_none());
            let devices = node.devices().map(|id| need.cluster.device(DeviceId(id)).kind);
            let mut kinds: Vec<KindId> = devices.chain(pools).collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds.into_iter().for_each(|kind| by_kind[kind.index()].push(NodeId(index as u32)));
        }
        let most_cpu = nodes.iter().map(|node| node.spec.host.cpu_milli).max().unwrap_or(0);
        let most_devices = nodes.iter().map(|node| node.count).max().unwrap_or(0);
        let most = (most_cpu.max(1), u64::from(most_devices.max(1)));
        let fragments = vec![(0, 0); nodes.len()];
        *note = Note { of, demand, most, nodes: by_kind, fragments, ..Note::default() };
    }
}

/// What members ask for who find the same.
fn request(need: &Need<'_>) -> Request {
    (need.kind, need.devices, need.share, need.memory_bytes, need.host)
}

/// What is free on a node.
struct Lot {
    /// Thousandths by device, and its kind.
    devices: Vec<(KindId, u16)>,
    first: u32,
    /// `None` where they are not accounted for.
    cpu_milli: Option<u64>,
}

impl Lot {
    fn of(need: &Need<'_>, node: NodeId) -> Lot {
        let found = &need.cluster.nodes[node.index()];
        let devices = found.devices().map(DeviceId);
        let free = devices.map(|id| (need.cluster.device(id).kind, need.free.device(id).0));
        let is_accounted = found.spec.host.cpu_milli > 0;
        let cpu_milli = is_accounted.then(|| need.host_left(node).cpu_milli);
        Lot { devices: free.collect(), first: found.first, cpu_milli }
    }
}

/// How much fragments grow, in steps, and what is left; `None` when there is no room.
fn weigh(need: &Need<'_>, node: NodeId, demand: &Demand, before: i64, most: (u64, u64)) -> Option<Weight> {
    // Who insists on features finds out later: others ask for the same without them.
    if !need.free.is_usable(node) || !need.fits(node) {
        return None;
    }
    let mut lot = Lot::of(need, node);
    lot.cpu_milli = lot.cpu_milli.map(|left| left - need.host.cpu_milli);
    let idle: u64 = lot.devices.iter().map(|&(_, free)| u64::from(free)).sum();
    let taken = u64::from(need.devices) * u64::from(need.share);
    let left = lot.cpu_milli.unwrap_or(0) * 1000 / most.0 + (idle - taken) / most.1;
    let step = STEP * demand.total().max(1);
    let steps =
        |after: i64| (after - before).div_euclid(step) + i64::from((after - before).rem_euclid(step) > 0);
    if need.devices == 0 || need.share == WHOLE {
        let is_free = |free: &&mut (KindId, u16)| **free == (need.kind, WHOLE);
        lot.devices.iter_mut().filter(is_free).take(need.devices as usize).for_each(|free| free.1 = 0);
        let steps = steps(demand.fragments(&lot));
        return Some(Weight { steps, left, device: DeviceId(lot.first) });
    }
    let mut best: Option<Weight> = None;
    let mut tried: Vec<u16> = Vec::with_capacity(lot.devices.len());
    for (device, free) in need.parts(node) {
        if tried.contains(&free) {
            continue; // as good as the one before it
        }
        tried.push(free);
        let index = (device.0 - lot.first) as usize;
        lot.devices[index].1 = free - need.share;
        let steps = steps(demand.fragments(&lot));
        lot.devices[index].1 = free;
        if best.is_none_or(|best| steps < best.steps) {
            best = Some(Weight { steps, left, device });
        }
    }
    best
}

impl Place for LeastFragments {
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        if need.count > 1 || need.within.is_some() {
            return Consolidated.place(need);
        }
        let mut grants = Vec::with_capacity(need.devices as usize);
        need.take(self.lone(need)?.1, 1, &mut grants);
        Some(grants)
    }

    fn part(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        if need.count > 1 {
            return share::pack(need);
        }
        let (weight, node) = self.lone(need)?;
        let mut grants = Vec::with_capacity(1);
        need.grant(node, &[weight.device], &mut grants);
        Some(grants)
    }

    fn seat(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        if need.count > 1 {
            return seat::tightest(need);
        }
        let mut grants = vec![];
        need.grant(self.lone(need)?.1, &[], &mut grants);
        Some(grants)
    }

    fn cost(&self, need: &Need<'_>, grants: &[Grant]) -> Option<i64> {
        if need.count > 1 || need.within.is_some() {
            return None;
        }
        let node = need.node_of(grants.first()?);
        need.free.notes.with(|note: &mut Note| {
            let position = note.nodes[need.kind.index()].binary_search(&node).ok()?;
            let weight = note.rows.get(&request(need))?[position].weight?;
            Some((weight.steps << 24) + weight.left.min(0xff_ffff) as i64)
        })
    }
}
