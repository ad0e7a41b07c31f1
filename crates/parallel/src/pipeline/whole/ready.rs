//! A request that was checked and made ready: the network in line, the devices, and what may be chosen.

use super::cost::Rules;
use super::fleet::{Fleet, Group};
use super::line::{self, Clean, Line};
use super::moves::Freedom;
use super::score::Candidate;
use super::{Given, Kind, MOST_LAYERS, MOST_MICROBATCHES, Microbatches, Refusal, Request, bound, search};
use crate::pipeline::schedule::Schedule;

/// A request that was found to be sound.
pub(super) struct Ready {
    clean: Clean,
    factors: Vec<Vec<f64>>,
    /// The devices.
    pub fleet: Fleet,
    /// Our own line, then those of others.
    pub lines: Vec<Line>,
    /// Stages of others.
    pub given: Vec<Candidate>,
    /// The rules.
    pub rules: Rules,
    /// What may be chosen.
    pub freedom: Freedom,
}

impl Ready {
    /// Refuses what cannot be planned.
    pub fn of(request: &Request) -> Result<Self, Refusal> {
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
    pub fn take(&mut self, request: &Request, given: &Given) {
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

    /// What no plan can beat, and why.
    pub fn bound(&self, request: &Request) -> (f64, String) {
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

    /// What is taken for granted.
    pub fn assumed(&self, request: &Request) -> Vec<String> {
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
    if !(request.minibatches > 0.0 && request.minibatches.is_finite()) || request.samples == Some(0) {
        return Err(Refusal::Batch);
    }
    if !(request.state_ratio >= 0.0 && request.state_ratio.is_finite()) {
        return Err(Refusal::State);
    }
    if request.schedules.is_empty() {
        return Err(Refusal::NoSchedule);
    }
    let devices = fleet.devices.len();
    if let Some(samples) = request.samples.filter(|samples| *samples < devices as u64) {
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
        Microbatches::Exactly(asked)
            if request.samples.is_some_and(|all| !all.is_multiple_of(asked.into())) =>
        {
            return Err(Refusal::Uneven { samples: request.samples.unwrap_or(0), asked });
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
