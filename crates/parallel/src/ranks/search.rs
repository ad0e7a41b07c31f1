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

/// Candidates for one threshold, besides some for each host.
const PATIENCE: u64 = 1_500_000;
/// Thresholds that are tried.
const THRESHOLDS: usize = 12;

/// A ring, and how many candidates were looked at.
pub fn ring(table: &[Vec<f64>], ceiling: f64, known: Option<&[usize]>) -> (Vec<usize>, u64) {
    let speed = |from: usize, to: usize| table[from][to].max(0.0);
    let better = |one: &[usize], other: &[usize]| {
        let ((slow, long), (other_slow, other_long)) = (figures(one, speed), figures(other, speed));
        slow > other_slow || (slow == other_slow && long < other_long)
    };
    let mut best = start::greedy(table);
    if let Some(known) = known
        && better(known, &best)
    {
        best = known.to_vec();
    }
    let (mut dice, mut tried) = (Dice::new(table.len() as u64), 0);
    let mut speeds: Vec<f64> = thresholds(table, figures(&best, speed).0, ceiling);
    // From the bound downwards: the first attempt at the bound itself, then halving.
    let mut at = speeds.len().saturating_sub(1);
    for _ in 0..THRESHOLDS {
        let Some(&threshold) = speeds.get(at) else { break };
        let mut improver = Improver::new(table, threshold, &best);
        improver.run(PATIENCE, true, &mut dice);
        tried += improver.tried;
        let found = improver.order();
        if better(&found, &best) {
            best = found;
        }
        let reached = figures(&best, speed).0;
        if reached >= threshold {
            speeds.drain(..=at);
        } else {
            speeds.truncate(at);
        }
        let from = speeds.partition_point(|&speed| speed <= reached);
        speeds.drain(..from);
        at = speeds.len() / 2;
    }
    let mut improver = Improver::new(table, figures(&best, speed).0, &best);
    improver.run(2 * PATIENCE, false, &mut dice);
    tried += improver.tried;
    let found = improver.order();
    (if better(&found, &best) { found } else { best }, tried)
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
