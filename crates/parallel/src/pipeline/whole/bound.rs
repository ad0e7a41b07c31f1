//! What no plan can beat under the rules of [`super::cost`].
//!
//! Every plan is of one of two forms, so that the lower of two bounds counts.
//! - **One group.** It does all the work of the batch with the speed of its devices, and then exchanges the gradients of
//!   everything, or adds up what its layers hand on: one or the other where there is more than one device.
//! - **Several groups.** No device does anything before its first microbatch is there; all but the first group wait until
//!   a microbatch has crossed a link, and the idle time of their devices is lost.
//!
//! Beside that, one sample must go through everything, on the fastest island. Work on unlike devices is bounded by weights
//! that are in proportion to their speeds, which is exact where a kind has the same factor for every layer and below the
//! truth elsewhere. Does badly where memory forces recomputation or long pipelines: the bound knows no memory.

use super::cost::Rules;
use super::fleet::Fleet;
use super::line::Line;
use crate::pipeline::layers::Layers;

/// What the bound is drawn from.
pub struct Ground<'a> {
    /// The network.
    pub layers: &'a Layers,
    /// By layer: whether it stays after cleaning.
    pub stays: &'a [bool],
    /// By kind and layer: its speed.
    pub factors: &'a [Vec<f64>],
    /// The devices.
    pub fleet: &'a Fleet,
    /// A line, for sizes that do not depend on the order.
    pub line: &'a Line,
    /// The rules.
    pub rules: Rules,
    /// The most microbatches a plan may have.
    pub most_microbatches: usize,
    /// The most devices that may share a layer.
    pub most_tensor: usize,
    /// Whether the network hangs together.
    pub is_joined: bool,
}

/// The bound in seconds, and the argument in a few words.
pub fn bound(ground: &Ground<'_>) -> (f64, String) {
    let work = work(ground, &all(ground));
    let one = one_group(ground);
    let several = several_groups(ground, work);
    let (least, why) = match one <= several {
        true => (one, if one > work { "work over speed, then gradients" } else { "work over speed" }),
        false => (several, if several > work { "work over speed, and filling" } else { "work over speed" }),
    };
    match path(ground) {
        path if path > least => (path, "the way of one sample".into()),
        _ => (least, why.into()),
    }
}

fn all(ground: &Ground<'_>) -> Vec<usize> {
    let mut counts = vec![0; ground.fleet.kinds.len()];
    ground.fleet.devices.iter().for_each(|device| counts[device.kind] += 1);
    counts
}

/// Layers that stay, and what each takes.
fn times(ground: &Ground<'_>) -> Vec<(usize, f64)> {
    let stays = ground.layers.layers.iter().enumerate().filter(|(index, _)| ground.stays[*index]);
    stays.map(|(index, layer)| (index, layer.forward_s + layer.backward_s)).collect()
}

/// A device's weight is its speed over the whole network; the weights of all devices add up to 1. By kind.
fn weights(ground: &Ground<'_>, counts: &[usize]) -> Vec<f64> {
    let times = times(ground);
    let speed = |kind: usize| {
        let taken: f64 = times.iter().map(|(layer, time)| time / ground.factors[kind][*layer]).sum();
        1.0 / taken
    };
    let speeds: Vec<f64> = (0..counts.len()).map(speed).collect();
    let all: f64 = speeds.iter().zip(counts).map(|(speed, count)| speed * *count as f64).sum();
    speeds.into_iter().map(|speed| speed / all).collect()
}

/// All work of an iteration on so many devices of each kind, in seconds, whoever does what: the longest busy time is at
/// least the weighted mean, and that is least where each layer is where it weighs least.
fn work(ground: &Ground<'_>, counts: &[usize]) -> f64 {
    let weights = weights(ground, counts);
    let cheapest = |&(layer, time): &(usize, f64)| {
        let kinds = (0..counts.len()).filter(|&kind| counts[kind] > 0);
        let cost = |kind: usize| weights[kind] * time / ground.factors[kind][layer];
        kinds.map(cost).fold(f64::INFINITY, f64::min)
    };
    ground.rules.minibatches * times(ground).iter().map(cheapest).sum::<f64>()
}

/// Everything on one group.
fn one_group(ground: &Ground<'_>) -> f64 {
    let counts = all(ground);
    let pieces = ground.line.pieces();
    let alone = (0..counts.len()).filter(|&kind| counts[kind] > 0).map(|kind| {
        let mut one = vec![0; counts.len()];
        one[kind] = 1;
        work(ground, &one)
    });
    let alone = alone.fold(f64::INFINITY, f64::min);
    if ground.fleet.devices.len() == 1 {
        return alone;
    }
    let work = work(ground, &counts);
    let port = ground.fleet.fastest_port();
    // At least two replicas: each device sends and receives half of the gradients twice, of the part it has.
    let shared = ground.most_tensor as f64;
    let exchanged = ground.line.parameters[pieces] / shared / port;
    // One replica of several devices: two sums forward and two backward of what learning layers hand on.
    let summed = 4.0 * ground.line.shared[pieces] * ground.rules.minibatches / port;
    alone.min(work + exchanged.min(if ground.most_tensor > 1 { summed } else { f64::INFINITY }))
}

/// More than one group.
fn several_groups(ground: &Ground<'_>, work: f64) -> f64 {
    let pieces = ground.line.pieces();
    if pieces < 2 || ground.fleet.devices.len() < 2 {
        return f64::INFINITY;
    }
    // Any layer may be the first, and any cut may be the cheapest, in whatever order. Nothing need cross where the
    // network falls apart.
    let least_bytes = match ground.is_joined {
        false => 0.0,
        true => {
            let stays = ground.layers.layers.iter().enumerate().filter(|(index, _)| ground.stays[*index]);
            stays.map(|(_, layer)| layer.activation_bytes).fold(f64::INFINITY, f64::min)
        }
    };
    let sent =
        least_bytes * ground.rules.minibatches / ground.most_microbatches as f64 / ground.fleet.fastest();
    let counts = all(ground);
    let weights = weights(ground, &counts);
    let present = (0..counts.len()).filter(|&kind| counts[kind] > 0);
    work + sent * present.map(|kind| weights[kind]).fold(f64::INFINITY, f64::min)
}

/// One sample through everything.
fn path(ground: &Ground<'_>) -> f64 {
    let Some(samples) = ground.rules.samples else { return 0.0 };
    let layers = (0..ground.layers.layers.len()).filter(|&layer| ground.stays[layer]);
    let fastest = |layer: usize| {
        let kinds = 0..ground.fleet.kinds.len();
        let speed = kinds.map(|kind| {
            let tensor = ground.fleet.widest(kind).clamp(1, ground.most_tensor.max(1));
            if ground.fleet.widest(kind) == 0 { 0.0 } else { ground.factors[kind][layer] * tensor as f64 }
        });
        speed.fold(0.0, f64::max)
    };
    let time = |layer: usize| {
        (ground.layers.layers[layer].forward_s + ground.layers.layers[layer].backward_s) / fastest(layer)
    };
    ground.rules.minibatches / samples as f64 * layers.map(time).sum::<f64>()
}
