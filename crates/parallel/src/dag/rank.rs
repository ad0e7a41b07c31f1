//! How urgent a task is: the mean times and the upward rank of HEFT.

use super::problem::Problem;

/// Means over devices and pairs of devices; what cannot be is left out of them.
pub struct Means {
    /// Of each task's times.
    pub time: Vec<f64>,
    /// Of the latencies between two different devices.
    pub latency: f64,
    /// Of seconds for one byte between two different devices.
    pub per_byte: f64,
}

impl Means {
    /// Computes them.
    pub fn new(problem: &Problem) -> Self {
        let time = (0..problem.tasks).map(|task| mean(problem.times(task).iter().copied())).collect();
        let count = problem.devices;
        let apart = (0..count * count).filter(|pair| pair / count != pair % count);
        let pairs: Vec<(f64, f64)> = apart.map(|pair| problem.pairs[pair]).collect();
        let linked = || pairs.iter().filter(|pair| pair.0.is_finite());
        Self {
            time,
            latency: mean(linked().map(|pair| pair.0)),
            per_byte: mean(linked().map(|pair| 1.0 / pair.1)),
        }
    }

    /// Of one transfer.
    #[inline]
    pub fn transfer(&self, bytes: f64) -> f64 {
        self.latency + bytes * self.per_byte
    }
}

/// Of what is finite; 0 of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values
        .filter(|value| value.is_finite())
        .fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// `rank_u`: the mean time from the start of a task to the end of everything, if there were always a free device.
pub fn upward(problem: &Problem, means: &Means) -> Vec<f64> {
    let mut rank = vec![0.0; problem.tasks];
    for &task in problem.order.iter().rev() {
        let after = problem.after.of(task).iter();
        let longest =
            after.map(|&(next, bytes)| means.transfer(bytes) + rank[next as usize]).fold(0.0, f64::max);
        rank[task] = means.time[task] + longest;
    }
    rank
}

/// Most urgent first; ties fall to the first breadth first.
pub fn by_urgency(problem: &Problem, rank: &[f64]) -> Vec<usize> {
    let mut order = problem.order.clone();
    order.sort_by(|&one, &other| rank[other].total_cmp(&rank[one]));
    order
}
