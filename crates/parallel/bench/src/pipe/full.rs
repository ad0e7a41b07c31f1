//! PipeDream's partition and our own whole answer, both by the same simulation.
//!
//! One iteration is 32 microbatches, each the minibatch of the profile; gradients are exchanged once an iteration. Both may
//! use any of our schedules as it was published; neither may use tensor parallelism, and memory has no end, since PipeDream's
//! optimizer knows neither. `theirs_s` is its partition under the schedule that suits it best, `dp_s` data parallelism,
//! `ours_s` our plan; `full_ms` is the time for the whole search, which is no part of `cpu_ms`.

use crate::{Row, data};
use consort_parallel::fabric::Link;
use consort_parallel::pipeline::layers::Layers;
use consort_parallel::pipeline::pipedream::{Level, Partition};
use consort_parallel::pipeline::whole::{self, Kind, Microbatches, Request, fleet, others};

const MICROBATCHES: u32 = 32;

/// Actions to simulate for one case.
const EFFORT: u64 = 4_000_000;

/// Adds what both come to, and a miss where ours is worse. Without a partition, ours stands beside data parallelism alone.
pub fn beside(row: &mut Row, layers: &Layers, levels: &[Level], partition: Option<&Partition>) {
    let widths: Vec<(u32, Link)> = levels
        .iter()
        .map(|level| (level.machines as u32, Link { bandwidth: level.bandwidth, latency_s: 0.0 }))
        .collect();
    let kind = Kind { name: "gpu".into(), speed: 1.0, factors: vec![], memory_bytes: f64::INFINITY };
    let given = partition.map(|partition| others::given(partition, levels, layers.layers.len()));
    let request = Request {
        minibatches: f64::from(MICROBATCHES),
        microbatches: Microbatches::Exactly(MICROBATCHES),
        most_tensor: 1,
        may_recompute: false,
        given: given.iter().cloned().collect(),
        effort: EFFORT,
        ..Request::new(layers.clone(), fleet::even(&widths, "gpu"), vec![kind])
    };
    let theirs = match given.map(|given| whole::judge(&request, &given)) {
        None => f64::INFINITY,
        Some(Ok(Some(theirs))) => theirs,
        Some(Ok(None)) => return row.misses.push("PipeDream's partition cannot be simulated".into()),
        Some(Err(refusal)) => return row.misses.push(format!("PipeDream's partition is refused: {refusal}")),
    };
    let data_parallel = whole::judge_data_parallel(&request).ok().flatten();
    let (answer, full_ms) = data::timed(|| whole::plan(&request));
    let ours = match answer {
        Ok(answer) => answer,
        Err(refusal) => return row.misses.push(format!("our own planner refuses: {refusal}")),
    };
    row.figures.push(("ours_s", ours.objective));
    row.figures.extend(Some(("theirs_s", theirs)).filter(|(_, theirs)| theirs.is_finite()));
    row.figures.extend(data_parallel.map(|data_parallel| ("dp_s", data_parallel)));
    row.figures.push(("full_bound_s", ours.bound));
    row.figures.push(("full_ms", full_ms));
    let best = data_parallel.map_or(theirs, |data_parallel| theirs.min(data_parallel));
    if ours.objective > best * (1.0 + 1e-9) {
        row.misses.push(format!("our plan takes {} s an iteration, others {best} s", ours.objective));
    }
}
