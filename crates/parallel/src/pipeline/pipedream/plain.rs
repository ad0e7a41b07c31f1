//! The recurrences again, plainly: every entry of every table, in the order in which they are written down. For tests.

#![allow(clippy::needless_range_loop, reason = "indices are what the recurrences are written in")]

use super::{Request, States};

/// Whether pieces that begin at a cut may end at one that does not lie behind it. The published code lets them inside a
/// level, by the accident of how states are numbered; such a piece is no part of the network.
#[derive(Clone, Copy, PartialEq)]
pub enum Pieces {
    /// Only pieces of the network.
    Sound,
    /// As coded.
    Any,
}

/// The objective; infinite where nothing fits.
pub fn objective(request: &Request, states: &States, pieces: Pieces) -> f64 {
    let count = states.len();
    let between = |figures: &[f64], from: usize, to: usize| {
        figures[to] - if from == 0 { 0.0 } else { figures[from - 1] }
    };
    let learned = |from, to| between(&states.parameter_bytes, from, to);
    let kept = |from, to| between(&states.activation_bytes, from, to) + learned(from, to);
    let fits = |copies: usize, from, to| {
        request.memory_bytes.is_none_or(|bytes| copies as f64 * kept(from, to) <= bytes)
    };
    // By state, not by cut: row `i` begins behind state `i - 1` and ends with state `j`.
    let mut inner = vec![vec![f64::INFINITY; count]; count + 1];
    for from in 0..=count {
        for to in from..count {
            inner[from][to] = between(&states.compute_s, from, to);
        }
    }
    let mut within = 1.0;
    for level in &request.levels {
        let (most, bandwidth) = (level.machines, level.bandwidth);
        let mut outer = vec![vec![f64::INFINITY; count]; count + 1];
        for from in 0..=count {
            let mut table = vec![vec![f64::INFINITY; most + 1]; count];
            for to in from..count {
                for machines in 1..=if request.straight { 1 } else { most } {
                    if fits((most - machines).div_ceil(machines), from, to) {
                        let sync = 4.0 * (machines - 1) as f64 * learned(from, to);
                        let sync = sync / (bandwidth * machines as f64) / within;
                        table[to][machines] = (inner[from][to] + sync) / machines as f64;
                    }
                }
            }
            for machines in 2..=most {
                for to in from + 1..count {
                    let mut best = table[to][machines];
                    if request.fewer_machines {
                        best = best.min(table[to][machines - 1]);
                    }
                    for cut in (from..to).filter(|&cut| states.is_before(cut, to)) {
                        if pieces == Pieces::Sound && from > 0 && !states.is_before(from - 1, cut) {
                            continue;
                        }
                        for replicas in 1..=if request.straight { 1 } else { machines - 1 } {
                            if !fits((most - machines).div_ceil(replicas), cut + 1, to) {
                                continue;
                            }
                            let shared = bandwidth * replicas as f64;
                            let sync = 4.0 * (replicas - 1) as f64 * learned(cut + 1, to) / shared;
                            let mut pace = (inner[cut + 1][to] + sync) / replicas as f64;
                            pace = pace.max(table[cut][machines - replicas]);
                            if let Some(ratio) = request.activation_ratio {
                                pace = pace.max(2.0 * states.handed_bytes[cut] / shared / ratio);
                                if to + 1 < count {
                                    pace = pace.max(2.0 * states.handed_bytes[to] / shared / ratio);
                                }
                            }
                            best = best.min(pace);
                        }
                    }
                    table[to][machines] = best;
                }
            }
            (0..count).for_each(|to| outer[from][to] = table[to][most]);
        }
        inner = outer;
        within = most as f64;
    }
    inner[0][count - 1]
}
