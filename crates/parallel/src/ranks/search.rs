//! A good ring through more hosts than can be looked at exhaustively.
//!
//! Begins with fast links joined greedily into chains and with the order of the tree where there is one, then improves:
//! segments change places (3-opt without reversal, which keeps every direction) and segments are turned round (2-opt,
//! with sums kept for both directions, so that it holds where a pair is faster one way). Links below a threshold cost so
//! much that none is kept where another will do; the threshold starts at the bound and is halved down to what can be
//! reached. When nothing improves, a few neighbouring segments are shuffled and the search goes on from there (iterated
//! local search), for a counted number of candidates.
//!
//! **Promises** a ring no worse than the one it was given. **Does badly** where a ring over fast links must thread a
//! maze: then the slowest link may be below the bound, and the answer shows how far.

mod improve;
mod start;

use super::ring::figures;
use crate::dice::Dice;
use improve::Improver;

/// Work for one threshold, besides some for each host.
const PATIENCE: u64 = 1_000_000;
/// Thresholds that are tried.
const THRESHOLDS: usize = 12;
/// So near to the bound, a faster slowest link is worth no more looking: no measurement is as exact.
const NEAR_ENOUGH: f64 = 0.999;

/// A ring being looked for, and how many candidates were looked at.
pub struct Search<'a> {
    table: &'a [Vec<f64>],
    dice: Dice,
    /// The best so far.
    pub order: Vec<usize>,
    /// Candidates looked at.
    pub tried: u64,
}

impl<'a> Search<'a> {
    /// Begins with the better of a known order and a greedy one.
    pub fn new(table: &'a [Vec<f64>], known: Option<&[usize]>) -> Self {
        let dice = Dice::new(table.len() as u64);
        let mut search = Search { table, dice, order: start::greedy(table), tried: 0 };
        known.into_iter().for_each(|known| search.offer(known.to_vec()));
        search
    }

    /// The slowest link and the time around of an order.
    pub fn figures(&self, order: &[usize]) -> (f64, f64) {
        figures(order, |from, to| self.table[from][to].max(0.0))
    }

    /// Keeps the better one.
    fn offer(&mut self, order: Vec<usize>) {
        let ((slow, long), (known_slow, known_long)) = (self.figures(&order), self.figures(&self.order));
        if slow > known_slow || (slow == known_slow && long < known_long) {
            self.order = order;
        }
    }

    /// Looks for a faster slowest link: first at the bound, then by halving what is left.
    pub fn widen(&mut self, ceiling: f64) {
        let mut speeds = thresholds(self.table, self.figures(&self.order).0, ceiling);
        let mut at = speeds.len().saturating_sub(1);
        for _ in 0..THRESHOLDS {
            let Some(&threshold) = speeds.get(at) else { break };
            let mut improver = Improver::new(self.table, threshold, &self.order);
            improver.run(PATIENCE, None, &mut self.dice);
            self.tried += improver.tried;
            self.offer(improver.order());
            let reached = self.figures(&self.order).0;
            if reached >= NEAR_ENOUGH * ceiling {
                break;
            }
            if reached < threshold {
                speeds.truncate(at);
            }
            let known = speeds.partition_point(|&speed| speed <= reached);
            speeds.drain(..known);
            at = speeds.len() / 2;
        }
    }

    /// Looks for less time around without a slower link, until it is down to the bound.
    pub fn shorten(&mut self, bound: f64) {
        let mut improver = Improver::new(self.table, self.figures(&self.order).0, &self.order);
        improver.run(2 * PATIENCE, Some(bound), &mut self.dice);
        self.tried += improver.tried;
        self.offer(improver.order());
    }
}

/// The speeds that occur above what is reached already, up to the bound.
fn thresholds(table: &[Vec<f64>], reached: f64, ceiling: f64) -> Vec<f64> {
    let mut speeds: Vec<f64> = vec![];
    for (from, row) in table.iter().enumerate() {
        let others = row.iter().enumerate().filter(|(to, _)| *to != from).map(|(_, speed)| *speed);
        speeds.extend(others.filter(|&speed| speed > reached && speed <= ceiling));
    }
    speeds.sort_unstable_by(f64::total_cmp);
    speeds.dedup();
    speeds
}
