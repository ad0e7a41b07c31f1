//! Rounds that do not wait for the last few (Chen and others, 2016).
//!
//! Of `n` workers the first `n - b` are waited for, and what comes later is dropped. What such a round takes is the
//! expectation of an order statistic: exact for shifted exponential times (by harmonic numbers) and for draws from a
//! sample, numeric for normal ones. Does badly where always the same worker is last: then its data is never learned from.

use super::{MOST_WORKERS, Refusal};
use crate::split::expected_maximum;
use serde::Serialize;

/// How the times of a worker vary; all workers alike and independent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times<'a> {
    /// Never below `shift`, and beyond it exponential with this mean.
    ShiftedExponential {
        /// The least time.
        shift: f64,
        /// The mean of what comes on top.
        mean: f64,
    },
    /// Normal.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// Any of these times, each as likely as another.
    Sample(&'a [f64]),
}

/// A round that does not wait for all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Backup {
    /// How many take part.
    pub workers: u32,
    /// How many are not waited for.
    pub backup: u32,
    /// What a round is expected to take.
    pub round_s: f64,
    /// Gradients that count, per second.
    pub rate: f64,
}

/// Samples with more values than this are thinned, evenly over their order.
const MOST_SAMPLE: usize = 2_048;
/// Pieces into which the integral over a normal distribution is cut.
const PIECES: usize = 400;

/// What a round takes that does not wait for the last `backup` of `workers`.
pub fn expect(times: Times<'_>, workers: u32, backup: u32) -> Result<Backup, Refusal> {
    if backup >= workers {
        return Err(Refusal::Backups { workers, backup });
    }
    Ok(of(&orders(times, workers)?, workers, backup))
}

/// How many not to wait for, so that most gradients count per second; of equals, the fewest.
pub fn best(times: Times<'_>, workers: u32) -> Result<Backup, Refusal> {
    let orders = orders(times, workers)?;
    let all = (0..workers).map(|backup| of(&orders, workers, backup));
    let best = all.fold(None, |best: Option<Backup>, next| match best {
        Some(best) if best.rate >= next.rate => Some(best),
        _ => Some(next),
    });
    best.ok_or(Refusal::NoWorkers)
}

fn of(orders: &[f64], workers: u32, backup: u32) -> Backup {
    let round_s = orders[(workers - backup - 1) as usize];
    Backup { workers, backup, round_s, rate: f64::from(workers - backup) / round_s }
}

/// The expectation of the first, second and so on of so many times.
pub fn orders(times: Times<'_>, workers: u32) -> Result<Vec<f64>, Refusal> {
    if workers == 0 {
        return Err(Refusal::NoWorkers);
    }
    if workers as usize > MOST_WORKERS {
        return Err(Refusal::Crowd { workers });
    }
    let sound = |what, value: f64| match (0.0..1e15).contains(&value) {
        true => Ok(()),
        false => Err(Refusal::Figure { what, value }),
    };
    match times {
        Times::ShiftedExponential { shift, mean } => {
            sound("least time", shift)?;
            sound("mean time", mean)?;
            if shift + mean <= 0.0 {
                return Err(Refusal::Figure { what: "mean time", value: mean });
            }
            // H_n - H_b, from the smallest term on: the last to come is the first that is left out.
            let mut sum = 0.0;
            let terms = (1..=workers).rev().map(|left| {
                sum += 1.0 / f64::from(left);
                shift + mean * sum
            });
            Ok(terms.collect())
        }
        Times::Normal { mean, deviation } => {
            sound("mean time", mean)?;
            sound("deviation", deviation)?;
            if mean <= 0.0 {
                return Err(Refusal::Figure { what: "mean time", value: mean });
            }
            Ok(normal(mean, deviation, workers))
        }
        Times::Sample(sample) => {
            sample.iter().try_for_each(|&value| sound("time of a sample", value))?;
            let positive = sample.iter().any(|value| *value > 0.0);
            if !positive {
                return Err(Refusal::NothingMeasured);
            }
            Ok(drawn(sample, workers))
        }
    }
}

/// Draws from a sample: the expectation is a sum over the gaps between its values.
fn drawn(sample: &[f64], workers: u32) -> Vec<f64> {
    let mut values = sample.to_vec();
    values.sort_by(f64::total_cmp);
    if values.len() > MOST_SAMPLE {
        let place = |index: usize| index * (values.len() - 1) / (MOST_SAMPLE - 1);
        values = (0..MOST_SAMPLE).map(|index| values[place(index)]).collect();
    }
    let mut orders = vec![values[values.len() - 1]; workers as usize];
    for index in 1..values.len() {
        let gap = values[index] - values[index - 1];
        if gap > 0.0 {
            let below = at_least(workers, index as f64 / values.len() as f64);
            orders.iter_mut().zip(&below).for_each(|(order, below)| *order -= gap * below);
        }
    }
    orders
}

fn normal(mean: f64, deviation: f64, workers: u32) -> Vec<f64> {
    let (reach, width) = (8.5, 2.0 * 8.5 / PIECES as f64);
    let mut orders = vec![reach; workers as usize];
    for piece in 0..PIECES {
        // The trapezoidal rule, whose error vanishes where a function is flat at both ends.
        let z = -reach + width * (piece as f64 + 0.5);
        let below = at_least(workers, 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2));
        orders.iter_mut().zip(&below).for_each(|(order, below)| *order -= width * below);
    }
    if let Some(last) = orders.last_mut() {
        *last = expected_maximum(&vec![(0.0, 1.0); (workers as usize).min(MOST_WORKERS)]);
    }
    // A worker does not end before it begins, however wide the distribution.
    orders.iter().map(|order| (mean + deviation * order).max(mean * 1e-3)).collect()
}

/// How likely at least 1, 2 and so on of `count` tries succeed. From the likeliest number outwards, for there alone the
/// probability can be written down without losing it.
fn at_least(count: u32, chance: f64) -> Vec<f64> {
    let tries = count as usize;
    if chance <= 0.0 || chance >= 1.0 {
        return vec![f64::from(chance >= 1.0); tries];
    }
    let mode = (((f64::from(count) + 1.0) * chance) as usize).min(tries);
    let odds = chance / (1.0 - chance);
    let mut mass = vec![0.0; tries + 1];
    mass[mode] = 1.0;
    for index in mode..tries {
        mass[index + 1] = mass[index] * odds * (tries - index) as f64 / (index + 1) as f64;
    }
    for index in (0..mode).rev() {
        mass[index] = mass[index + 1] / odds * (index + 1) as f64 / (tries - index) as f64;
    }
    let whole: f64 = mass.iter().sum();
    let mut sum = 0.0;
    let mut tail: Vec<f64> = mass[1..]
        .iter()
        .rev()
        .map(|mass| {
            sum += mass / whole;
            sum
        })
        .collect();
    tail.reverse();
    tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn harmonic_numbers_give_exponential_rounds() {
        let times = Times::ShiftedExponential { shift: 1.0, mean: 0.5 };
        let found = expect(times, 3, 1).unwrap();
        assert!((found.round_s - (1.0 + 0.5 * (1.0 / 3.0 + 1.0 / 2.0))).abs() < 1e-15);
        assert_eq!(best(times, 10).unwrap().backup, 2);
        assert!(expect(times, 3, 3).is_err() && best(times, 0).is_err());
    }

    #[test]
    fn draws_from_a_sample_are_counted_exactly() {
        let sample = [1.0, 2.0, 4.0];
        // All 27 draws of three.
        let mut sums = [0.0; 3];
        for first in sample {
            for second in sample {
                for third in sample {
                    let mut draw = [first, second, third];
                    draw.sort_by(f64::total_cmp);
                    sums.iter_mut().zip(draw).for_each(|(sum, value)| *sum += value / 27.0);
                }
            }
        }
        let found = orders(Times::Sample(&sample), 3).unwrap();
        assert!(found.iter().zip(sums).all(|(one, two)| (one - two).abs() < 1e-12), "{found:?} {sums:?}");
    }

    #[test]
    fn normal_rounds_are_where_tables_say_and_symmetric() {
        let found = orders(Times::Normal { mean: 100.0, deviation: 1.0 }, 5).unwrap();
        for (found, expected) in found.iter().zip([-1.162_964, -0.495_019, 0.0, 0.495_019, 1.162_964]) {
            assert!((found - 100.0 - expected).abs() < 1e-5, "{found}");
        }
    }

    #[test]
    fn a_large_sample_of_exponential_times_comes_near_the_formula() {
        let mut dice = Dice::new(1);
        let sample: Vec<f64> = (0..20_000).map(|_| 1.0 - 0.5 * libm::log(1.0 - dice.unit())).collect();
        let exact = best(Times::ShiftedExponential { shift: 1.0, mean: 0.5 }, 50).unwrap();
        let found = best(Times::Sample(&sample), 50).unwrap();
        assert!((found.rate / exact.rate - 1.0).abs() < 0.02, "{found:?} {exact:?}");
        assert!(found.backup.abs_diff(exact.backup) <= 2);
    }

    #[test]
    fn many_workers_do_not_lose_the_tail() {
        let found = orders(Times::Normal { mean: 1.0, deviation: 0.1 }, 5_000).unwrap();
        assert!(found.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9));
        assert!((found[4_999] - 1.0 - 0.1 * 3.678).abs() < 1e-3, "{}", found[4_999]);
        assert!(orders(Times::Sample(&[]), 3).is_err() && orders(Times::Sample(&[f64::NAN]), 3).is_err());
    }
}
