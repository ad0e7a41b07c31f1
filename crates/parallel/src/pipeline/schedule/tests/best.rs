//! The best order there is, by trying all, on tiny pipes; and how far schedules are from it.

use super::super::{Action, Pipe, Schedule, Work, bound, bound_within, fitted, makespan, order, play};
use super::unlike;
use crate::dice::Dice;

/// Which orders of microbatches are tried.
#[derive(Clone, Copy, PartialEq)]
enum Among {
    /// All.
    All,
    /// Forwards of the first part in their order: the names of microbatches do not matter.
    Unnamed,
    /// All work of a part in the order of microbatches: fewer, where all would be too many.
    InOrder,
}

/// All lists of one device within memory.
struct Lists<'a> {
    parts: &'a [usize],
    limit: usize,
    last: usize,
    among: Among,
    /// By part and microbatch, how many works are done.
    done: Vec<Vec<usize>>,
    list: Vec<Action>,
    found: Vec<Vec<Action>>,
}

impl Lists<'_> {
    fn grow(&mut self) {
        let microbatches = self.done[0].len();
        if self.list.len() == self.parts.len() * microbatches * self.last {
            self.found.push(self.list.clone());
            return;
        }
        for chunk in 0..self.parts.len() {
            for microbatch in 0..microbatches {
                if let Some(work) = self.next(chunk, microbatch) {
                    self.done[chunk][microbatch] += 1;
                    self.list.push(Action { work, part: self.parts[chunk], microbatch });
                    self.grow();
                    self.list.pop();
                    self.done[chunk][microbatch] -= 1;
                }
            }
        }
    }

    /// What could come next for this part and microbatch.
    fn next(&self, chunk: usize, microbatch: usize) -> Option<Work> {
        let done = self.done[chunk][microbatch];
        let before = microbatch.checked_sub(1).map(|before| self.done[chunk][before]);
        let is_kept = match self.among {
            Among::All => false,
            Among::Unnamed => chunk == 0 && done == 0,
            Among::InOrder => true,
        };
        if is_kept && before.is_some_and(|before| before <= done) {
            return None;
        }
        let held = self.done.iter().flatten().filter(|&&done| done > 0 && done < self.last).count();
        let after_forward = chunk == 0 || self.done[chunk - 1][microbatch] >= 1;
        let after_backward = self.done.get(chunk + 1).is_none_or(|later| later[microbatch] >= 2);
        match done {
            0 if held < self.limit && after_forward => Some(Work::Forward),
            1 if after_backward => Some(Work::Backward),
            2 if self.last == 3 => Some(Work::Weight),
            _ => None,
        }
    }
}

/// The least makespan over all orders within memory.
fn best(schedule: Schedule, pipe: &Pipe, limits: &[f64], is_in_order: bool) -> f64 {
    let mut choices = vec![];
    for (device, &limit) in limits.iter().enumerate() {
        let parts: Vec<usize> =
            (0..pipe.parts.len()).filter(|&part| schedule.device_of(part, pipe.devices) == device).collect();
        let mut lists = Lists {
            parts: &parts,
            limit: limit as usize,
            last: if schedule.splits() { 3 } else { 2 },
            among: match device {
                _ if is_in_order => Among::InOrder,
                0 => Among::Unnamed,
                _ => Among::All,
            },
            done: vec![vec![0; pipe.microbatches]; parts.len()],
            list: vec![],
            found: vec![],
        };
        lists.grow();
        choices.push(lists.found);
    }
    let mut orders = vec![vec![]; pipe.devices];
    let mut least = f64::INFINITY;
    let total: usize = choices.iter().map(Vec::len).product();
    for number in 0..total {
        let mut rest = number;
        for (list, choices) in orders.iter_mut().zip(&choices) {
            list.clone_from(&choices[rest % choices.len()]);
            rest /= choices.len();
        }
        // Orders that block themselves are refused; all others count.
        least = least.min(makespan(&orders, pipe).unwrap_or(f64::INFINITY));
    }
    least
}

/// Average and worst of published and of fitted orders, as multiples of the best; and the bound on average.
struct Far {
    bound: f64,
    published: (f64, f64),
    fitted: (f64, f64),
}

fn far(schedule: Schedule, seed: u64, sizes: &[(usize, usize)], is_in_order: bool) -> Far {
    let mut dice = Dice::new(seed);
    let mut far = Far { bound: 0.0, published: (0.0, 1.0), fitted: (0.0, 1.0) };
    for &(devices, microbatches) in sizes {
        let pipe = unlike(&mut dice, devices, microbatches, schedule.chunks());
        let published = play(&order(schedule, &pipe).unwrap(), &pipe).unwrap();
        let best_s = best(schedule, &pipe, &published.held, is_in_order);
        let found_s = fitted(schedule, &pipe).unwrap().objective;
        assert!(bound(&pipe) <= best_s + 1e-9, "{schedule} {pipe:?}");
        assert!(bound_within(schedule, &pipe).0 <= best_s + 1e-9, "{schedule} {pipe:?}");
        assert!(best_s <= found_s + 1e-9, "{schedule} {pipe:?}");
        far.bound += bound_within(schedule, &pipe).0 / best_s / sizes.len() as f64;
        for (sum, time_s) in [(&mut far.published, published.makespan_s), (&mut far.fitted, found_s)] {
            *sum = (sum.0 + time_s / best_s / sizes.len() as f64, sum.1.max(time_s / best_s));
        }
    }
    println!(
        "{schedule}: published {:.4} of the best, {:.4} at worst; fitted {:.4}, {:.4} at worst; bound {:.4}",
        far.published.0, far.published.1, far.fitted.0, far.fitted.1, far.bound
    );
    far
}

/// Two devices with up to three microbatches, three devices with two.
fn sizes(rounds: usize) -> Vec<(usize, usize)> {
    (0..rounds).flat_map(|_| [(2, 1), (2, 2), (2, 2), (2, 2), (3, 2)]).chain([(2, 3); 2]).collect()
}

#[test]
fn no_order_beats_the_bound_and_fitted_orders_are_near_the_best() {
    for (seed, schedule) in
        [Schedule::GPipe, Schedule::OneForwardOneBackward, Schedule::ZeroBubbleH1, Schedule::ZeroBubbleH2]
            .into_iter()
            .enumerate()
    {
        let far = far(schedule, seed as u64, &sizes(10), false);
        assert!(far.fitted.0 <= far.published.0 && far.fitted.1 <= 1.05, "{schedule}");
    }
}

#[test]
fn with_two_parts_on_each_device_orders_are_near_the_best_as_well() {
    for (seed, schedule) in
        [Schedule::Interleaved { chunks: 2 }, Schedule::ZeroBubbleV].into_iter().enumerate()
    {
        let far = far(schedule, seed as u64, &[[(2, 2)].repeat(20), vec![(1, 1), (1, 2)]].concat(), true);
        assert!(far.fitted.0 <= far.published.0 && far.fitted.1 <= 1.1, "{schedule}");
    }
}
