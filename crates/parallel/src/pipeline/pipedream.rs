//! The partition of PipeDream's optimizer, exactly and fast.
//!
//! A network is cut into stages that follow each other; a stage may run on several machines that share the minibatches
//! and exchange gradients. In the steady state of the pipeline the slowest stage sets the pace, so the objective is the
//! seconds that it needs for one minibatch. Machines come in levels: some share fast links, groups of them slower ones.
//!
//! The recurrences are those that PipeDream's hierarchical optimizer (Narayanan et al., SOSP 2019) is published with, as
//! coded rather than as printed: gradients count four times their size, the last stage keeps nothing in memory, only the
//! first stage of a level is relieved of gradients by the level below. Its answer is the answer here, with one
//! exception: inside a level it may count on pieces that are none of the network, where branches are numbered between
//! each other. On none of the profiles published with it does that matter. What differs is how the answer is found: only
//! what can matter is looked at, see `search`, which takes milliseconds where filling the tables takes minutes.
//!
//! **Simplified, as there**: transfers of activations cost nothing unless `activation_ratio` is given, computing and
//! exchanging do not overlap, all machines are alike. **Where it does badly**: networks with many branches side by side
//! have too many [`states()`] and are refused unless [`grouped`]; and with far more machines in one level than layers worth replicating,
//! nearly everything fits nearly everywhere, little can be left out and the search takes seconds.

mod bits;
mod bound;
mod group;
mod refusal;
mod search;
mod states;
mod walk;

#[cfg(test)]
mod plain;

pub use group::{Grouped, grouped};
pub use refusal::Refusal;
pub use states::{States, states};

use crate::Answer;
use crate::pipeline::layers::Layers;
use serde::Serialize;
use std::ops::Range;

/// What is to be cut, and for which machines.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The network.
    pub layers: &'a Layers,
    /// Innermost first: four machines that share 12.5 GB/s, then two such groups that share 1.25 GB/s.
    pub levels: Vec<Level>,
    /// No stage is replicated: as many stages as machines.
    pub straight: bool,
    /// What one machine holds: a stage keeps its activations and parameters once for every minibatch under way.
    pub memory_bytes: Option<f64>,
    /// Transfers of activations count, divided by this. Without it they are taken to cost nothing.
    pub activation_ratio: Option<f64>,
    /// Machines may stay idle.
    pub fewer_machines: bool,
}

/// Machines that share a kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    /// How many of what is one level further in.
    pub machines: usize,
    /// Bytes per second of each.
    pub bandwidth: f64,
}

/// A network cut into stages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Partition {
    /// In the order of the network, flattened over the levels.
    pub stages: Vec<Stage>,
    /// Outermost first: the pieces of each level, in the order of the network.
    pub levels: Vec<Vec<Piece>>,
    /// One machine alone, per minibatch.
    pub single_s: f64,
    /// The whole network on every machine, per minibatch.
    pub data_parallel_s: f64,
}

/// A piece of the network on one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Piece {
    /// The states that it spans.
    pub states: Range<usize>,
    /// Forward and backward on one machine, per minibatch.
    pub compute_s: f64,
    /// How many machines of this level share it.
    pub replicas: usize,
}

/// One stage of the pipeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// The states that it spans.
    pub states: Range<usize>,
    /// The layers in it, by their index in [`Layers`]. Inputs are in the first stage; what nobody uses is beside what
    /// feeds it.
    pub layers: Vec<usize>,
    /// Forward and backward on one machine, per minibatch.
    pub compute_s: f64,
    /// How many machines share it, over all levels.
    pub replicas: usize,
}

/// Most machines, all levels added up: the search goes one deeper for each.
const MOST_MACHINES: usize = 1024;
/// Most levels.
const MOST_LEVELS: usize = 8;

/// The best partition and its seconds per minibatch.
pub fn partition(request: &Request) -> Result<Answer<Partition>, Refusal> {
    check(request)?;
    let states = states(request.layers)?;
    let machines: usize = request.levels.iter().map(|level| level.machines).product();
    if request.straight && !request.fewer_machines && machines > states.longest() {
        return Err(Refusal::TooFewStates { stages: states.longest(), machines });
    }
    let mut search = search::Search::new(request, &states, search::Aim::Time);
    let (bound, bound_by) = bound::bound(request, &states);
    let objective = search.solve(bound)?;
    if objective.is_infinite() {
        return Err(walk::least_memory(request, &states));
    }
    let plan = walk::read(request, &states, &search);
    Ok(Answer {
        plan,
        objective,
        unit: "s",
        // Rounding may lift the bound above what it bounds, never by more.
        bound: bound.min(objective),
        bound_by: bound_by.into(),
        assumed: assumed(request),
        tried: search.tried(),
    })
}

fn check(request: &Request) -> Result<(), Refusal> {
    if request.levels.is_empty() || request.levels.len() > MOST_LEVELS {
        return Err(Refusal::Levels { levels: request.levels.len(), most: MOST_LEVELS });
    }
    for (index, level) in request.levels.iter().enumerate() {
        if level.machines == 0 {
            return Err(Refusal::NoMachines { level: index + 1 });
        }
        if !(level.bandwidth.is_finite() && level.bandwidth > 0.0) {
            return Err(Refusal::Bandwidth { level: index + 1, bandwidth: level.bandwidth });
        }
    }
    let machines = request.levels.iter().fold(0usize, |sum, level| sum.saturating_add(level.machines));
    if machines > MOST_MACHINES {
        return Err(Refusal::TooManyMachines { machines, most: MOST_MACHINES });
    }
    let positive = |value: Option<f64>| value.is_none_or(|value| value.is_finite() && value > 0.0);
    if !positive(request.activation_ratio) {
        return Err(Refusal::Ratio { ratio: request.activation_ratio.unwrap_or_default() });
    }
    match positive(request.memory_bytes) {
        true => Ok(()),
        false => Err(Refusal::Memory { bytes: request.memory_bytes.unwrap_or_default() }),
    }
}

fn assumed(request: &Request) -> Vec<String> {
    let mut said = vec![
        "all machines compute alike".to_string(),
        "computing and exchanging gradients do not overlap".to_string(),
    ];
    match request.activation_ratio {
        Some(ratio) => said.push(format!("activations travel at their size divided by {ratio}")),
        None => said.push("handing activations on costs nothing".to_string()),
    }
    if request.memory_bytes.is_none() {
        said.push("everything fits in memory".to_string());
    }
    said
}

#[cfg(test)]
mod tests;
