//! What NCCL would choose by itself: its own predictor, written again, so that a plan can be compared with what
//! `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING` prints.
//!
//! For ring and tree and the protocols LL, LL128 and Simple: a latency of base and messages, and bytes over a bandwidth
//! that is capped by generation, nodes and processor. The figures are in [`constants`].
//!
//! Simplified: no NVLS, CollNet and PAT; one operation at a time; channels and their bandwidth are arguments, where NCCL
//! searches the machine for them, and with several nodes their speed is the slower of inside and between; LL128 is
//! allowed wherever there is NVLink; a broadcast has the same channels in every node; network cards report no latency of
//! their own. Does badly: machines with NVSwitch, where NVLS often wins and is not seen here.

pub mod constants;

use super::cost::Operation;
use super::tiers::Tiers;
use constants as figures;
use serde::Serialize;

/// How NCCL lays out the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// A chain in each node and a double tree among nodes.
    Tree,
    /// A ring through all.
    Ring,
}

/// How bytes and flags travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Every 4 bytes with a flag: quick, half of the bandwidth.
    Ll,
    /// Every 120 bytes with a flag.
    Ll128,
    /// Chunks with a barrier.
    Simple,
}

/// What generation the devices are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// V100 and its kin.
    Volta,
    /// A100.
    Ampere,
    /// H100, H200.
    Hopper,
    /// B200, GB200.
    Blackwell,
}

/// What NCCL finds out about a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// All ranks.
    pub ranks: u32,
    /// All nodes; each has as many ranks.
    pub nodes: u32,
    /// Rings, or trees, side by side.
    pub channels: u32,
    /// What one channel carries, in GB/s.
    pub per_channel: f64,
    /// The devices.
    pub generation: Generation,
    /// Whether nodes have AMD processors, otherwise Intel ones.
    pub amd: bool,
    /// Whether NVLink joins the devices of a node, otherwise PCIe.
    pub nvlink: bool,
}

/// What NCCL would do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pick {
    /// The layout.
    pub layout: Layout,
    /// The protocol.
    pub protocol: Protocol,
    /// Seconds, as NCCL predicts them.
    pub time_s: f64,
}

const LAYOUTS: [Layout; 2] = [Layout::Tree, Layout::Ring];
const PROTOCOLS: [Protocol; 3] = [Protocol::Ll, Protocol::Ll128, Protocol::Simple];

impl Layout {
    /// As a tuner file writes it.
    pub fn name(self) -> &'static str {
        ["tree", "ring"][self as usize]
    }
}

impl Protocol {
    /// As a tuner file writes it.
    pub fn name(self) -> &'static str {
        ["ll", "ll128", "simple"][self as usize]
    }
}

impl Generation {
    /// By the name of a device: `h100`, `NVIDIA A100-SXM4-40GB`.
    pub fn of(kind: &str) -> Option<Self> {
        let kind = kind.to_ascii_lowercase();
        let known = [
            (Generation::Volta, &["v100", "volta", "t4"][..]),
            (Generation::Ampere, &["a100", "a800", "a40", "a30", "a10", "ampere", "rtx3090"]),
            (Generation::Hopper, &["h100", "h200", "h800", "h20", "gh200", "hopper"]),
            (Generation::Blackwell, &["b100", "b200", "b300", "gb200", "gb300", "blackwell"]),
        ];
        // The longest name that fits: `h200` is no `h20`, and a `gb200` holds `b200`.
        let fits =
            known.iter().flat_map(|(generation, names)| names.iter().map(move |name| (name, generation)));
        fits.filter(|(name, _)| kind.contains(**name))
            .max_by_key(|(name, _)| name.len())
            .map(|found| *found.1)
    }
}

impl Machine {
    /// The machine behind these tiers, in so many nodes. A channel carries 20 GB/s at the most, there are 2 to 32 of them,
    /// and together they carry what each rank gets inside a node, or all ranks of a node get between nodes.
    pub fn of(tiers: &Tiers, nodes: u32, generation: Generation) -> Self {
        let ranks = tiers.ranks();
        let nodes = nodes.clamp(1, ranks);
        let (per_node, mut below, mut bus) = (ranks / nodes, 1, f64::INFINITY);
        for tier in &tiers.tiers {
            let together = if below >= per_node && nodes > 1 { f64::from(per_node) } else { 1.0 };
            bus = bus.min(tier.each * together);
            below *= tier.members;
        }
        let bus = bus / 1e9;
        let channels = (bus / 20.0).ceil().clamp(2.0, 32.0);
        let (channels, per_channel) = (channels as u32, bus / channels);
        Self { ranks, nodes, channels, per_channel, generation, amd: false, nvlink: true }
    }

    /// Microseconds before the first byte and GB/s after it: what `TUNING` prints. `None` where NCCL does not do it so.
    pub fn figures(&self, operation: Operation, layout: Layout, protocol: Protocol) -> Option<(f64, f64)> {
        let does = match operation {
            Operation::AllReduce => true,
            Operation::AllToAll => false,
            _ => layout == Layout::Ring,
        };
        if !does || (protocol == Protocol::Ll128 && !self.nvlink) || self.ranks < 2 {
            return None;
        }
        Some((self.latency(operation, layout, protocol), self.bandwidth(operation, layout, protocol)))
    }

    fn steps(&self, operation: Operation, members: u32) -> f64 {
        match operation {
            Operation::AllReduce => 2.0 * f64::from(members - 1),
            Operation::Broadcast => f64::from(members),
            _ => f64::from(members - 1),
        }
    }

    fn bandwidth(&self, operation: Operation, layout: Layout, protocol: Protocol) -> f64 {
        let channels = f64::from(self.channels);
        let (row, column) = (self.generation as usize, (self.nodes.clamp(1, 3) - 1) as usize);
        let ll_most = figures::LL_MOST[if self.nodes == 1 { row } else { usize::from(self.amd) }][column];
        let bus = channels * self.per_channel;
        let ring = |bus: f64| match protocol {
            Protocol::Ll => ll_most.min(bus * 0.5),
            Protocol::Ll128 => (bus * 0.92).min(channels * figures::RING_LL128_MOST[row][column]),
            Protocol::Simple => bus,
        };
        let tree = |bus: f64| match protocol {
            Protocol::Ll => (bus / 3.8).min(ll_most),
            Protocol::Ll128 => {
                let part = if self.nodes == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
                (bus * part).min(channels * figures::TREE_LL128_MOST[row][column])
            }
            Protocol::Simple => bus,
        };
        match layout {
            Layout::Ring => ring(bus) * f64::from(self.ranks) / self.steps(operation, self.ranks),
            Layout::Tree => 0.5 * tree((bus * 0.92).min(channels * figures::TREE_MOST[row][column])),
        }
    }

    fn latency(&self, operation: Operation, layout: Layout, protocol: Protocol) -> f64 {
        let (row, column) = (layout as usize, protocol as usize);
        let base = figures::BASE[row][column];
        let inside = if self.nvlink { figures::NVLINK } else { figures::PCIE };
        let mut intra = inside[row][column];
        // With one rank in a node nothing hides the network: it costs what it costs a tree.
        let inter = figures::NETWORK[if self.ranks == self.nodes { 0 } else { row }][column];
        if layout == Layout::Tree {
            let chain = f64::from(self.ranks / self.nodes - 1) * intra;
            return base + 2.0 * (chain + f64::from(self.nodes.ilog2()) * inter);
        }
        if operation == Operation::Broadcast {
            return base + if self.nodes == 1 { intra } else { figures::NETWORK[row][column] };
        }
        let between = if self.nodes == 1 { 0.0 } else { self.steps(operation, self.nodes) };
        if self.nodes > 1 {
            let posting = if self.amd { 2.0 } else { 1.0 };
            intra = intra.max(if protocol == Protocol::Simple { 3.0 * posting } else { posting });
        }
        base + (self.steps(operation, self.ranks) - between) * intra + between * inter
    }

    /// Seconds that NCCL predicts.
    pub fn time(&self, operation: Operation, layout: Layout, protocol: Protocol, bytes: u64) -> Option<f64> {
        let (mut latency, mut bandwidth) = self.figures(operation, layout, protocol)?;
        if layout == Layout::Tree {
            let power = (bytes >> 6).checked_ilog2().unwrap_or(0) as usize;
            bandwidth *= figures::TREE_REACHED[protocol as usize].get(power).copied().unwrap_or(1.0);
        }
        let per_message = bytes / (u64::from(self.channels) * u64::from(self.ranks));
        let is_plateau = layout == Layout::Ring && protocol == Protocol::Simple && self.nodes > 1;
        if is_plateau && operation == Operation::AllReduce && per_message >= 64 {
            latency *= if self.generation == Generation::Volta { 1.9 } else { 1.4 };
        }
        Some(latency * 1e-6 + bytes as f64 / (bandwidth * 1e9))
    }

    /// What NCCL would do with a message of this size; `None` where it has no choice to make.
    pub fn pick(&self, operation: Operation, bytes: u64) -> Option<Pick> {
        let mut best: Option<Pick> = None;
        for layout in LAYOUTS {
            for protocol in PROTOCOLS {
                let Some(time_s) = self.time(operation, layout, protocol, bytes) else { continue };
                if best.is_none_or(|best| time_s < best.time_s) {
                    best = Some(Pick { layout, protocol, time_s });
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DGX: Machine = Machine {
        ranks: 8,
        nodes: 1,
        channels: 16,
        per_channel: 20.0,
        generation: Generation::Hopper,
        amd: false,
        nvlink: true,
    };

    #[test]
    fn figures_of_one_node_follow_the_formulas_by_hand() {
        let figures = |layout, protocol| DGX.figures(Operation::AllReduce, layout, protocol).unwrap();
        let near = |found: (f64, f64), latency: f64, bandwidth: f64| {
            assert!((found.0 - latency).abs() < 1e-9 && (found.1 - bandwidth).abs() < 1e-9, "{found:?}");
        };
        near(figures(Layout::Ring, Protocol::Simple), 8.4 + 14.0 * 3.4, 320.0 * 8.0 / 14.0);
        near(figures(Layout::Ring, Protocol::Ll), 6.6 + 14.0 * 0.6, 141.0 * 8.0 / 14.0);
        near(figures(Layout::Ring, Protocol::Ll128), 14.0 + 14.0 * 1.9, 294.4 * 8.0 / 14.0);
        near(figures(Layout::Tree, Protocol::Simple), 8.4 + 2.0 * 7.0 * 4.0, 147.2);
        near(figures(Layout::Tree, Protocol::Ll), 6.8 + 14.0 * 0.6, 294.4 / 3.8 / 2.0);
    }

    #[test]
    fn among_nodes_messages_between_them_cost_the_network() {
        let four = Machine { ranks: 32, nodes: 4, ..DGX };
        let (latency, _) = four.figures(Operation::AllReduce, Layout::Ring, Protocol::Simple).unwrap();
        assert!((latency - (8.4 + (62.0 - 6.0) * 3.4 + 6.0 * 14.0)).abs() < 1e-9);
        let (latency, _) = four.figures(Operation::AllReduce, Layout::Tree, Protocol::Ll).unwrap();
        assert!((latency - (6.8 + 2.0 * (7.0 * 0.6 + 2.0 * 5.0))).abs() < 1e-9);
        let amd = Machine { amd: true, ..four };
        let (latency, _) = amd.figures(Operation::AllGather, Layout::Ring, Protocol::Simple).unwrap();
        assert!((latency - (8.4 + 28.0 * 6.0 + 3.0 * 14.0)).abs() < 1e-9);
    }

    #[test]
    fn small_messages_go_by_ll_and_large_ones_by_simple_rings() {
        let many = Machine { ranks: 128, nodes: 16, ..DGX };
        let pick = |bytes| many.pick(Operation::AllReduce, bytes).map(|pick| (pick.layout, pick.protocol));
        assert_eq!(pick(1024), Some((Layout::Tree, Protocol::Ll)));
        assert_eq!(pick(4 << 30), Some((Layout::Ring, Protocol::Simple)));
        assert_eq!(many.pick(Operation::AllToAll, 1024), None);
        assert_eq!(many.pick(Operation::Broadcast, 1024).map(|pick| pick.layout), Some(Layout::Ring));
        let pcie = Machine { nvlink: false, ..DGX };
        assert_eq!(pcie.figures(Operation::AllReduce, Layout::Ring, Protocol::Ll128), None);
    }

    #[test]
    fn generations_are_known_by_the_names_of_devices() {
        assert_eq!(Generation::of("NVIDIA A100-SXM4-40GB"), Some(Generation::Ampere));
        assert_eq!(Generation::of("H200"), Some(Generation::Hopper));
        assert_eq!(Generation::of("gb200"), Some(Generation::Blackwell));
        assert_eq!(Generation::of("mi300x"), None);
    }
}
