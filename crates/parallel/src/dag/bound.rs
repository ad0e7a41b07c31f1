//! What no plan can beat.
//!
//! Three arguments, each valid by itself, of which the best counts. *Critical path*: every task needs its head, its own
//! time and its tail ([`path`]), transfers that cannot be avoided and what must happen between two tasks ([`between`])
//! included. *Work over speed*: a weighted mean of what
//! all devices have to do, with weights from the dual of the fractional assignment ([`load`]); for devices that differ
//! only in speed this is all work over all speed. *Work in a window*: the same for the tasks that can begin only after
//! some time and must end some time before the end, heads and tails added ([`window`]).

pub mod between;
pub mod load;
pub mod path;
pub mod window;

use super::problem::{Problem, later};

/// A bound, its parts, and why.
pub struct Bound {
    /// Seconds.
    pub value: f64,
    /// The argument.
    pub by: &'static str,
    /// What must come after a task on a device, by task and device.
    pub tail: Vec<f64>,
    /// Weight of each device in the argument about work; they add up to 1.
    pub weight: Vec<f64>,
}

/// Computes it.
pub fn bound(problem: &Problem) -> Bound {
    let weight = load::weights(problem);
    let share: Vec<f64> = (0..problem.tasks).map(|task| load::least(problem.times(task), &weight)).collect();
    let head = path::heads(problem, &share);
    let tail = path::heads(&problem.turned(), &share);
    let mut found = (problem.free.iter().copied().fold(0.0, later), "what runs already");
    let better = |found: (f64, &'static str), value: f64, by: &'static str| {
        if value > found.0 { (value, by) } else { found }
    };
    found = better(found, one_task(problem, &head, &tail), "critical path");
    found = better(found, load::over_speed(problem, &weight), "work over speed");
    let least = |table: &[f64], task: usize| {
        problem
            .places(task)
            .map(|device| table[task * problem.devices + device])
            .fold(f64::INFINITY, f64::min)
    };
    let ends: Vec<(f64, f64)> =
        (0..problem.tasks).map(|task| (least(&head, task), least(&tail, task))).collect();
    found = better(found, window::window(problem, &weight, &share, &ends, found.0), "work in a window");
    Bound { value: found.0, by: found.1, tail, weight }
}

/// Every task needs its head, itself and its tail.
fn one_task(problem: &Problem, head: &[f64], tail: &[f64]) -> f64 {
    let through = |task: usize, device: usize| {
        let index = task * problem.devices + device;
        head[index] + problem.time[index] + tail[index]
    };
    let least =
        |task: usize| (0..problem.devices).map(|device| through(task, device)).fold(f64::INFINITY, f64::min);
    (0..problem.tasks).map(least).fold(0.0, later)
}
