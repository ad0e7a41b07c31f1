//! What must happen between two tasks, or before one.
//!
//! If one task comes before another, everything that is behind the first and before the second happens between them,
//! on however many devices there are. Two arguments say how long that takes at least. *Shares*: the weighted work of
//! all of it. *Pigeons*: of more tasks than devices, two must share one, of more than twice as many three, and so on;
//! then the shortest of the longest add up. It sees the layers that barriers make, which critical paths do not.
//! Simplified: every task takes its least time, and only up to [`TASKS`] tasks are looked at.

use crate::dag::problem::{Problem, later};

/// Most tasks: as many as a set of bits holds.
const TASKS: usize = 128;

/// Who is before whom.
pub struct Between {
    before: Vec<u128>,
    behind: Vec<u128>,
    /// Task, least time and share of work, the longest first.
    longest: Vec<(usize, f64, f64)>,
    devices: usize,
}

impl Between {
    /// `None` where there are too many tasks. `share` is what each weighs in the argument about work.
    pub fn new(problem: &Problem, share: &[f64]) -> Option<Self> {
        if problem.tasks > TASKS {
            return None;
        }
        let (mut before, mut behind) = (vec![0u128; problem.tasks], vec![0u128; problem.tasks]);
        for &task in &problem.order {
            for &(other, _) in problem.before.of(task) {
                before[task] |= before[other as usize] | 1 << other;
            }
        }
        for &task in problem.order.iter().rev() {
            for &(other, _) in problem.after.of(task) {
                behind[task] |= behind[other as usize] | 1 << other;
            }
        }
        Some(Self { before, behind, longest: longest(problem, share), devices: problem.devices })
    }

    /// The least start of a task, by the earliest starts of all before it.
    pub fn floor(&self, problem: &Problem, task: usize, head: &[f64]) -> f64 {
        let devices = problem.devices;
        let all = self.before[task];
        if all == 0 {
            return 0.0;
        }
        let least = |table: &dyn Fn(usize) -> f64, other: usize| {
            (0..devices).map(|device| table(other * devices + device)).fold(f64::INFINITY, f64::min)
        };
        let mut first = f64::INFINITY;
        let mut floor = 0.0;
        for other in (0..problem.tasks).filter(|other| all >> other & 1 == 1) {
            first = first.min(least(&|index| head[index], other));
            let inside = all & self.behind[other];
            if inside.count_ones() > 1 {
                let end = least(&|index| head[index] + problem.time[index], other);
                floor = later(floor, end + self.needs(inside));
            }
        }
        later(floor, first + self.needs(all))
    }

    /// How long these tasks take at least, together.
    fn needs(&self, tasks: u128) -> f64 {
        let inside = self.longest.iter().filter(|(task, _, _)| tasks >> task & 1 == 1);
        pigeons(inside.map(|&(_, time, share)| (time, share)), self.devices)
    }
}

/// Every task with its least time and its share, the longest first.
pub fn longest(problem: &Problem, share: &[f64]) -> Vec<(usize, f64, f64)> {
    let least = |task: usize| problem.times(task).iter().copied().fold(f64::INFINITY, f64::min);
    let mut longest: Vec<_> = (0..problem.tasks).map(|task| (task, least(task), share[task])).collect();
    longest.sort_by(|one, other| other.1.total_cmp(&one.1));
    longest
}

/// The better of both arguments for tasks that come with least time and share, the longest first.
pub fn pigeons(tasks: impl Iterator<Item = (f64, f64)>, devices: usize) -> f64 {
    let (mut needs, mut work) = (0.0, 0.0);
    // The last ones that share a device: one more with every round of all devices.
    let mut last = std::collections::VecDeque::new();
    for (count, (time, share)) in tasks.enumerate() {
        work += share;
        last.push_back(time);
        while last.len() > count / devices + 1 {
            last.pop_front();
        }
        if count % devices == 0 {
            needs = later(needs, last.iter().sum());
        }
    }
    later(needs, work)
}
