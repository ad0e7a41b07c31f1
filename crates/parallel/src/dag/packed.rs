//! A start for work that holds memory: what is held is packed first, then everything is put where it ends soonest.
//!
//! Largest first, each on the device with the most room left (worst fit decreasing), which leaves space for what is
//! needed only while it runs. It does badly where everything fits only in one way; small work is searched completely.

use super::draft::Schedule;
use super::heft;
use super::problem::Problem;

/// The schedule, or the task for which no device is left. `order` is HEFT's.
pub fn packed(problem: &Problem, order: &[usize]) -> Result<Schedule, usize> {
    let Some(room) = &problem.room else { return Err(order[0]) };
    let mut part = problem.clone();
    let mut left = room.size.clone();
    let mut held: Vec<usize> = (0..problem.tasks).filter(|&task| room.is_held[task]).collect();
    held.sort_by_key(|&task| std::cmp::Reverse(room.need[task]));
    for task in held {
        let fits = problem.places(task).filter(|&device| left[device] >= room.need[task]);
        let roomy = fits.max_by_key(|&device| (left[device], std::cmp::Reverse(device))).ok_or(task)?;
        left[roomy] -= room.need[task];
        for device in (0..problem.devices).filter(|&device| device != roomy) {
            part.time[task * problem.devices + device] = f64::INFINITY;
        }
    }
    for task in (0..problem.tasks).filter(|&task| !room.is_held[task]) {
        for device in (0..problem.devices).filter(|&device| left[device] < room.need[task]) {
            part.time[task * problem.devices + device] = f64::INFINITY;
        }
    }
    heft::in_order(&part, order)
}
