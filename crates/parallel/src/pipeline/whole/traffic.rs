//! What an order comes to where paths are narrow: as [`crate::pipeline::schedule::play`], but a path from one group to
//! another carries one microbatch at a time.
//!
//! Whatever is sent waits until the path is free, in the order in which it was computed. That keeps the times a longest
//! path that can be walked in any order, so that the result is exact and linear in the number of actions. Both
//! directions are independent. Without traffic the two simulations agree to the last bit; a test holds them together.

use crate::pipeline::schedule::{Action, Span, Times, Work};

/// What is to be run, with the group of every part.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Groups of devices.
    pub groups: usize,
    /// Microbatches.
    pub microbatches: usize,
    /// Parts in the order of the network.
    pub parts: Vec<Times>,
    /// The group of each part.
    pub group_of: Vec<usize>,
    /// From part i to part i + 1: how long the path is taken, and how much later the last byte is there. 0 where both are
    /// on one group.
    pub forward: Vec<(f64, f64)>,
    /// The same from part i + 1 to part i.
    pub backward: Vec<(f64, f64)>,
    /// What each group does after its last action.
    pub after_s: Vec<f64>,
    /// Whether gradients of weights are apart.
    pub splits: bool,
}

const NEVER: f64 = f64::INFINITY;

impl Traffic {
    /// When the last group ends. `tell` hears of every action, by group, in its order. `None` for an order that blocks
    /// itself.
    pub fn run(&self, orders: &[Vec<Action>], mut tell: impl FnMut(usize, Span)) -> Option<f64> {
        let many = self.microbatches;
        // When what an action needs from elsewhere is there, by part and microbatch.
        let mut forward = vec![NEVER; self.parts.len() * many];
        let mut backward = vec![NEVER; self.parts.len() * many];
        forward[..many].fill(0.0);
        let mut path_free = vec![0.0; self.groups * self.groups];
        let mut free = vec![0.0; self.groups];
        let mut next = vec![0; self.groups];
        let mut ready: Vec<usize> = (0..self.groups).rev().collect();
        let mut is_ready = vec![true; self.groups];
        let last = self.parts.len() - 1;
        while let Some(group) = ready.pop() {
            is_ready[group] = false;
            while let Some(&action) = orders[group].get(next[group]) {
                let at = action.part * many + action.microbatch;
                let (come, length) = self.needs(action, forward[at], backward[at]);
                if come == NEVER {
                    break;
                }
                let from_s = f64::max(free[group], come);
                let to_s = from_s + length;
                tell(group, Span { action, from_s, to_s });
                free[group] = to_s;
                next[group] += 1;
                let (to, (busy, later), arrivals) = match action.work {
                    Work::Forward if action.part == last => {
                        backward[at] = to_s;
                        continue;
                    }
                    Work::Forward => (action.part + 1, self.forward[action.part], &mut forward),
                    Work::Backward if action.part > 0 => {
                        (action.part - 1, self.backward[action.part - 1], &mut backward)
                    }
                    _ => continue,
                };
                let receiver = self.group_of[to];
                let mut arrived = to_s;
                if receiver != group {
                    let path = &mut path_free[group * self.groups + receiver];
                    let sent = f64::max(*path, to_s) + busy;
                    *path = sent;
                    arrived = sent + later;
                }
                arrivals[to * many + action.microbatch] = arrived;
                if !is_ready[receiver] {
                    is_ready[receiver] = true;
                    ready.push(receiver);
                }
            }
        }
        let is_done = next.iter().zip(orders).all(|(next, order)| *next == order.len());
        is_done.then(|| free.iter().zip(&self.after_s).map(|(free, after)| free + after).fold(0.0, f64::max))
    }

    /// When what an action needs is there, and how long it takes. Its own forward and backward come before it in its
    /// group's order, or it blocks.
    fn needs(&self, action: Action, forward: f64, backward: f64) -> (f64, f64) {
        let times = &self.parts[action.part];
        match action.work {
            Work::Forward => (forward, times.forward_s),
            Work::Backward if self.splits => (backward, times.backward_s),
            Work::Backward => (backward, times.backward_s + times.weight_s),
            Work::Weight => (0.0, times.weight_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use crate::pipeline::schedule::{Pipe, Schedule, makespan, order};

    const ALL: [Schedule; 6] = [
        Schedule::GPipe,
        Schedule::OneForwardOneBackward,
        Schedule::Interleaved { chunks: 2 },
        Schedule::ZeroBubbleH1,
        Schedule::ZeroBubbleH2,
        Schedule::ZeroBubbleV,
    ];

    fn traffic(schedule: Schedule, pipe: &Pipe, busy: bool) -> Traffic {
        let sent: Vec<(f64, f64)> =
            pipe.send_s.iter().map(|&send| if busy { (send, 0.0) } else { (0.0, send) }).collect();
        Traffic {
            groups: pipe.devices,
            microbatches: pipe.microbatches,
            parts: pipe.parts.clone(),
            group_of: (0..pipe.parts.len()).map(|part| schedule.device_of(part, pipe.devices)).collect(),
            forward: sent.clone(),
            backward: sent,
            after_s: pipe.after_s.clone(),
            splits: schedule.splits(),
        }
    }

    #[test]
    fn where_paths_take_no_time_but_delay_both_simulations_agree() {
        let mut dice = Dice::new(3);
        for round in 0..300 {
            let schedule = ALL[round % ALL.len()];
            let devices = 1 + dice.below(4);
            let microbatches = devices * (1 + dice.below(4));
            let mut pipe = Pipe::even(devices, microbatches, schedule.chunks(), Times::default(), 0.0);
            for part in &mut pipe.parts {
                *part = Times {
                    forward_s: 1.0 + dice.unit(),
                    backward_s: 1.0 + dice.unit(),
                    weight_s: dice.unit(),
                };
            }
            pipe.send_s.iter_mut().for_each(|send| *send = dice.unit());
            pipe.after_s.iter_mut().for_each(|after| *after = dice.unit());
            let orders = order(schedule, &pipe).unwrap();
            let theirs = makespan(&orders, &pipe).unwrap();
            assert_eq!(traffic(schedule, &pipe, false).run(&orders, |_, _| ()), Some(theirs), "{schedule}");
            let narrow = traffic(schedule, &pipe, true).run(&orders, |_, _| ()).unwrap();
            assert!(narrow >= theirs - 1e-9);
        }
    }

    #[test]
    fn a_narrow_path_carries_one_microbatch_at_a_time() {
        let times = Times { forward_s: 1.0, backward_s: 1.0, weight_s: 1.0 };
        let pipe = Pipe::even(2, 4, 1, times, 10.0);
        let orders = order(Schedule::GPipe, &pipe).unwrap();
        // Forwards arrive at 11, 21, 31, 41 and the last backward leaves at 50, but the path back is taken until
        // 44 + 4 * 10; then comes its backward.
        let end = traffic(Schedule::GPipe, &pipe, true).run(&orders, |_, _| ());
        assert_eq!(end, Some(42.0 + 2.0 + 40.0 + 2.0));
    }
}
