//! The ways there are, mildest first, and what a round of each still brings.

use super::Situation;
use super::local;
use crate::compress::wire::Form;
use std::fmt;

/// A way to exchange gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// In every round, by all-reduce, in this form.
    Every(Form),
    /// In every round, through so many servers.
    Servers(u32),
    /// Without the last so many workers of each round.
    Backup(u32),
    /// A worker may be so many rounds ahead of the slowest.
    Stale(u32),
    /// Averaged after so many local rounds.
    Local(u64),
    /// The same, with an outer optimizer.
    Diloco(u64),
}

impl Way {
    /// All ways worth scoring here, mildest first. `backup` is the best number of workers not to wait for.
    pub fn all(situation: &Situation, backup: u32) -> Vec<Way> {
        let mut ways = vec![Way::Every(Form::Dense)];
        if situation.servers > 0 {
            ways.push(Way::Servers(situation.servers));
        }
        ways.extend([Form::Bf16, Form::Fp16].map(Way::Every));
        if backup > 0 {
            ways.push(Way::Backup(backup));
        }
        ways.extend([32, 16, 8, 4, 2, 1].map(|rank| Way::Every(Form::LowRank(rank))));
        ways.extend([0.1, 0.01, 0.001].map(|part| Way::Every(Form::Largest(part))));
        ways.extend([1, 2, 4, 8].map(Way::Stale));
        let mut rounds = vec![2, 4, 8, 16];
        if let Some(found) = situation.loss.and_then(|loss| local::rounds(&loss).ok())
            && found > 1
        {
            rounds.push(found);
            rounds.sort_unstable();
            rounds.dedup();
        }
        ways.extend(rounds.into_iter().map(Way::Local));
        ways.extend([50, 100, 500].map(Way::Diloco));
        ways
    }

    /// How much a round brings beside a whole one, where noise over batch is `noise`, so many of all `workers` take
    /// part, and a lossy form sends the part `captured` of the energy.
    pub fn progress(self, noise: f64, workers: u32, captured: f64) -> f64 {
        let needed = match self {
            Way::Every(_) => 1.0 / captured + noise,
            Way::Servers(_) => 1.0 + noise,
            Way::Backup(late) => {
                1.0 + noise * f64::from(workers) / f64::from(workers.saturating_sub(late).max(1))
            }
            Way::Stale(ahead) => 1.0 + f64::from(ahead) / 2.0 + noise,
            Way::Local(rounds) | Way::Diloco(rounds) => rounds as f64 + noise,
        };
        (1.0 + noise) / needed
    }

    /// The part of the energy of a gradient that a form sends, as long as nobody has measured it: singular values that
    /// fall as one over their number, and entries that fall off exponentially.
    pub fn captured(self, sides: &[(u64, u64)]) -> f64 {
        match self {
            Way::Every(Form::LowRank(rank)) => {
                let side = sides.iter().map(|&(rows, columns)| rows.min(columns)).max().unwrap_or(1);
                let energy = |count: u64| (1..=count).map(|n| 1.0 / (n as f64 * n as f64)).sum::<f64>();
                energy(u64::from(rank).min(side)) / energy(side.clamp(1, 100_000))
            }
            Way::Every(Form::Largest(part)) => {
                let depth = libm::log(1.0 / part);
                (part * (1.0 + depth + depth * depth / 2.0)).min(1.0)
            }
            // Rounding to 11 and to 8 bits.
            Way::Every(Form::Fp16) => 1.0 - 1.0 / (2048.0 * 2048.0),
            Way::Every(Form::Bf16) => 1.0 - 1.0 / (512.0 * 512.0),
            _ => 1.0,
        }
    }

    /// Whether something of the gradients is lost.
    pub fn is_lossy(self) -> bool {
        matches!(self, Way::Every(form) if form != Form::Dense)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Every(Form::Dense) => write!(f, "dense"),
            Way::Every(Form::Fp16) => write!(f, "fp16"),
            Way::Every(Form::Bf16) => write!(f, "bf16"),
            Way::Every(Form::LowRank(rank)) => write!(f, "powersgd-{rank}"),
            Way::Every(Form::Largest(part)) => write!(f, "top-k-{}%", 100.0 * part),
            Way::Every(Form::Bit) => write!(f, "one-bit"),
            Way::Every(Form::Levels(levels)) => write!(f, "levels-{levels}"),
            Way::Servers(servers) => write!(f, "servers-{servers}"),
            Way::Backup(late) => write!(f, "backup-{late}"),
            Way::Stale(ahead) => write!(f, "stale-{ahead}"),
            Way::Local(rounds) => write!(f, "local-{rounds}"),
            Way::Diloco(rounds) => write!(f, "diloco-{rounds}"),
        }
    }
}
