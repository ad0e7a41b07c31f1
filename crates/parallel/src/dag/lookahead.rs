//! HEFT with a look ahead: a device is judged by when the tasks that follow could end, not only by this one.
//!
//! After Bittencourt, Sakellariou and Madeira (2010). For every device the task is put there on trial, and each of the
//! tasks it feeds is offered its best device, as far as what it waits for is known; the latest of their ends is what
//! counts. Simplified: the tasks it feeds do not stand in each other's way. It costs as many trials as there are pairs
//! of devices for every edge, so wide graphs on many devices are not tried.

use super::draft::{Draft, Schedule};
use super::problem::{Problem, later};

/// The schedule, or the task for which no device is left. `order` is HEFT's.
pub fn lookahead(problem: &Problem, order: &[usize]) -> Result<Schedule, usize> {
    let mut draft = Draft::new(problem);
    let mut is_put = vec![false; problem.tasks];
    for &task in order {
        is_put[task] = true;
        let mut best: Option<((f64, f64), usize, f64, f64)> = None;
        for device in 0..problem.devices {
            let Some((start, end)) = draft.offer(task, device) else { continue };
            let length = draft.made.length;
            draft.put(task, device, start, end);
            let after = problem.after.of(task).iter();
            let last = after.map(|&(next, _)| soonest(&draft, next as usize, &is_put)).fold(end, later);
            draft.take_back(task, length);
            if best.is_none_or(|best| (last, end) < best.0) {
                best = Some(((last, end), device, start, end));
            }
        }
        let Some((_, device, start, end)) = best else { return Err(task) };
        draft.put(task, device, start, end);
    }
    Ok(draft.made)
}

/// When a task could end, as far as what it waits for is put.
fn soonest(draft: &Draft<'_>, task: usize, is_put: &[bool]) -> f64 {
    let (problem, made) = (draft.problem, &draft.made);
    let mut soonest = f64::INFINITY;
    for device in problem.places(task) {
        let mut ready = problem.release[task * problem.devices + device];
        for &(other, bytes) in problem.before.of(task).iter().filter(|before| is_put[before.0 as usize]) {
            let from = made.place[other as usize] as usize;
            ready = later(ready, made.end[other as usize] + problem.transfer(bytes, from, device));
        }
        let time = problem.time(task, device);
        soonest = soonest.min(draft.gap(device, ready, time) + time);
    }
    soonest
}
