//! Orders for parts that are unlike, within the memory of a published order.
//!
//! The idea is that of the heuristic in the paper on zero bubble: walk through time, and let each device do what is there
//! for it, backward or forward first, as long as it holds no more activations than the published order would. Gradients of
//! weights fill gaps. When a gap is long enough for one, and what comes first, are rules; all of them are tried, and the
//! best order is kept, the published one among them, and polished by small moves. So it is never worse than the published
//! one, and never holds more. On pipes so small that all orders can be tried it finds the best one, but for interleaving,
//! where it stays up to a few parts in a hundred above.
//!
//! Simplifies: microbatches go in their order through every part, and a gap is judged by what is already on its way. Does
//! badly where a device should wait although it has work, since something more urgent is about to be sent to it.

use super::bounded::bound_within;
use super::polish::polish;
use super::{Action, Pipe, Refusal, Schedule, Work, makespan, order, play};
use crate::Answer;

/// How many places for actions are looked at, at most, over all rules. What is too large for one rule stays as published.
const EFFORT: usize = 5_000_000;

/// The best order found for this pipe in no more memory, on any device, than the published order of the schedule takes.
/// Splits the backward pass only where the schedule does.
pub fn fitted(schedule: Schedule, pipe: &Pipe) -> Result<Answer<Vec<Vec<Action>>>, Refusal> {
    let published = order(schedule, pipe)?;
    let played = play(&published, pipe)?;
    let limits: Vec<usize> = played.held.iter().map(|&held| held as usize).collect();
    let device_of: Vec<usize> =
        (0..pipe.parts.len()).map(|part| schedule.device_of(part, pipe.devices)).collect();
    let (bound, by) = bound_within(schedule, pipe);
    let (mut best, mut best_s, mut tried) = (published, played.makespan_s, 1);
    let looks = best.iter().map(Vec::len).sum::<usize>().saturating_mul(schedule.chunks()).max(1);
    for rule in Rule::all(schedule).into_iter().take(EFFORT / looks) {
        if best_s <= bound {
            break;
        }
        let found = Walk::new(pipe, &device_of, &limits, schedule.splits(), rule).run();
        tried += 1;
        // A walk that does not come to an end leaves an order that is not whole, which is refused here.
        if let Ok(found_s) = makespan(&found, pipe)
            && found_s < best_s
        {
            (best, best_s) = (found, found_s);
        }
    }
    let polished = polish(best, pipe, &limits, bound)?;
    (best, best_s, tried) = (polished.orders, polished.makespan_s, tried + polished.tried);
    // Both are sums of the same times in another order: their last bits may differ.
    let bound = bound.min(best_s);
    let assumed = vec![
        "activations of all parts are of one size".to_string(),
        format!("no device holds more of them than {schedule} as published"),
        "links carry any number of messages at once, and devices compute while they send".to_string(),
    ];
    Ok(Answer { plan: best, objective: best_s, unit: "s", bound, bound_by: by, assumed, tried })
}

/// What a device does when it could do several things.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// Backward before forward, or the other way round.
    is_backward_first: bool,
    /// A device that holds all it may computes a gradient of weights before anything else, so that it may go forward.
    is_thrifty: bool,
    /// With several parts: forward with the last part first, or with the first.
    is_deep: bool,
    /// A gradient of weights begins where the gap is at least so many times as long.
    patience: f64,
}

impl Rule {
    fn all(schedule: Schedule) -> Vec<Rule> {
        let either = |is_open: bool| if is_open { vec![true, false] } else { vec![true] };
        let patiences: &[f64] = if schedule.splits() { &[0.0, 0.25, 0.5, 0.75, 1.0] } else { &[0.0] };
        let mut rules = vec![];
        for is_deep in either(schedule.chunks() > 1) {
            for is_backward_first in [true, false] {
                for is_thrifty in either(schedule.splits()) {
                    rules.extend(patiences.iter().map(|&patience| Rule {
                        is_backward_first,
                        is_thrifty,
                        is_deep,
                        patience,
                    }));
                }
            }
        }
        rules
    }
}

/// A walk through time.
struct Walk<'a> {
    pipe: &'a Pipe,
    device_of: &'a [usize],
    limits: &'a [usize],
    is_split: bool,
    rule: Rule,
    /// The parts of each device, in the order of the network.
    parts: Vec<Vec<usize>>,
    /// How often each part has done each work.
    done: Vec<[usize; 3]>,
    /// When each forward and each backward ended, by part and microbatch.
    ends_s: [Vec<f64>; 2],
    free_s: Vec<f64>,
    held: Vec<usize>,
    orders: Vec<Vec<Action>>,
}

/// What a device would do next, and when it would begin.
type Choice = Option<(f64, Work, usize)>;

/// The choices of all devices, and which of them begins first: a tree of winners, so that many devices cost little.
struct Firsts {
    choices: Vec<Choice>,
    /// Winners of pairs, from the root at 1 down to the devices in the second half.
    winners: Vec<usize>,
}

impl Firsts {
    fn new(choices: Vec<Choice>) -> Self {
        let leaves = choices.len().next_power_of_two();
        let mut winners = vec![0; 2 * leaves];
        (0..leaves).for_each(|device| winners[leaves + device] = device);
        let mut firsts = Firsts { choices, winners };
        (1..leaves).rev().for_each(|at| firsts.winners[at] = firsts.winner(at));
        firsts
    }

    /// Of two, the one that begins earlier; of equals the one with the lower index.
    fn winner(&self, at: usize) -> usize {
        let (left, right) = (self.winners[2 * at], self.winners[2 * at + 1]);
        let from_s =
            |device: usize| self.choices.get(device).copied().flatten().map_or(f64::INFINITY, |it| it.0);
        if from_s(right) < from_s(left) { right } else { left }
    }

    fn set(&mut self, device: usize, choice: Choice) {
        self.choices[device] = choice;
        let mut at = (self.winners.len() / 2 + device) / 2;
        while at > 0 {
            self.winners[at] = self.winner(at);
            at /= 2;
        }
    }

    fn first(&self) -> Option<(usize, (f64, Work, usize))> {
        let device = self.winners[1];
        Some((device, self.choices.get(device).copied().flatten()?))
    }
}

impl<'a> Walk<'a> {
    fn new(pipe: &'a Pipe, device_of: &'a [usize], limits: &'a [usize], is_split: bool, rule: Rule) -> Self {
        let mut parts = vec![vec![]; pipe.devices];
        device_of.iter().enumerate().for_each(|(part, &device)| parts[device].push(part));
        let never = vec![0.0; pipe.parts.len() * pipe.microbatches];
        Walk {
            pipe,
            device_of,
            limits,
            is_split,
            rule,
            parts,
            done: vec![[0; 3]; pipe.parts.len()],
            ends_s: [never.clone(), never],
            free_s: vec![0.0; pipe.devices],
            held: vec![0; pipe.devices],
            orders: vec![vec![]; pipe.devices],
        }
    }

    /// Always the choice that begins first: nothing that is chosen later can arrive before that.
    fn run(mut self) -> Vec<Vec<Action>> {
        let mut firsts = Firsts::new((0..self.pipe.devices).map(|device| self.choose(device)).collect());
        while let Some((device, (from_s, work, part))) = firsts.first() {
            self.commit(device, from_s, work, part);
            firsts.set(device, self.choose(device));
            let other = match work {
                Work::Forward => self.device_of.get(part + 1),
                Work::Backward => part.checked_sub(1).and_then(|before| self.device_of.get(before)),
                Work::Weight => None,
            };
            if let Some(&other) = other {
                firsts.set(other, self.choose(other));
            }
        }
        self.orders
    }

    fn commit(&mut self, device: usize, from_s: f64, work: Work, part: usize) {
        let (times, microbatch) = (&self.pipe.parts[part], self.done[part][work as usize]);
        let length_s = match work {
            Work::Forward => times.forward_s,
            Work::Backward if self.is_split => times.backward_s,
            Work::Backward => times.backward_s + times.weight_s,
            Work::Weight => times.weight_s,
        };
        self.free_s[device] = from_s + length_s;
        if let Some(ends_s) = self.ends_s.get_mut(work as usize) {
            ends_s[part * self.pipe.microbatches + microbatch] = self.free_s[device];
        }
        match work {
            Work::Forward => self.held[device] += 1,
            Work::Backward if self.is_split => (),
            _ => self.held[device] -= 1,
        }
        self.done[part][work as usize] += 1;
        self.orders[device].push(Action { work, part, microbatch });
    }

    /// When the next microbatch of a work is there; nothing if it is not on its way, or does not exist.
    fn come_s(&self, work: Work, part: usize) -> Option<f64> {
        let next = self.done[part][work as usize];
        let from = |other: usize, work: Work| {
            let end_s = self.ends_s[work as usize][other * self.pipe.microbatches + next];
            let link = other.min(part);
            let is_near = self.device_of[other] == self.device_of[part];
            (next < self.done[other][work as usize])
                .then_some(end_s + if is_near { 0.0 } else { self.pipe.send_s[link] })
        };
        match work {
            _ if next >= self.pipe.microbatches => None,
            Work::Forward if part == 0 => Some(0.0),
            Work::Forward => from(part - 1, work),
            Work::Backward if next >= self.done[part][Work::Forward as usize] => None,
            Work::Backward if part + 1 == self.pipe.parts.len() => Some(0.0),
            Work::Backward => from(part + 1, work),
            Work::Weight => (self.is_split && next < self.done[part][Work::Backward as usize]).then_some(0.0),
        }
    }

    fn choose(&self, device: usize) -> Choice {
        let free_s = self.free_s[device];
        let (mine, held, limit) = (&self.parts[device], self.held[device], self.limits[device]);
        let mut urgent: Choice = None;
        let mut offer = |work: Work, part: usize| {
            if let Some(come_s) = self.come_s(work, part) {
                let from_s = free_s.max(come_s);
                // Strictly earlier: among equals the one that is offered first stays.
                if urgent.is_none_or(|(best_s, ..)| from_s < best_s) {
                    urgent = Some((from_s, work, part));
                }
            }
        };
        let works = match self.rule.is_backward_first {
            true => [Work::Backward, Work::Forward],
            false => [Work::Forward, Work::Backward],
        };
        for work in works {
            for at in 0..mine.len() {
                let chunk =
                    if (work == Work::Forward) == self.rule.is_deep { mine.len() - 1 - at } else { at };
                // Room is left for every later part, or a microbatch could fill the device and never get through.
                let is_open = work != Work::Forward || held + (mine.len() - 1 - chunk) < limit;
                if is_open {
                    offer(work, mine[chunk]);
                }
            }
        }
        let weight = mine.iter().copied().find(|&part| self.come_s(Work::Weight, part).is_some());
        match (urgent, weight) {
            (None, Some(part)) => Some((free_s, Work::Weight, part)),
            (Some((from_s, ..)), Some(part)) => {
                let gap_s = from_s - free_s;
                let needed_s = self.rule.patience * self.pipe.parts[part].weight_s;
                let fills = gap_s > 0.0 && gap_s >= needed_s;
                let saves = self.rule.is_thrifty && held >= limit;
                if fills || saves { Some((free_s, Work::Weight, part)) } else { urgent }
            }
            (urgent, None) => urgent,
        }
    }
}
