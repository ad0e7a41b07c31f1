//! What the exhaustive search looks up again and again.

use crate::dag::bound::{Bound, load};
use crate::dag::problem::Problem;

/// Looked up, never changed.
pub struct Tables<'a> {
    /// Where each task is breadth first.
    pub position: Vec<usize>,
    /// What each task weighs at least in the argument about work.
    pub share: Vec<f64>,
    /// Tasks with what must come after them at least, the most first.
    pub by_tail: Vec<(usize, f64)>,
    /// Weights of devices, and what must come after a task on a device.
    pub bound: &'a Bound,
    /// By task: whom it feeds, and the transfer by sender and receiver.
    pub after: Vec<Vec<(usize, Vec<f64>)>>,
    /// By task: who feeds it, and the transfer by receiver and sender.
    pub before: Vec<Vec<(usize, Vec<f64>)>>,
}

impl<'a> Tables<'a> {
    /// Computes them.
    pub fn new(problem: &Problem, bound: &'a Bound) -> Self {
        let devices = problem.devices;
        let mut position = vec![0; problem.tasks];
        problem.order.iter().enumerate().for_each(|(at, &task)| position[task] = at);
        let square = |transfer: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..devices * devices).map(|pair| transfer(pair / devices, pair % devices)).collect()
        };
        let after = |task: usize| {
            let fed = problem.after.of(task).iter();
            fed.map(|&(fed, bytes)| (fed as usize, square(&|from, to| problem.transfer(bytes, from, to))))
                .collect()
        };
        let before = |task: usize| {
            let feeds = problem.before.of(task).iter();
            feeds
                .map(|&(other, bytes)| {
                    (other as usize, square(&|to, from| problem.transfer(bytes, from, to)))
                })
                .collect()
        };
        let least_tail = |task: usize| {
            problem
                .places(task)
                .map(|device| bound.tail[task * devices + device])
                .fold(f64::INFINITY, f64::min)
        };
        let mut by_tail: Vec<(usize, f64)> =
            (0..problem.tasks).map(|task| (task, least_tail(task))).collect();
        by_tail.sort_by(|one, other| other.1.total_cmp(&one.1));
        Self {
            by_tail,
            position,
            share: (0..problem.tasks).map(|task| load::least(problem.times(task), &bound.weight)).collect(),
            bound,
            after: (0..problem.tasks).map(after).collect(),
            before: (0..problem.tasks).map(before).collect(),
        }
    }
}
