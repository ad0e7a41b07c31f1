//! Devices that differ only in name: the same times, the same room, the same links.

use crate::dag::problem::Problem;

/// For each device the first one that is like it.
pub fn classes(problem: &Problem) -> Vec<usize> {
    let mut class: Vec<usize> = vec![];
    for device in 0..problem.devices {
        let fits = |&first: &usize| {
            let mut members = (0..device).filter(|&other| class[other] == first);
            members.all(|member| are_alike(problem, member, device))
        };
        let found = (0..device).filter(|&first| class[first] == first).find(fits);
        class.push(found.unwrap_or(device));
    }
    class
}

/// Whether every plan stays as good when the two change places.
fn are_alike(problem: &Problem, one: usize, other: usize) -> bool {
    let devices = problem.devices;
    let pair = |from: usize, to: usize| problem.pairs[from * devices + to];
    let third = |device: usize| {
        device == one
            || device == other
            || (pair(one, device) == pair(other, device) && pair(device, one) == pair(device, other))
    };
    let same_times = |table: &[f64]| {
        (0..problem.tasks).all(|task| table[task * devices + one] == table[task * devices + other])
    };
    let same_room = problem.room.as_ref().is_none_or(|room| room.size[one] == room.size[other]);
    same_room
        && problem.free[one] == problem.free[other]
        && pair(one, other) == pair(other, one)
        && (0..devices).all(third)
        && same_times(&problem.time)
        && same_times(&problem.release)
}
