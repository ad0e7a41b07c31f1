//! Closed forms: seconds of a collective among ranks that are all alike.
//!
//! The alpha-beta view of Hockney: a message costs its latency and its bytes over the bandwidth, every rank sends one
//! message and receives one at a time. Forms as in Thakur, Rabenseifner and Gropp (2005).
//!
//! Any number of ranks is taken, not only powers of two, with the round-up of the logarithm. That is honest for operators
//! that commute: Bruck and Ho (1993) combine whole vectors in so few rounds for any number, and the circulant
//! reduce-scatter of Traff does the same for parts. Libraries that fold the odd ranks in first need two rounds more.
//!
//! Simplified: adding numbers costs nothing, links do not disturb each other, latency does not depend on the distance.
//! Does badly: mid-sized messages on real devices, where a library changes its protocol and with it the bandwidth.

use crate::fabric::Link;
use serde::Serialize;

/// What the ranks want to have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Everybody gets the sum.
    AllReduce,
    /// Everybody gets a part of the sum.
    ReduceScatter,
    /// Everybody gets what everybody had.
    AllGather,
    /// Everybody sends something else to each.
    AllToAll,
    /// Everybody gets what the first had.
    Broadcast,
}

/// How it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Parts go round a ring; a broadcast goes along it in chunks.
    Ring,
    /// Partners at doubling distances. For an all-reduce whole vectors; a reduce-scatter is its mirror, by halving.
    RecursiveDoubling,
    /// An all-reduce as a reduce-scatter by halving and an all-gather by doubling.
    Rabenseifner,
    /// Up a tree and down again, in chunks that follow each other.
    TreePipelined,
    /// One tier after another, inside islands, then hosts, then racks: by rings.
    Hierarchical,
    /// The same, by halving and doubling in every tier.
    HierarchicalHalving,
    /// Every pair in a round of its own.
    Pairwise,
    /// Blocks for distant ranks travel together, at doubling distances.
    Bruck,
    /// Whole vectors down a tree in which everybody who has it passes it on.
    Binomial,
    /// A broadcast as a scatter and an all-gather.
    ScatterGather,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 5] = [
        Operation::AllReduce,
        Operation::ReduceScatter,
        Operation::AllGather,
        Operation::AllToAll,
        Operation::Broadcast,
    ];

    /// What people type.
    pub fn name(self) -> &'static str {
        match self {
            Operation::AllReduce => "all-reduce",
            Operation::ReduceScatter => "reduce-scatter",
            Operation::AllGather => "all-gather",
            Operation::AllToAll => "all-to-all",
            Operation::Broadcast => "broadcast",
        }
    }

    /// The algorithms that do it, in the order in which ties are broken.
    pub fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::*;
        match self {
            Operation::AllReduce => {
                &[Ring, RecursiveDoubling, Rabenseifner, TreePipelined, Hierarchical, HierarchicalHalving]
            }
            Operation::ReduceScatter | Operation::AllGather => {
                &[Ring, RecursiveDoubling, Hierarchical, HierarchicalHalving]
            }
            Operation::AllToAll => &[Pairwise, Bruck, Hierarchical],
            Operation::Broadcast => &[Ring, TreePipelined, Binomial, ScatterGather, Hierarchical],
        }
    }

    /// What a link carries for every byte of the message, when the algorithm is as good as can be: turns bytes over
    /// time into the bus bandwidth that `nccl-tests` prints.
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let others = f64::from(ranks - 1) / f64::from(ranks);
        match self {
            Operation::AllReduce => 2.0 * others,
            Operation::ReduceScatter | Operation::AllGather | Operation::AllToAll => others,
            Operation::Broadcast => 1.0,
        }
    }
}

impl Algorithm {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Ring => "ring",
            Algorithm::RecursiveDoubling => "doubling",
            Algorithm::Rabenseifner => "rabenseifner",
            Algorithm::TreePipelined => "tree",
            Algorithm::Hierarchical => "hierarchical",
            Algorithm::HierarchicalHalving => "hier. halving",
            Algorithm::Pairwise => "pairwise",
            Algorithm::Bruck => "bruck",
            Algorithm::Binomial => "binomial",
            Algorithm::ScatterGather => "scatter+gather",
        }
    }

    /// Whether only neighbours in a ring, or in a tree laid along it, talk: then a link that several ranks share is
    /// crossed once, and not by all of them at a time.
    pub fn is_neighbourly(self) -> bool {
        matches!(self, Algorithm::Ring | Algorithm::TreePipelined | Algorithm::ScatterGather)
    }
}

/// How often ranks must double until there are at least so many: the least number of rounds of anything that joins them.
pub fn rounds(ranks: u32) -> u32 {
    u32::BITS - ranks.saturating_sub(1).leading_zeros()
}

/// Seconds; `None` where the algorithm does not do this operation, or needs tiers.
pub fn time(operation: Operation, algorithm: Algorithm, ranks: u32, bytes: f64, link: Link) -> Option<f64> {
    let (n, lg) = (f64::from(ranks), f64::from(rounds(ranks)));
    let (wait, whole) = (link.latency_s, bytes / link.bandwidth);
    let parts = (n - 1.0) / n * whole;
    Some(match (operation, algorithm) {
        (Operation::AllReduce, Algorithm::Ring) => 2.0 * (n - 1.0) * wait + 2.0 * parts,
        (Operation::AllReduce, Algorithm::RecursiveDoubling) => lg * (wait + whole),
        (Operation::AllReduce, Algorithm::Rabenseifner) => 2.0 * lg * wait + 2.0 * parts,
        (Operation::AllReduce, Algorithm::TreePipelined) => {
            2.0 * chunked(lg - 1.0, bytes, link, best_chunks(lg - 1.0, bytes, link))
        }
        (Operation::ReduceScatter | Operation::AllGather, Algorithm::Ring) => (n - 1.0) * wait + parts,
        (Operation::ReduceScatter | Operation::AllGather, Algorithm::RecursiveDoubling) => lg * wait + parts,
        (Operation::AllToAll, Algorithm::Pairwise) => (n - 1.0) * wait + parts,
        (Operation::AllToAll, Algorithm::Bruck) => lg * wait + whole * carried(ranks) / n,
        (Operation::Broadcast, Algorithm::Ring) => {
            chunked(n - 2.0, bytes, link, best_chunks(n - 2.0, bytes, link))
        }
        (Operation::Broadcast, Algorithm::TreePipelined) => {
            chunked(lg - 1.0, bytes, link, best_chunks(lg - 1.0, bytes, link))
        }
        (Operation::Broadcast, Algorithm::Binomial) => lg * (wait + whole),
        (Operation::Broadcast, Algorithm::ScatterGather) => (lg + n - 1.0) * wait + 2.0 * parts,
        _ => return None,
    })
}

/// No algorithm among ranks that are all alike is faster. Everybody can hear from everybody only after so many rounds;
/// and every rank sends or receives so many bytes, in one message at the least. An all-reduce takes `2(n - 1)` messages
/// for each byte (directed gossip), and `n` ranks share them: one of them has its part of the waits as well.
pub fn bound(operation: Operation, ranks: u32, bytes: f64, link: Link) -> f64 {
    let factor = operation.bus_factor(ranks);
    let messages = if operation == Operation::AllReduce { factor } else { 1.0 };
    let crossing = messages * link.latency_s + factor * bytes / link.bandwidth;
    crossing.max(f64::from(rounds(ranks)) * link.latency_s)
}

/// How many blocks one rank sends in Bruck's all-to-all, in all rounds together: for every distance its binary ones.
fn carried(ranks: u32) -> f64 {
    (1..ranks).map(|distance| f64::from(distance.count_ones())).sum()
}

/// Seconds until the last of so many chunks has passed `extra` links more than one.
pub fn chunked(extra: f64, bytes: f64, link: Link, chunks: f64) -> f64 {
    (extra + chunks) * (link.latency_s + bytes / (chunks * link.bandwidth))
}

/// The whole number of chunks that makes [`chunked`] shortest. It is convex in the number, so the best whole number is
/// beside the best of all, `sqrt(extra * bytes / (bandwidth * latency))`. A chunk has at least one byte.
pub fn best_chunks(extra: f64, bytes: f64, link: Link) -> f64 {
    let most = bytes.max(1.0).floor();
    let ideal = (extra * bytes / (link.bandwidth * link.latency_s)).sqrt();
    let low = if ideal.is_nan() { 1.0 } else { ideal.floor().clamp(1.0, most) };
    let high = (low + 1.0).min(most);
    match chunked(extra, bytes, link, high) < chunked(extra, bytes, link, low) {
        true => high,
        false => low,
    }
}

/// The number of chunks that the public cases were made with: the best within three of the rounded
/// `sqrt(2 * extra * bytes / (bandwidth * latency))`. That centre is off by the square root of two, so for large messages
/// the best lies outside the window and the window's lower end is taken: up to 1 % slower than [`best_chunks`]. Only for
/// comparison; plans use the best.
pub fn window_chunks(extra: f64, bytes: f64, link: Link) -> f64 {
    let centre = libm::round((2.0 * extra * bytes / (link.bandwidth * link.latency_s)).sqrt());
    let mut best = (centre - 3.0).max(1.0);
    for offset in -2..=3 {
        let chunks = (centre + f64::from(offset)).max(1.0);
        if chunked(extra, bytes, link, chunks) < chunked(extra, bytes, link, best) {
            best = chunks;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    const LINK: Link = Link { bandwidth: 25e9, latency_s: 5e-6 };

    #[test]
    fn rounds_are_the_logarithm_rounded_up() {
        assert_eq!([1, 2, 3, 4, 5, 8, 9, 1024].map(rounds), [0, 1, 2, 2, 3, 3, 4, 10]);
    }

    #[test]
    fn the_best_number_of_chunks_is_the_best_of_all() {
        for (extra, bytes) in [(0.0, 1e6), (1.0, 4096.0), (2.0, 1e6), (7.0, 67e6), (62.0, 67e6)] {
            let found = chunked(extra, bytes, LINK, best_chunks(extra, bytes, LINK));
            let all = (1..5000).map(|chunks| chunked(extra, bytes, LINK, f64::from(chunks)));
            assert_eq!(found, all.fold(f64::MAX, f64::min), "{extra} {bytes}");
        }
        let free = Link { latency_s: 0.0, ..LINK };
        assert_eq!(best_chunks(3.0, 1000.0, free), 1000.0);
        assert_eq!(best_chunks(0.0, 1000.0, free), 1.0);
    }

    #[test]
    fn the_window_of_the_public_cases_is_never_better_than_the_best() {
        // Four ranks, 64 MiB: the best is 23 chunks, the window begins at 30.
        assert_eq!(best_chunks(1.0, 67_108_864.0, LINK), 23.0);
        assert_eq!(window_chunks(1.0, 67_108_864.0, LINK), 30.0);
        assert_eq!(window_chunks(0.0, 4096.0, LINK), 1.0);
    }

    #[test]
    fn nothing_beats_its_bound() {
        let mut dice = Dice::new(3);
        for _ in 0..2000 {
            let ranks = 2 + dice.below(600) as u32;
            let bytes = libm::exp2(dice.unit() * 34.0);
            let link = Link { bandwidth: 1e8 + dice.unit() * 1e11, latency_s: dice.unit() * 1e-4 };
            for operation in Operation::ALL {
                let bound = bound(operation, ranks, bytes, link);
                assert!(bound > 0.0);
                for &algorithm in operation.algorithms() {
                    if let Some(time) = time(operation, algorithm, ranks, bytes, link) {
                        assert!(time >= bound * (1.0 - 1e-12), "{operation:?} {algorithm:?} {ranks} {bytes}");
                    }
                }
            }
        }
    }

    #[test]
    fn bruck_carries_half_of_all_blocks_in_each_round_among_a_power_of_two() {
        assert_eq!(carried(8), 3.0 * 4.0);
        assert_eq!(carried(3), 2.0);
    }
}
