//! Few bits for every entry: the sign alone, one bit with two means, a few levels by chance.
//!
//! The first two lose the same way every time and need [`Feedback`](super::Feedback); the last is right on average. All
//! do badly where a few entries are much larger than the others: one scale has to serve all.

use super::{Refusal, length};

/// The sign of each entry times the mean amount (EF-signSGD). Zero counts as positive: there is no third bit.
pub fn sign(vector: &[f64]) -> Vec<f64> {
    let scale = vector.iter().map(|entry| entry.abs()).sum::<f64>() / vector.len().max(1) as f64;
    vector.iter().map(|entry| if *entry < 0.0 { -scale } else { scale }).collect()
}

/// One bit for each entry, and the mean of each of both sides (Seide and others, 2014).
#[derive(Clone, Debug, PartialEq)]
pub struct OneBit {
    /// The mean of what is not negative; 0 where nothing is.
    pub upper: f64,
    /// The mean of what is negative; 0 where nothing is.
    pub lower: f64,
    /// What the receivers see.
    pub decompressed: Vec<f64>,
}

/// One bit for each entry: negative, or not.
pub fn one_bit(vector: &[f64]) -> OneBit {
    let mean = |negative: bool| {
        let side: Vec<f64> = vector.iter().copied().filter(|entry| (*entry < 0.0) == negative).collect();
        side.iter().sum::<f64>() / side.len().max(1) as f64
    };
    let (upper, lower) = (mean(false), mean(true));
    let decompressed = vector.iter().map(|entry| if *entry < 0.0 { lower } else { upper }).collect();
    OneBit { upper, lower, decompressed }
}

/// Entries as so many levels of the length (QSGD, Alistarh and others, 2017).
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    /// The length of the vector.
    pub norm: f64,
    /// What the receivers see.
    pub decompressed: Vec<f64>,
    /// The variance is at most this times the squared length.
    pub variance: f64,
}

/// Rounds each amount down to a level, or up where its number of chance is below the fraction. One number from 0 to 1
/// for each entry.
pub fn quantised(vector: &[f64], levels: u32, chances: &[f64]) -> Result<Quantised, Refusal> {
    super::same(vector.len(), chances.len())?;
    if levels == 0 {
        return Err(Refusal::Levels);
    }
    let (norm, steps, entries) = (length(vector), f64::from(levels), vector.len() as f64);
    let round = |(entry, chance): (&f64, &f64)| {
        if norm == 0.0 {
            return 0.0;
        }
        let exact = entry.abs() / norm * steps;
        let below = exact.floor();
        let level = below + f64::from(*chance < exact - below);
        let amount = norm * level / steps;
        if *entry < 0.0 { -amount } else { amount }
    };
    let decompressed = vector.iter().zip(chances).map(round).collect();
    let variance = (entries / (steps * steps)).min(entries.sqrt() / steps);
    Ok(Quantised { norm, decompressed, variance })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn one_bit_keeps_the_sum_and_signs_keep_the_amount() {
        let vector = [1.0, 2.0, -5.0, 0.0];
        let found = one_bit(&vector);
        assert_eq!((found.upper, found.lower), (1.0, -5.0));
        assert_eq!(found.decompressed.iter().sum::<f64>(), vector.iter().sum::<f64>());
        assert_eq!(sign(&vector), [2.0, 2.0, -2.0, 2.0]);
        assert_eq!(sign(&[]), [] as [f64; 0]);
        assert_eq!(one_bit(&[-1.0]).upper, 0.0);
    }

    #[test]
    fn levels_by_chance_are_right_on_average_and_vary_no_more_than_they_say() {
        let (vector, mut dice) = ([0.3, -0.8, 0.1, 0.0, 0.5], Dice::new(9));
        let (mut mean, mut square, rounds) = ([0.0; 5], 0.0, 20_000);
        let mut bound = 0.0;
        for _ in 0..rounds {
            let chances: Vec<f64> = vector.iter().map(|_| dice.unit()).collect();
            let found = quantised(&vector, 2, &chances).unwrap();
            for (index, seen) in found.decompressed.iter().enumerate() {
                mean[index] += seen / f64::from(rounds);
                square += (seen - vector[index]) * (seen - vector[index]) / f64::from(rounds);
            }
            bound = found.variance * found.norm * found.norm;
        }
        assert!(mean.iter().zip(&vector).all(|(mean, entry)| (mean - entry).abs() < 0.02), "{mean:?}");
        assert!(square <= bound, "{square} {bound}");
        assert!(quantised(&vector, 0, &[0.0; 5]).is_err() && quantised(&vector, 2, &[0.0]).is_err());
        assert_eq!(quantised(&[0.0], 2, &[0.5]).unwrap().decompressed, [0.0]);
    }
}
