//! Everything on one device: the plan that needs no network, and that no other plan may be worse than.
//!
//! Also on groups of devices that can all talk to each other, for work whose devices are partly apart.

use super::draft::{Draft, Schedule};
use super::heft;
use super::problem::Problem;
use super::rank::{self, Means};
use std::collections::BTreeSet;

/// Most looks at an edge and a device, in all groups together.
const LOOKS: usize = 20_000_000;

/// The best single device and its schedule; ties fall to the first. `None` where no device can do everything.
pub fn single(problem: &Problem) -> Option<(usize, Schedule)> {
    let mut best: Option<(usize, Schedule)> = None;
    for device in 0..problem.devices {
        let Some(made) = on_one(problem, device) else { continue };
        if best.as_ref().is_none_or(|best| made.length < best.1.length) {
            best = Some((device, made));
        }
    }
    best
}

fn on_one(problem: &Problem, device: usize) -> Option<Schedule> {
    let mut draft = Draft::new(problem);
    for &task in &problem.order {
        let (start, end) = draft.offer(task, device)?;
        draft.put(task, device, start, end);
    }
    Some(draft.made)
}

/// The best schedule by HEFT on groups of devices that can all talk to each other: one group grown from each device.
/// `Err` is the first task for which no device was left in the last group tried.
pub fn in_groups(problem: &Problem, means: &Means) -> Result<Schedule, usize> {
    let order = rank::by_urgency(problem, &rank::upward(problem, means));
    let mut best: Option<Schedule> = None;
    let mut left_over = order[0];
    let groups: BTreeSet<Vec<usize>> = (0..problem.devices).map(|seed| grown(problem, seed)).collect();
    // Each costs as much as HEFT, so there is a limit to all of them together.
    let each = (problem.tasks + problem.before.count()) * problem.devices;
    for group in groups.into_iter().take((LOOKS / each.max(1)).max(1)) {
        let mut part = problem.clone();
        for task in 0..problem.tasks {
            for device in (0..problem.devices).filter(|device| !group.contains(device)) {
                part.time[task * problem.devices + device] = f64::INFINITY;
            }
        }
        match heft::in_order(&part, &order) {
            Ok(made) if best.as_ref().is_none_or(|best| made.length < best.length) => best = Some(made),
            Ok(_) => (),
            Err(task) => left_over = task,
        }
    }
    best.ok_or(left_over)
}

/// Devices that can all talk to each other, the seed among them.
fn grown(problem: &Problem, seed: usize) -> Vec<usize> {
    let talks = |one: usize, other: usize| {
        let pair = |from: usize, to: usize| problem.pairs[from * problem.devices + to].0.is_finite();
        pair(one, other) && pair(other, one)
    };
    let mut group = vec![seed];
    for device in (0..problem.devices).filter(|&device| device != seed) {
        if group.iter().all(|&member| talks(member, device)) {
            group.push(device);
        }
    }
    group.sort_unstable();
    group
}
