//! The earliest start of every task on every device, whatever the plan.
//!
//! A task waits for what feeds it. Whoever feeds it ran on the same device, and then one after the other with all who
//! did, or elsewhere, and then a transfer was paid. The best division between the two is computed exactly for each task
//! (an idea of Papadimitriou and Yannakakis for clusters without limit). Simplified: only the direct feeders are
//! divided, and on more devices than [`PAIRS`] allows the least transfer into a device stands for all. It says little
//! where many tasks that do not feed each other compete for few devices; the other bounds are for that.

use super::between::Between;
use crate::dag::problem::{Problem, later};

/// Most edges times pairs of devices for which every pair is looked at.
const PAIRS: usize = 4_000_000;

/// By task and device. With the problem turned round, these are the tails. `share` is what each task weighs in the
/// argument about work.
pub fn heads(problem: &Problem, share: &[f64]) -> Vec<f64> {
    let devices = problem.devices;
    let arrival = Arrival::new(problem);
    let between = Between::new(problem, share);
    let mut head = vec![f64::INFINITY; problem.tasks * devices];
    // What would come: from elsewhere, from here its start, and its time here.
    let mut feeders: Vec<(f64, f64, f64)> = vec![];
    for &task in &problem.order {
        let floor = between.as_ref().map_or(0.0, |between| between.floor(problem, task, &head));
        for device in 0..devices {
            let mut start = later(floor, problem.release[task * devices + device]);
            start = later(start, problem.free[device]);
            if problem.before.of(task).len() == 1 {
                let (other, bytes) = problem.before.of(task)[0];
                let index = other as usize * devices + device;
                let there = arrival.elsewhere(problem, &head, other as usize, bytes, device);
                start = later(start, there.min(head[index] + problem.time[index]));
            } else if !problem.before.of(task).is_empty() {
                feeders.clear();
                for &(other, bytes) in problem.before.of(task) {
                    let index = other as usize * devices + device;
                    let there = arrival.elsewhere(problem, &head, other as usize, bytes, device);
                    feeders.push((there, head[index], problem.time[index]));
                }
                start = later(start, divided(&mut feeders));
            }
            head[task * devices + device] = start;
        }
    }
    head
}

/// The least time by which all feeders can have delivered: some elsewhere, the others here, one after the other.
fn divided(feeders: &mut [(f64, f64, f64)]) -> f64 {
    // In the best division those that would come latest from elsewhere are here.
    feeders.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut least = feeders[0].0;
    for here in 1..=feeders.len() {
        // The new one is put where its start belongs, so that those here stay sorted by start.
        let mut position = here - 1;
        let there = feeders.get(here).map_or(0.0, |feeder| feeder.0);
        while position > 0 && feeders[position - 1].1 > feeders[position].1 {
            feeders.swap(position - 1, position);
            position -= 1;
        }
        let queue = feeders[..here].iter().fold(0.0, |end, &(_, start, time)| later(end, start) + time);
        least = least.min(later(queue, there));
        if queue >= there {
            break;
        }
    }
    least
}

/// When something can come from another device.
struct Arrival {
    /// Least latency and greatest bandwidth into each device; `None` when every pair is looked at.
    into: Option<Vec<(f64, f64)>>,
}

impl Arrival {
    fn new(problem: &Problem) -> Self {
        let devices = problem.devices;
        let into = |to: usize| {
            let others =
                (0..devices).filter(|&from| from != to).map(|from| problem.pairs[from * devices + to]);
            others.fold((f64::INFINITY, 0.0f64), |best, pair| (best.0.min(pair.0), best.1.max(pair.1)))
        };
        let into: Vec<(f64, f64)> = (0..devices).map(into).collect();
        let alike = |from: usize, to: usize| from == to || problem.pairs[from * devices + to] == into[to];
        // Where all links into a device are alike, the short way is exact.
        let is_exact = (0..devices).all(|from| (0..devices).all(|to| alike(from, to)));
        let is_large = problem.before.count().saturating_mul(devices * devices) > PAIRS;
        Self { into: (is_exact || is_large).then_some(into) }
    }

    #[inline]
    fn elsewhere(&self, problem: &Problem, head: &[f64], other: usize, bytes: f64, device: usize) -> f64 {
        let devices = problem.devices;
        let head = &head[other * devices..][..devices];
        let time = problem.times(other);
        let mut least = f64::INFINITY;
        match &self.into {
            Some(into) => {
                for from in 0..devices {
                    let end = head[from] + time[from];
                    if from != device && end < least {
                        least = end;
                    }
                }
                least + into[device].0 + if bytes > 0.0 { bytes / into[device].1 } else { 0.0 }
            }
            None => {
                for from in (0..devices).filter(|&from| from != device) {
                    least = least.min(head[from] + time[from] + problem.transfer(bytes, from, device));
                }
                least
            }
        }
    }
}
