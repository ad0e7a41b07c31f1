//! One search over all of it: cuts, replicas, tensor parallelism, recomputation, schedule and microbatches, for unlike
//! devices in a tree of links.
//!
//! Others plan for devices that are all alike, or balance stages and leave the schedule to the reader. Here a candidate is
//! simulated to the last microbatch, with the traffic between stages, the exchange of gradients and the memory of every
//! device, and the simulation is what the search goes by. Data parallelism is always among the candidates, with uneven shares
//! on unlike devices, and so is PipeDream's partition; the answer is never worse than either. Where data parallelism is
//! best, or nearly, that is what the answer says.
//!
//! | read | for |
//! |---|---|
//! | [`cost`] | the rules by which plans are judged: what is counted and what is not |
//! | [`line`](mod@line), [`fleet`] | the network in line; the devices and what joins them |
//! | [`score`], [`traffic`] | one candidate judged, by simulation |
//! | [`split`], [`others`], [`moves`], [`search`] | how candidates are found |
//! | [`bound`](mod@bound) | what no plan can beat |
//! | [`export`] | a plan in the words of those who run it |
//!
//! **Ideas.** PipeDream (2019) for the partition with replicas, Piper (2021) for memory by the distance from the end and for
//! choosing recomputation and tensor parallelism with it, Alpa (2022) for groups of devices. **Simplifies.** A search, no
//! proof: the gap to the bound says how much may be left. One network in one line; a stage is a stretch of it. **Does badly**
//! for networks of thousands of unlike layers on hundreds of unlike devices, where the effort ends before the search does.

pub mod bound;
pub mod cost;
pub mod export;
pub mod fleet;
pub mod line;
pub mod moves;
pub mod others;
mod ready;
pub mod refusal;
pub mod score;
pub mod search;
pub mod split;
mod told;
pub mod traffic;

pub use refusal::Refusal;
pub use told::{Part, Plan, Stage, advice};

use super::layers::Layers;
use super::schedule::Schedule;
use crate::Answer;
use crate::fabric::Fabric;
use ready::Ready;
use score::{Candidate, Scorer};
use search::{Found, Judged};

/// Layers a network may have.
pub const MOST_LAYERS: usize = 10_000;

/// Microbatches an iteration may have.
pub const MOST_MICROBATCHES: u32 = 4096;

/// What one sort of device does.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// As hosts name it.
    pub name: String,
    /// How many times as fast as the device of the profile.
    pub speed: f64,
    /// The same for each layer of the profile, in place of `speed`; empty when one speed holds for all.
    pub factors: Vec<f64>,
    /// Of one device.
    pub memory_bytes: f64,
}

/// How many microbatches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Microbatches {
    /// So many.
    Exactly(u32),
    /// Up to so many: the search chooses.
    AtMost(u32),
}

/// Stages that somebody else chose.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// By layer of the network: its stage. What it says of inputs and dead ends means nothing.
    pub stage: Vec<usize>,
    /// By stage: its devices, numbered host by host.
    pub devices: Vec<Vec<usize>>,
}

/// What is to be planned.
#[derive(Clone, Debug)]
pub struct Request {
    /// The network.
    pub layers: Layers,
    /// The devices, and what joins them.
    pub fabric: Fabric,
    /// What the hosts' kinds are.
    pub kinds: Vec<Kind>,
    /// How many of the profile's minibatches one iteration takes.
    pub minibatches: f64,
    /// How many samples that is, where known: no replica gets less than one of a microbatch.
    pub samples: Option<u64>,
    /// Into how many microbatches an iteration is cut.
    pub microbatches: Microbatches,
    /// Schedules to choose from.
    pub schedules: Vec<Schedule>,
    /// The most devices that share each layer.
    pub most_tensor: u32,
    /// Whether forward may be repeated to save memory.
    pub may_recompute: bool,
    /// Whether a schedule's order may be fitted to unlike stages, within its memory. Not every framework can run that.
    pub may_fit: bool,
    /// Whether only data parallelism is wanted.
    pub only_data_parallel: bool,
    /// Bytes of weights, gradients and optimizer for every byte of parameters; 4 for Adam on 4-byte parameters.
    pub state_ratio: f64,
    /// By layer: bytes that it keeps from forward to backward, where that is not what it hands on. Empty otherwise.
    pub kept_bytes: Vec<f64>,
    /// Stages to start from, beside our own.
    pub given: Vec<Given>,
    /// The most actions to simulate.
    pub effort: u64,
}

impl Request {
    /// With everything allowed, one minibatch an iteration and up to 64 microbatches.
    pub fn new(layers: Layers, fabric: Fabric, kinds: Vec<Kind>) -> Self {
        Request {
            layers,
            fabric,
            kinds,
            minibatches: 1.0,
            samples: None,
            microbatches: Microbatches::AtMost(64),
            schedules: SCHEDULES.to_vec(),
            most_tensor: 8,
            may_recompute: true,
            may_fit: false,
            only_data_parallel: false,
            state_ratio: 4.0,
            kept_bytes: vec![],
            given: vec![],
            effort: 20_000_000,
        }
    }
}

/// All schedules that are tried where nobody asks for one.
pub const SCHEDULES: [Schedule; 6] = [
    Schedule::OneForwardOneBackward,
    Schedule::GPipe,
    Schedule::Interleaved { chunks: 2 },
    Schedule::ZeroBubbleH1,
    Schedule::ZeroBubbleH2,
    Schedule::ZeroBubbleV,
];

/// Plans.
pub fn plan(request: &Request) -> Result<Answer<Plan>, Refusal> {
    let mut ready = Ready::of(request)?;
    if !request.only_data_parallel {
        for given in request.given.iter().chain(&others::pipedream(request, &ready.fleet)) {
            ready.take(request, given);
        }
    }
    let mut scorer = Scorer::new(&ready.fleet, &ready.lines, ready.rules);
    let found = match request.only_data_parallel {
        true => search::data_parallel(&mut scorer, &ready.freedom)
            .map(|best| Found { data_parallel: Some(best.clone()).filter(|(_, it)| it.fits()), best }),
        false => search::search(&mut scorer, &ready.freedom, &ready.given, request.effort),
    };
    let Some(found) = found else {
        let asked = match request.microbatches {
            Microbatches::Exactly(asked) => Some(asked),
            _ => None,
        };
        return Err(match request.samples {
            Some(samples) => Refusal::Replicas { samples, asked, devices: ready.fleet.devices.len() },
            None => Refusal::NoDevices,
        });
    };
    let (candidate, scored) = &found.best;
    if !scored.fits() {
        return Err(shortage(&scorer, candidate, scored));
    }
    let (bound, bound_by) = ready.bound(request);
    Ok(Answer {
        objective: scored.time_s,
        unit: "s",
        bound: bound.min(scored.time_s),
        bound_by,
        assumed: ready.assumed(request),
        tried: scorer.tried,
        plan: told::tell(request, &mut scorer, &found),
    })
}

/// What stages that somebody else chose come to under the same rules, with the schedule and the number of microbatches
/// that suit them best. `None` when they are no plan here, or do not fit.
pub fn judge(request: &Request, given: &Given) -> Result<Option<f64>, Refusal> {
    let mut ready = Ready::of(request)?;
    ready.take(request, given);
    let mut scorer = Scorer::new(&ready.fleet, &ready.lines, ready.rules);
    let mut best: Option<Judged> = None;
    for candidate in &ready.given {
        for &microbatches in &ready.freedom.microbatches {
            let candidate = Candidate { microbatches, ..candidate.clone() };
            let judged = search::best_schedule(&mut scorer, &ready.freedom, candidate);
            let fits = judged.filter(|(_, scored)| scored.fits());
            best = match (best, fits) {
                (Some(best), Some(new)) if !new.1.is_better_than(&best.1) => Some(best),
                (old, new) => new.or(old),
            };
        }
    }
    Ok(best.map(|(_, scored)| scored.time_s))
}

/// What data parallelism comes to under the same rules. `None` when it does not fit.
pub fn judge_data_parallel(request: &Request) -> Result<Option<f64>, Refusal> {
    let ready = Ready::of(request)?;
    let mut scorer = Scorer::new(&ready.fleet, &ready.lines, ready.rules);
    let best = search::data_parallel(&mut scorer, &ready.freedom);
    Ok(best.filter(|(_, scored)| scored.fits()).map(|(_, scored)| scored.time_s))
}

/// The device that is shortest of memory.
fn shortage(scorer: &Scorer<'_>, candidate: &Candidate, scored: &score::Scored) -> Refusal {
    let mut worst = (0.0, String::new(), 0.0, 0.0);
    for (group, memory) in candidate.groups.iter().zip(&scored.memory) {
        let Some(shape) = scorer.fleet.shape(&group.devices, group.tensor) else { continue };
        for (&needed, (kind, _)) in memory.iter().zip(&shape.kinds) {
            let has = scorer.fleet.kinds[*kind].memory_bytes;
            let first = group.devices.iter().find(|&&device| scorer.fleet.devices[device].kind == *kind);
            if needed / has > worst.0 {
                let name = first.map_or(String::new(), |&device| scorer.fleet.name(device));
                worst = (needed / has, name, needed, has);
            }
        }
    }
    Refusal::Memory { device: worst.1, needed: worst.2, has: worst.3 }
}

#[cfg(test)]
mod tests;
