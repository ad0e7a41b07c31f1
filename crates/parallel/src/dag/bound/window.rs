//! Work in a window: tasks that can begin only late and must end early share what is between.
//!
//! For every set of tasks whose heads and tails are at least something, the devices do their work between the earliest
//! head and the latest tail. Each device begins with a head of its own task and ends with a tail of its own, so with
//! enough tasks it is the smallest heads and tails of different tasks that count, not the smallest of all (Carlier's
//! bound for several machines, here with weights). Simplified: the weights are those of all work, and of the tails at
//! most [`CUTS`] are tried.

use super::between;
use crate::dag::problem::{Problem, later};

/// Most tails that are tried.
const CUTS: usize = 64;

/// Most tasks for which pigeons are counted.
const PIGEONS: usize = 128;

/// The bound. `share` is what each task weighs at least, `ends` has the least head and tail of each task; `known` is a bound that is proven already.
pub fn window(problem: &Problem, weight: &[f64], share: &[f64], ends: &[(f64, f64)], known: f64) -> f64 {
    let mut late_first: Vec<usize> = (0..problem.tasks).collect();
    late_first.sort_by(|&one, &other| ends[other].0.total_cmp(&ends[one].0));
    let mut heavy_first = weight.to_vec();
    heavy_first.sort_by(|one, other| other.total_cmp(one));
    let mut best = known;
    let longest = between::longest(problem, share);
    for cut in cuts(ends) {
        let mut work = 0.0;
        let mut heads: Vec<f64> = vec![];
        let mut tails: Vec<f64> = vec![];
        for &task in late_first.iter().filter(|&&task| ends[task].1 >= cut) {
            let (head, tail) = ends[task];
            work += share[task];
            best = later(best, head + work + cut);
            // Heads come in falling order: the last ones are the smallest.
            heads.insert(0, head);
            heads.truncate(problem.devices);
            tails.insert(tails.partition_point(|&other| other <= tail), tail);
            tails.truncate(problem.devices);
            // A device without any of these tasks must not claim a head and a tail that no plan is as long as.
            if heads.len() == problem.devices && heads[heads.len() - 1] + tails[tails.len() - 1] <= best {
                let around = |ends: &[f64]| -> f64 {
                    ends.iter().zip(&heavy_first).map(|(end, weight)| end * weight).sum()
                };
                best = later(best, around(&heads) + work + around(&tails));
            }
        }
        // The same with pigeons, where that is not too much to look at.
        if problem.tasks <= PIGEONS {
            let mut head = f64::INFINITY;
            for &task in late_first.iter().filter(|&&task| ends[task].1 >= cut) {
                let earlier = std::mem::replace(&mut head, ends[task].0);
                if earlier > head && earlier.is_finite() {
                    best =
                        later(best, earlier + pigeons(&longest, ends, (earlier, cut), problem.devices) + cut);
                }
            }
            if head.is_finite() {
                best = later(best, head + pigeons(&longest, ends, (head, cut), problem.devices) + cut);
            }
        }
    }
    best
}

/// How long the tasks with such heads and tails take at least.
fn pigeons(longest: &[(usize, f64, f64)], ends: &[(f64, f64)], least: (f64, f64), devices: usize) -> f64 {
    let inside = longest.iter().filter(|&&(task, ..)| ends[task].0 >= least.0 && ends[task].1 >= least.1);
    between::pigeons(inside.map(|&(_, time, share)| (time, share)), devices)
}

/// Tails to be tried, smallest first.
fn cuts(ends: &[(f64, f64)]) -> Vec<f64> {
    let mut tails: Vec<f64> = ends.iter().map(|end| end.1).collect();
    tails.sort_by(f64::total_cmp);
    tails.dedup();
    let every = tails.len().div_ceil(CUTS).max(1);
    tails.into_iter().step_by(every).collect()
}
