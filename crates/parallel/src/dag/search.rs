//! Better and better: a seeded search over orders of tasks and their devices.
//!
//! A candidate is an order, in which nobody comes before those it waits for, and a device for every task; it is decoded
//! by putting tasks into the earliest gap. Changes move a task, two, or a whole neighbourhood to another device, or to
//! another place in the order ([`moves`]); half of them begin on the critical path. A worse candidate is kept for a
//! while with a probability that falls (simulated annealing, Kirkpatrick 1983), in several rounds, each from the best of
//! the one before or from another start. A candidate that is bound to be refused is given up half way. The effort is
//! counted in tasks and edges decoded. It does badly on large work: there are only as many tries as the budget has room for.

mod moves;

use super::bound::Bound;
use super::draft::{Draft, Schedule};
use super::problem::Problem;
use crate::dice::Dice;
use moves::{Candidate, Moves};

/// How far the search goes.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Candidates to be tried.
    pub candidates: u64,
    /// Rounds they are divided into.
    pub rounds: u64,
    /// Where chance begins.
    pub seed: u64,
}

/// Improves on the best of `starts`, which is not empty and sorted by length. Also says how many candidates were tried.
pub fn search(problem: &Problem, bound: &Bound, starts: &[Schedule], effort: Effort) -> (Schedule, u64) {
    let mut best = starts[0].clone();
    let mut tried = 0;
    let mut dice = Dice::new(0x0da6 + effort.seed);
    let each = effort.candidates / effort.rounds.max(1);
    for round in 0..effort.rounds {
        // Every fourth round starts somewhere else.
        let start = match round % 4 {
            3 => starts[(round as usize / 4 + 1) % starts.len()].clone(),
            _ => best.clone(),
        };
        let mut walk = Walk::new(problem, bound, start, &mut dice);
        tried += walk.anneal(each);
        if walk.best.length < best.length {
            best = walk.best;
        }
        if is_proven(best.length, bound.value) {
            break;
        }
    }
    (best, tried)
}

/// Whether nothing better can exist, up to rounding.
pub fn is_proven(length: f64, bound: f64) -> bool {
    length <= bound * (1.0 + 1e-12)
}

struct Walk<'a> {
    bound: &'a Bound,
    draft: Draft<'a>,
    moves: Moves<'a>,
    here: Candidate,
    length: f64,
    best: Schedule,
}

/// Share of the length that a worse candidate may be longer by, at first and at last.
const WARM: f64 = 0.01;
const COLD: f64 = 0.0003;

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem, bound: &'a Bound, start: Schedule, dice: &mut Dice) -> Self {
        let here = Candidate { order: start.order(problem), place: start.place.clone() };
        let length = start.length;
        let mut moves = Moves::new(problem, Dice::new(dice.draw()));
        moves.begin(&here);
        Self { bound, draft: Draft::new(problem), moves, here, length, best: start }
    }

    fn anneal(&mut self, candidates: u64) -> u64 {
        let cooling = libm::pow(COLD / WARM, 1.0 / candidates.max(1) as f64);
        let mut warmth = WARM * self.length;
        for tried in 0..candidates {
            warmth *= cooling;
            let patience = -libm::log(1.0 - self.moves.dice.unit()) * warmth;
            self.moves.change(&mut self.here);
            let limit = self.length + patience;
            match self.draft.replay(&self.here.order, &self.here.place, &self.bound.tail, limit) {
                Some(length) => {
                    self.length = length;
                    self.moves.settle(&mut self.here, &self.draft);
                    self.moves.learn(&self.draft);
                    if length < self.best.length {
                        self.best.clone_from(&self.draft.made);
                        if is_proven(length, self.bound.value) {
                            return tried + 1;
                        }
                    }
                }
                None => self.moves.undo(&mut self.here),
            }
        }
        candidates
    }
}
