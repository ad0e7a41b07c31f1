//! Work over speed for unlike devices.
//!
//! If tasks could be cut and shared at will, the least time by which all work is done would be a linear program: shares
//! of every task add up to one, and no device has more than the time. Its dual gives every device a weight, the weights
//! adding up to one; then no plan is shorter than the sum, over tasks, of the least weighted time. Any weights give a
//! valid bound. They are improved by subgradients from a start that is exact for devices that differ only in speed.

use crate::dag::problem::Problem;

/// Most pairs of a task and a device looked at while weights are improved.
const LOOKS: usize = 400_000;

/// Weights that give a good bound.
pub fn weights(problem: &Problem) -> Vec<f64> {
    let devices = problem.devices;
    let mut weight = start(problem);
    let mut best = (over_speed(problem, &weight), weight.clone());
    let rounds = (LOOKS / (problem.tasks * devices)).clamp(4, 200);
    let mut load = vec![0.0; devices];
    for round in 0..rounds {
        load.fill(0.0);
        for task in 0..problem.tasks {
            let times = problem.times(task);
            let device = cheapest(times, &weight);
            load[device] += times[device];
        }
        // A device with more to do than the mean is worth more.
        let mean: f64 = load.iter().zip(&weight).map(|(load, weight)| load * weight).sum();
        if mean <= 0.0 {
            break;
        }
        let stride = 0.5 / (1.0 + round as f64 * 0.5);
        for (weight, load) in weight.iter_mut().zip(&load) {
            *weight *= libm::exp(stride * (load / mean - 1.0).clamp(-2.0, 2.0));
        }
        let sum: f64 = weight.iter().sum();
        weight.iter_mut().for_each(|weight| *weight /= sum);
        let value = over_speed(problem, &weight);
        if value > best.0 {
            best = (value, weight.clone());
        }
    }
    best.1
}

/// In proportion to how fast a device is beside the fastest for each task, on average.
fn start(problem: &Problem) -> Vec<f64> {
    let mut weight = vec![0.0; problem.devices];
    for task in 0..problem.tasks {
        let times = problem.times(task);
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        if least > 0.0 {
            weight.iter_mut().zip(times).for_each(|(weight, time)| *weight += least / time);
        }
    }
    let sum: f64 = weight.iter().sum();
    match sum > 0.0 {
        true => weight.iter().map(|weight| weight / sum).collect(),
        false => vec![1.0 / problem.devices as f64; problem.devices],
    }
}

/// What a task weighs at least.
#[inline]
pub fn least(times: &[f64], weight: &[f64]) -> f64 {
    let device = cheapest(times, weight);
    times[device] * weight[device]
}

fn cheapest(times: &[f64], weight: &[f64]) -> usize {
    let mut best = (f64::INFINITY, 0);
    for (device, (&time, &weight)) in times.iter().zip(weight).enumerate() {
        // A weight of nothing times an endless time is no number, and the device is none.
        if time < f64::INFINITY && time * weight < best.0 {
            best = (time * weight, device);
        }
    }
    best.1
}

/// The bound that these weights give.
pub fn over_speed(problem: &Problem, weight: &[f64]) -> f64 {
    let taken: f64 = problem.free.iter().zip(weight).map(|(free, weight)| free * weight).sum();
    taken + (0..problem.tasks).map(|task| least(problem.times(task), weight)).sum::<f64>()
}
