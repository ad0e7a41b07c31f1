//! What was reached before: a branch that has done the same tasks and is nowhere earlier is not worth opening.
//!
//! What may follow depends only on when devices are free, when data is where, what was put last, and what memory is
//! taken. Like devices are put into a fixed order first, so that plans that differ in names meet. How much is remembered
//! is limited; what is forgotten costs time and never correctness.

use super::state::State;
use crate::dag::problem::{Problem, later};
use std::collections::BTreeMap;

/// Most states in all.
const STATES: usize = 60_000;
/// Most states for one set of tasks.
const EACH: usize = 48;

/// The memory.
#[derive(Default)]
pub struct Seen {
    by_done: BTreeMap<u64, Vec<Kept>>,
    count: usize,
}

struct Kept {
    last: (f64, f64, usize),
    times: Vec<f64>,
}

impl Seen {
    /// Whether something at least as good was here; if not, this is remembered.
    pub fn is_dominated(&mut self, problem: &Problem, state: &State, alike: &[usize]) -> bool {
        // Memory that is held makes states differ in what may follow; such work is small and does without.
        if problem.room.is_some() {
            return false;
        }
        let new = Kept { last: state.last, times: times(problem, state, alike) };
        let kept = self.by_done.entry(state.done).or_default();
        if kept.iter().any(|old| old.is_no_worse(&new)) {
            return true;
        }
        let before = kept.len();
        kept.retain(|old| !new.is_no_worse(old));
        self.count -= before - kept.len();
        if self.count < STATES && kept.len() < EACH {
            kept.push(new);
            self.count += 1;
        }
        false
    }
}

impl Kept {
    fn is_no_worse(&self, other: &Self) -> bool {
        self.last <= other.last && self.times.iter().zip(&other.times).all(|(one, other)| one <= other)
    }
}

/// Every time on which the rest depends, devices in a fixed order. What is past is as good as the last start.
fn times(problem: &Problem, state: &State, alike: &[usize]) -> Vec<f64> {
    let devices = problem.devices;
    let now = |time: f64| later(time, state.last.0);
    let waiting = |task: &usize| {
        !state.has(*task) && problem.before.of(*task).iter().any(|&(other, _)| state.has(other as usize))
    };
    let waiting: Vec<usize> = (0..problem.tasks).filter(waiting).collect();
    let column = |device: usize| {
        let ready = waiting.iter().map(move |task| now(state.ready[task * devices + device]));
        std::iter::once(now(state.free[device])).chain(ready)
    };
    let mut order: Vec<usize> = (0..devices).collect();
    order.sort_by(|&one, &other| {
        alike[one].cmp(&alike[other]).then_with(|| {
            let differ = column(one).zip(column(other)).map(|(one, other)| one.total_cmp(&other));
            differ.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        })
    });
    let mut times = vec![state.length];
    order.into_iter().for_each(|device| times.extend(column(device)));
    times
}
