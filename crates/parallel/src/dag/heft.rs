//! HEFT: most urgent task first, each on the device where it ends soonest.
//!
//! After Topcuoglu, Hariri and Wu (2002). Urgency is the upward rank over mean times and mean transfers; gaps are used.
//! Ties of urgency fall to the task that is first breadth first, ties of end to the first device. It looks at one task
//! at a time, so it does badly where a fast device tempts it to pay for a transfer that the next task must pay back:
//! on forks with slow links it can be worse than one device alone.

use super::draft::{Draft, Schedule};
use super::problem::Problem;
use super::rank::{self, Means};

/// The schedule, or the task for which no device is left.
pub fn heft(problem: &Problem, means: &Means) -> Result<Schedule, usize> {
    in_order(problem, &rank::by_urgency(problem, &rank::upward(problem, means)))
}

/// Tasks in an order in which nobody comes before those it waits for, each where it ends soonest.
pub fn in_order(problem: &Problem, order: &[usize]) -> Result<Schedule, usize> {
    let mut draft = Draft::new(problem);
    for &task in order {
        if !draft.put_best(task, |_, end| end) {
            return Err(task);
        }
    }
    Ok(draft.made)
}
