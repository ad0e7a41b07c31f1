//! PEFT: a table of optimistic costs tells what a choice of device will cost later.
//!
//! After Arabnejad and Barbosa (2014). The optimistic cost of a task on a device is the longest way to the end if every
//! later task had the device of its choice to itself. Among the tasks that are ready the one with the highest mean cost
//! goes first, ties to the first task; it takes the device with the least sum of its end and its cost, ties to the first
//! device. Gaps are used. It does badly where many tasks share one favourite device, since the table knows no queue.

use super::draft::{Draft, Schedule};
use super::problem::Problem;
use super::rank::Means;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The schedule, or the task for which no device is left.
pub fn peft(problem: &Problem, means: &Means) -> Result<Schedule, usize> {
    let cost = optimistic_costs(problem, means);
    let mut waits_for: Vec<usize> = (0..problem.tasks).map(|task| problem.before.of(task).len()).collect();
    let candidate = |task: usize| {
        let row = &cost[task * problem.devices..][..problem.devices];
        Candidate { urgency: mean(row), task }
    };
    let ready = (0..problem.tasks).filter(|&task| waits_for[task] == 0);
    let mut ready: BinaryHeap<Candidate> = ready.map(candidate).collect();
    let mut draft = Draft::new(problem);
    while let Some(Candidate { task, .. }) = ready.pop() {
        if !draft.put_best(task, |device, end| end + cost[task * problem.devices + device]) {
            return Err(task);
        }
        for &(next, _) in problem.after.of(task) {
            waits_for[next as usize] -= 1;
            if waits_for[next as usize] == 0 {
                ready.push(candidate(next as usize));
            }
        }
    }
    Ok(draft.made)
}

/// By task and device: what must come after the task, at best, with mean transfers.
pub fn optimistic_costs(problem: &Problem, means: &Means) -> Vec<f64> {
    let devices = problem.devices;
    let mut cost = vec![0.0; problem.tasks * devices];
    let mut stay = vec![0.0; devices];
    for &task in problem.order.iter().rev() {
        for &(next, bytes) in problem.after.of(task) {
            let next = next as usize;
            for (device, stay) in stay.iter_mut().enumerate() {
                *stay = cost[next * devices + device] + problem.time(next, device);
            }
            let transfer = means.transfer(bytes);
            // The best of all others is the best of all, unless that is the device itself: then staying is better.
            let go = stay.iter().map(|&time| time + transfer).fold(f64::INFINITY, f64::min);
            for (device, &stay) in stay.iter().enumerate() {
                let least = if go < stay { go } else { stay };
                let entry = &mut cost[task * devices + device];
                *entry = entry.max(least);
            }
        }
    }
    cost
}

fn mean(row: &[f64]) -> f64 {
    row.iter().sum::<f64>() / row.len() as f64
}

/// A task that is ready. The greatest goes first.
struct Candidate {
    urgency: f64,
    task: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.urgency.total_cmp(&other.urgency).then(other.task.cmp(&self.task))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
