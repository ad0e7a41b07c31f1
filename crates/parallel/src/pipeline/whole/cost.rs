//! The rules by which plans are judged, in one place.
//!
//! - **Time.** A profile has times of one minibatch on one device. A kind of device is `speed` times as fast, or by a
//!   factor of its own for each layer. An iteration takes `minibatches` of them, cut into microbatches of one size; time
//!   is in proportion to samples.
//! - **Replicas.** A group of `r` replicas shares each microbatch, unlike ones in proportion to their speed, so that all
//!   end together; shares need not be whole samples, but there are at least as many samples as replicas.
//! - **Tensor parallelism.** `t` devices of one island share each layer: its time by `t`, and for each layer that learns two
//!   sums of what it hands on, forward as well as backward, by ring.
//! - **Backward** is half for what came in and half for what is learned where a layer learns, all for what came in where it
//!   does not.
//! - **Recomputation** repeats forward before backward; what came in is all that is kept.
//! - **Activations** cross from stage to stage at the speed of the ports that join the groups, gradients the same way back;
//!   a path carries one microbatch at a time in each direction, beside computation.
//! - **Gradients** are exchanged once an iteration when a group has all of them, by ring in each host, then over hosts.
//! - **Memory.** `state_ratio` bytes for every byte of parameters: 4 means 16 bytes for a parameter of 4 bytes, which is what
//!   Adam takes with weights and gradients, in mixed precision as well. What layers hand on and what came in, for every
//!   microbatch from its forward until its last gradient, by the order of the schedule; shared by `t`.
//!
//! Simplifies: no time is lost to small microbatches, to starting kernels, or to the optimizer. Does badly for networks
//! whose layers are so small that those count.

use super::fleet::Shape;
use super::line::{Line, Sums};
use crate::pipeline::schedule::Times;

/// What the rules depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Minibatches of the profile in one iteration.
    pub minibatches: f64,
    /// Samples in one iteration, where known.
    pub samples: Option<u64>,
    /// Bytes of state for every byte of parameters.
    pub state_ratio: f64,
}

/// What one part of the network takes on its group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// For one microbatch.
    pub times: Times,
    /// By kind of the group, as in its shape: the part of each microbatch that one replica takes.
    pub shares: Vec<f64>,
    /// By kind: bytes that stay from forward until the last gradient.
    pub kept: Vec<f64>,
    /// By kind: bytes beyond that while one microbatch goes backward.
    pub working: Vec<f64>,
    /// Bytes of parameters, gradients and optimizer on each device.
    pub state: f64,
}

/// What one part takes, roughly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rough {
    /// Seconds of work in an iteration.
    pub time_s: f64,
    /// What stays for the whole batch, as a part of memory.
    pub kept: f64,
    /// What stays whatever the number of microbatches, as a part of memory.
    pub always: f64,
}

impl Rules {
    /// Whether so many microbatches have whole samples, and at least one for each of so many replicas.
    pub fn allows(&self, microbatches: usize, replicas: usize) -> bool {
        self.samples.is_none_or(|samples| {
            samples.is_multiple_of(microbatches as u64) && (microbatches * replicas) as u64 <= samples
        })
    }

    /// The layers between two places on a group.
    pub fn part(
        &self,
        line: &Line,
        shape: &Shape,
        recompute: bool,
        (from, to): (usize, usize),
        microbatches: usize,
    ) -> Part {
        let fraction = self.minibatches / microbatches as f64;
        let tensor = shape.tensor as f64;
        let each: Vec<Sums> =
            shape.kinds.iter().map(|&(kind, _)| replica(line, shape, recompute, kind, from, to)).collect();
        let mut shares = shares(shape, &each);
        if let Some(samples) = self.samples {
            whole(&mut shares, shape, &each, samples / (microbatches as u64).max(1));
        }
        let slowest = |figure: fn(&Sums) -> f64| {
            let times = each.iter().zip(&shares).map(|(sums, share)| share * figure(sums));
            fraction * times.fold(0.0, f64::max)
        };
        let latency = match shape.tensor {
            1 => 0.0,
            _ => 2.0 * (line.learning[to] - line.learning[from]) * shape.sum_latency_s,
        };
        let (came_in, handed_on) = (line.crossing[from], line.activations[to] - line.activations[from]);
        let bytes =
            |all: f64| -> Vec<f64> { shares.iter().map(|share| share * fraction * all / tensor).collect() };
        Part {
            times: Times {
                forward_s: slowest(|sums| sums.forward_s) + latency,
                backward_s: slowest(|sums| sums.backward_s) + latency * if recompute { 2.0 } else { 1.0 },
                weight_s: slowest(|sums| sums.weight_s),
            },
            kept: bytes(came_in + if recompute { 0.0 } else { handed_on }),
            working: bytes(if recompute { handed_on } else { 0.0 }),
            state: (line.parameters[to] - line.parameters[from]) * self.state_ratio / tensor,
            shares,
        }
    }

    /// The same roughly, for choosing cuts: seconds of work in an iteration, and as parts of the memory of the kind that
    /// is shortest of it, what stays for one microbatch and what stays always.
    pub fn rough(
        &self,
        line: &Line,
        shape: &Shape,
        recompute: bool,
        (from, to): (usize, usize),
        microbatches: usize,
        memory: impl Fn(usize) -> f64,
    ) -> Rough {
        let mut speed = 0.0;
        for &(kind, count) in &shape.kinds {
            speed += count as f64 / replica(line, shape, recompute, kind, from, to).total().max(1e-30);
        }
        let parameters = line.parameters[to] - line.parameters[from];
        let handed_on = line.activations[to] - line.activations[from];
        let kept = line.crossing[from] + if recompute { 0.0 } else { handed_on };
        let mut rough = Rough {
            time_s: self.minibatches / speed + self.exchange(shape, parameters),
            kept: 0.0,
            always: 0.0,
        };
        for &(kind, _) in &shape.kinds {
            let share = 1.0 / replica(line, shape, recompute, kind, from, to).total().max(1e-30) / speed;
            let of = self.minibatches * share / shape.tensor as f64 / memory(kind);
            rough.kept = rough.kept.max(kept * of);
            let working = if recompute { handed_on * of } else { 0.0 };
            let state = parameters * self.state_ratio / shape.tensor as f64 / memory(kind);
            rough.always = rough.always.max(state + working / microbatches as f64);
        }
        rough
    }

    /// Bytes of one microbatch that cross a place.
    pub fn crossing(&self, line: &Line, place: usize, microbatches: usize) -> f64 {
        line.crossing[place] * self.minibatches / microbatches as f64
    }

    /// How long a group exchanges the gradients of so many bytes of parameters.
    pub fn exchange(&self, shape: &Shape, parameters: f64) -> f64 {
        match shape.replicas > 1 && parameters > 0.0 {
            true => parameters * shape.exchange_s_per_byte + shape.exchange_latency_s,
            false => 0.0,
        }
    }
}

/// One whole minibatch on one replica of a kind. What is repeated counts as backward.
fn replica(line: &Line, shape: &Shape, recompute: bool, kind: usize, from: usize, to: usize) -> Sums {
    let tensor = shape.tensor as f64;
    let times = line.times(kind, from, to);
    let sums = 2.0 * (line.shared[to] - line.shared[from]) * shape.sum_s_per_byte;
    let forward_s = times.forward_s / tensor + sums;
    Sums {
        forward_s,
        backward_s: times.backward_s / tensor + sums + if recompute { forward_s } else { 0.0 },
        weight_s: times.weight_s / tensor,
    }
}

/// The same in whole samples: by kind, the most that one of its replicas takes of so many, where the slowest is as quick
/// as can be.
fn whole(shares: &mut [f64], shape: &Shape, each: &[Sums], samples: u64) {
    let mut most: Vec<u64> =
        shares.iter().map(|share| (share * samples as f64 + 1e-9).floor() as u64).collect();
    let taken = |most: &[u64]| -> u64 {
        most.iter().zip(&shape.kinds).map(|(most, (_, count))| most * *count as u64).sum()
    };
    while taken(&most) < samples {
        let after = |kind: usize| (most[kind] + 1) as f64 * each[kind].total();
        let next = (0..most.len()).min_by(|&one, &other| after(one).total_cmp(&after(other)));
        most[next.unwrap_or(0)] += 1;
    }
    shares.iter_mut().zip(&most).for_each(|(share, most)| *share = *most as f64 / samples as f64);
}

/// By kind: the part of each microbatch that one replica takes, so that all replicas end together.
fn shares(shape: &Shape, each: &[Sums]) -> Vec<f64> {
    if let [_] = each {
        return vec![1.0 / shape.replicas as f64];
    }
    if each.iter().any(|sums| sums.total() <= 0.0) {
        return vec![1.0 / shape.replicas as f64; each.len()];
    }
    let speeds: Vec<f64> = each.iter().map(|sums| 1.0 / sums.total()).collect();
    let all: f64 = speeds.iter().zip(&shape.kinds).map(|(speed, (_, count))| speed * *count as f64).sum();
    speeds.into_iter().map(|speed| speed / all).collect()
}
