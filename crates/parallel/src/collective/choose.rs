//! The best algorithm by size of message.
//!
//! Every size asked for is priced with every algorithm, beside the bound of the fabric and what NCCL would do by itself.
//! Between powers of two the sizes at which the best changes are found by halving, to the byte, and become a table of
//! ranges: what a program, or NCCL's tuner plugin, needs to choose by.
//!
//! Simplified: see [`super::cost`] and [`super::tiers`]. Does badly: two changes between the same two powers of two that
//! cancel each other are not seen.

use super::cost::{Algorithm, Operation};
use super::ground::Ground;
use super::nccl::{Layout, Machine, Pick, Protocol};
use crate::answer::Answer;
use serde::Serialize;
use std::fmt;

/// Prices, and what to choose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// What is to be done.
    pub operation: Operation,
    /// By how many.
    pub ranks: u32,
    /// By size, in the order asked for.
    pub sizes: Vec<Priced>,
    /// The best algorithm by ranges of sizes, without gaps.
    pub ranges: Vec<Range>,
    /// What NCCL would choose by ranges of sizes; empty where it has no choice.
    pub nccl_ranges: Vec<NcclRange>,
}

/// One size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Priced {
    /// The size.
    pub bytes: u64,
    /// Every algorithm that does it.
    pub algorithms: Vec<Timed>,
    /// The fastest of them.
    pub best: Algorithm,
    /// Its seconds.
    pub time_s: f64,
    /// Bytes over time, times what a link carries for each: comparable with the speed of a link, and with `nccl-tests`.
    pub busbw: f64,
    /// No algorithm is faster.
    pub bound_s: f64,
    /// Why.
    pub bound_by: String,
    /// What NCCL would do, by its own figures.
    pub nccl: Option<Pick>,
}

/// One algorithm at one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timed {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its seconds.
    pub time_s: f64,
}

/// Sizes at which one algorithm is best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The smallest.
    pub from_bytes: u64,
    /// The largest; `None` where there is no end.
    pub to_bytes: Option<u64>,
    /// The best there.
    pub algorithm: Algorithm,
}

/// Sizes at which NCCL makes one choice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NcclRange {
    /// The smallest.
    pub from_bytes: u64,
    /// The largest; `None` where there is no end.
    pub to_bytes: Option<u64>,
    /// The layout.
    pub layout: Layout,
    /// The protocol.
    pub protocol: Protocol,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A message of nothing, or of more than anybody sends.
    Size(u64),
    /// No sizes, or too many.
    Count(usize),
    /// A tuner file cannot speak of this operation.
    NoTuner(Operation),
}

/// Larger messages are refused: a tebibyte.
pub const MOST_BYTES: u64 = 1 << 40;

/// More sizes are refused.
pub const MOST_SIZES: usize = 1000;

/// Ranges are looked for up to here; what is best there stays best.
const SEARCHED: u64 = 1 << 36;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Size(bytes) => {
                write!(f, "a message of {bytes} bytes cannot be priced; name a size from 1 B to 1 TiB")
            }
            Refusal::Count(count) => write!(f, "{count} sizes were asked for; name from 1 to {MOST_SIZES}"),
            Refusal::NoTuner(operation) => write!(
                f,
                "a tuner file says nothing about {}; ask for all-reduce, reduce-scatter, all-gather or broadcast",
                operation.name()
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// From 1 KiB to 4 GiB, every second power of two.
pub fn usual_sizes() -> Vec<u64> {
    (10..=32).step_by(2).map(|power| 1 << power).collect()
}

/// Prices an operation at these sizes. The objective is that of the largest.
pub fn plan(ground: &Ground, operation: Operation, sizes: &[u64]) -> Result<Answer<Plan>, Refusal> {
    if sizes.is_empty() || sizes.len() > MOST_SIZES {
        return Err(Refusal::Count(sizes.len()));
    }
    if let Some(&bad) = sizes.iter().find(|&&bytes| bytes == 0 || bytes > MOST_BYTES) {
        return Err(Refusal::Size(bad));
    }
    let priced: Vec<Priced> = sizes.iter().map(|&bytes| price(ground, operation, bytes)).collect();
    let tried = priced.iter().map(|priced| priced.algorithms.len() as u64).sum();
    let best = |bytes: u64| ground.tiers.best(operation, bytes as f64).0;
    let ranges = ranges(best).into_iter().map(|(from_bytes, to_bytes, algorithm)| Range {
        from_bytes,
        to_bytes,
        algorithm,
    });
    let plan = Plan {
        operation,
        ranks: ground.tiers.ranks(),
        ranges: ranges.collect(),
        nccl_ranges: nccl_ranges(&ground.machine, operation),
        sizes: priced,
    };
    let largest = plan.sizes.iter().max_by_key(|priced| priced.bytes).cloned();
    let Some(largest) = largest else { return Err(Refusal::Count(0)) };
    let mut assumed = vec![
        "a message costs its latency and its bytes over the bandwidth; adding up costs nothing".to_string(),
        "switches neither copy nor add".to_string(),
    ];
    assumed.extend(ground.assumed.iter().cloned());
    Ok(Answer {
        objective: largest.time_s,
        unit: "s",
        bound: largest.bound_s,
        bound_by: largest.bound_by,
        plan,
        assumed,
        tried,
    })
}

fn price(ground: &Ground, operation: Operation, bytes: u64) -> Priced {
    let size = bytes as f64;
    let timed = |(algorithm, time_s)| Timed { algorithm, time_s };
    let (best, time_s) = ground.tiers.best(operation, size);
    let (bound_s, bound_by) = ground.bounds.time(operation, size);
    Priced {
        bytes,
        algorithms: ground.tiers.times(operation, size).into_iter().map(timed).collect(),
        best,
        time_s,
        busbw: operation.bus_factor(ground.tiers.ranks()) * size / time_s,
        bound_s,
        bound_by: bound_by.into(),
        nccl: ground.machine.pick(operation, bytes),
    }
}

/// Ranges of sizes of one choice, without gaps, from nothing to everything.
fn ranges<C: PartialEq + Copy>(choose: impl Fn(u64) -> C) -> Vec<(u64, Option<u64>, C)> {
    let mut found = vec![(0, None, choose(1))];
    let mut low = 1;
    while low < SEARCHED {
        let high = low * 2;
        let mut from = low;
        while choose(from) != choose(high) {
            // The last size that still chooses as `from` does, and the first that does not.
            let (mut same, mut other) = (from, high);
            while other - same > 1 {
                let middle = same + (other - same) / 2;
                match choose(middle) == choose(from) {
                    true => same = middle,
                    false => other = middle,
                }
            }
            if let Some(last) = found.last_mut() {
                last.1 = Some(same);
            }
            found.push((other, None, choose(other)));
            from = other;
        }
        low = high;
    }
    found
}

fn nccl_ranges(machine: &Machine, operation: Operation) -> Vec<NcclRange> {
    let choose = |bytes| machine.pick(operation, bytes).map(|pick| (pick.layout, pick.protocol));
    let all = ranges(choose).into_iter();
    all.filter_map(|(from_bytes, to_bytes, choice)| {
        let (layout, protocol) = choice?;
        Some(NcclRange { from_bytes, to_bytes, layout, protocol })
    })
    .collect()
}

/// Lines for NCCL's example tuner plugin: collective, sizes from and to, layout, protocol, channels, nodes, ranks,
/// operations in a pipeline, registered buffers. `-1` leaves it to NCCL, or matches anything.
pub fn tuner(ground: &Ground, operation: Operation) -> Result<String, Refusal> {
    let name = match operation {
        Operation::AllReduce => "allreduce",
        Operation::ReduceScatter => "reducescatter",
        Operation::AllGather => "allgather",
        Operation::Broadcast => "broadcast",
        Operation::AllToAll => return Err(Refusal::NoTuner(operation)),
    };
    let machine = ground.machine;
    let line = |range: NcclRange| {
        let NcclRange { from_bytes, to_bytes, layout, protocol } = range;
        let (layout, protocol) = (layout.name(), protocol.name());
        let to_bytes = to_bytes.unwrap_or(u64::MAX);
        format!(
            "{name},{from_bytes},{to_bytes},{layout},{protocol},-1,{},{},-1,-1\n",
            machine.nodes, machine.ranks
        )
    };
    Ok(nccl_ranges(&machine, operation).into_iter().map(line).collect())
}

#[cfg(test)]
mod tests;
