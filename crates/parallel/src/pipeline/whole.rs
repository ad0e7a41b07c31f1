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
use cost::Rules;
use fleet::{Fleet, Group};
use line::{Clean, Line};
use moves::Freedom;
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
    let Some(found) = found else { return Err(Refusal::NoDevices) };
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

/// A request that was found to be sound.
struct Ready {
    clean: Clean,
    fleet: Fleet,
    factors: Vec<Vec<f64>>,
    lines: Vec<Line>,
    given: Vec<Candidate>,
    rules: Rules,
    freedom: Freedom,
}

impl Ready {
    fn of(request: &Request) -> Result<Self, Refusal> {
        let count = request.layers.layers.len();
        if count > MOST_LAYERS {
            return Err(Refusal::TooMany { what: "layers", found: count, most: MOST_LAYERS });
        }
        let clean = line::clean(&request.layers)?;
        let fleet = Fleet::of(&request.fabric, &request.kinds)?;
        let factors = factors(request)?;
        if !request.kept_bytes.is_empty() && request.kept_bytes.len() != count {
            return Err(Refusal::Kept { found: request.kept_bytes.len(), layers: count });
        }
        let rules = Rules {
            minibatches: request.minibatches,
            samples: request.samples,
            state_ratio: request.state_ratio,
        };
        let freedom = freedom(request, &fleet)?;
        let lines = vec![Line::of(&request.layers, &clean, &factors, &request.kept_bytes)];
        let ready = Ready { clean, fleet, factors, lines, given: vec![], rules, freedom };
        ready.fits_somewhere(request)?;
        Ok(ready)
    }

    /// Stages of others, as a candidate on a line of their own.
    fn take(&mut self, request: &Request, given: &Given) {
        if given.stage.len() != request.layers.layers.len() {
            return;
        }
        let Some(line) =
            Line::along(&request.layers, &self.clean, &self.factors, &request.kept_bytes, &given.stage)
        else {
            return;
        };
        let mut cuts = vec![0];
        let mut groups = vec![];
        for (stage, devices) in given.devices.iter().enumerate() {
            let end = line.order.partition_point(|&layer| given.stage[layer] <= stage);
            let is_known = devices.iter().all(|&device| device < self.fleet.devices.len());
            // A stage of nothing but what was left out is no stage.
            if Some(&end) == cuts.last() || !is_known {
                continue;
            }
            cuts.push(end);
            groups.push(Group { devices: devices.clone(), tensor: 1, recompute: false });
        }
        self.given.push(Candidate {
            line: self.lines.len(),
            schedule: Schedule::OneForwardOneBackward,
            is_fitted: false,
            microbatches: *self.freedom.microbatches.last().unwrap_or(&1),
            cuts,
            groups,
        });
        self.lines.push(line);
    }

    /// Refuses a layer that no device can hold, however it is divided.
    fn fits_somewhere(&self, request: &Request) -> Result<(), Refusal> {
        let most = *self.freedom.microbatches.last().unwrap_or(&1) as f64;
        let least = request.minibatches / most / self.fleet.devices.len() as f64;
        for (index, layer) in request.layers.layers.iter().enumerate() {
            if !self.clean.stays[index] {
                continue;
            }
            // Bytes needed and bytes there, where it is tightest by the least.
            let kept = request.kept_bytes.get(index).copied().unwrap_or(layer.activation_bytes);
            let mut best = (f64::INFINITY, 0.0);
            for (number, kind) in self.fleet.kinds.iter().enumerate() {
                let widest = self.fleet.widest(number);
                if widest == 0 {
                    continue;
                }
                let tensor = widest.min(self.freedom.most_tensor) as f64;
                let state = layer.parameter_bytes * request.state_ratio / tensor;
                let needed = state + kept * least;
                if needed - kind.memory_bytes < best.0 - best.1 || best.0.is_infinite() {
                    best = (needed, kind.memory_bytes);
                }
            }
            if best.0 > best.1 {
                let layer = layer.id.clone();
                return Err(Refusal::Layer { layer, needed: best.0, largest: best.1 });
            }
        }
        Ok(())
    }

    fn bound(&self, request: &Request) -> (f64, String) {
        bound::bound(&bound::Ground {
            layers: &request.layers,
            stays: &self.clean.stays,
            factors: &self.factors,
            fleet: &self.fleet,
            line: &self.lines[0],
            rules: self.rules,
            most_microbatches: *self.freedom.microbatches.last().unwrap_or(&1),
            most_tensor: self.freedom.most_tensor,
            is_joined: self.clean.is_joined(),
        })
    }

    fn assumed(&self, request: &Request) -> Vec<String> {
        let mut assumed = self.clean.told.clone();
        assumed.push(format!(
            "weights, gradients and optimizer take {} bytes for every byte of parameters",
            request.state_ratio
        ));
        assumed.push("time is in proportion to samples, however small a microbatch is".into());
        assumed.push(
            "gradients are exchanged after the last backward; half of backward is for the weights".into(),
        );
        if self.freedom.most_tensor > 1 {
            assumed.push("every layer can be shared by the devices of an island".into());
        }
        assumed
    }
}

/// By kind and layer: its speed.
fn factors(request: &Request) -> Result<Vec<Vec<f64>>, Refusal> {
    let count = request.layers.layers.len();
    let of = |kind: &Kind| {
        if kind.factors.is_empty() {
            return Ok(vec![kind.speed; count]);
        }
        if kind.factors.len() != count {
            let (kind, found) = (kind.name.clone(), kind.factors.len());
            return Err(Refusal::Factors { kind, found, layers: count });
        }
        match kind.factors.iter().all(|factor| *factor > 0.0 && factor.is_finite()) {
            true => Ok(kind.factors.clone()),
            false => Err(Refusal::Useless(kind.name.clone())),
        }
    };
    request.kinds.iter().map(of).collect()
}

/// What may be chosen.
fn freedom(request: &Request, fleet: &Fleet) -> Result<Freedom, Refusal> {
    if !(request.minibatches > 0.0 && request.minibatches.is_finite() && request.state_ratio >= 0.0)
        || request.samples == Some(0)
    {
        return Err(Refusal::Batch);
    }
    if request.schedules.is_empty() {
        return Err(Refusal::NoSchedule);
    }
    let devices = fleet.devices.len();
    if let Some(samples) = request.samples.filter(|samples| *samples < devices as u64)
        && request.only_data_parallel
    {
        return Err(Refusal::Samples { samples, devices });
    }
    let limit = request.samples.unwrap_or(u64::MAX).min(MOST_MICROBATCHES.into());
    let microbatches = match request.microbatches {
        Microbatches::Exactly(many) | Microbatches::AtMost(many) if many == 0 => {
            return Err(Refusal::Microbatches { asked: many, most: limit });
        }
        Microbatches::Exactly(many) if u64::from(many) > limit => {
            return Err(Refusal::Microbatches { asked: many, most: limit });
        }
        Microbatches::Exactly(many) => vec![many as usize],
        Microbatches::AtMost(many) => {
            let most = u64::from(many).min(limit) as usize;
            // Powers of two, and half-way between them.
            let powers =
                std::iter::successors(Some(1), |many| Some(many * 2)).take_while(|&many| many < most);
            let mut list: Vec<usize> = powers.flat_map(|many| [many, many + many / 2]).collect();
            list.retain(|&many| many < most);
            list.dedup();
            list.push(most);
            list
        }
    };
    let widest = (0..fleet.kinds.len()).map(|kind| fleet.widest(kind)).max().unwrap_or(1);
    Ok(Freedom {
        schedules: request.schedules.clone(),
        microbatches,
        most_tensor: (request.most_tensor.max(1) as usize).min(widest.max(1)),
        may_recompute: request.may_recompute,
        may_fit: request.may_fit,
        most_groups: search::MOST_GROUPS.min(devices),
    })
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
