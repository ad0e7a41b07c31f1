//! Chance that is the same on every machine: a fixed generator, and functions of `libm` instead of the system's.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A seeded generator.
#[derive(Clone, Debug)]
pub(crate) struct Dice(Pcg64Mcg);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(Pcg64Mcg::seed_from_u64(seed))
    }

    /// At least 0 and less than `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// At least 0 and less than 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True in this share of cases.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + self.unit() * (high - low)
    }

    /// The wait until the next of events that come once in `mean`, independently.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log(1.0 - self.unit()) * mean
    }

    /// Normal, with mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    pub fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        median * libm::exp(sigma * self.normal())
    }

    /// At least `least`, with a tail that grows heavier as `exponent` falls towards 1.
    pub fn pareto(&mut self, least: f64, exponent: f64) -> f64 {
        least * libm::pow(1.0 - self.unit(), -1.0 / exponent)
    }

    /// One of several, by weight; the first if no weight is positive. None of none.
    pub fn pick<'a, T>(&mut self, choices: &'a [(T, f64)]) -> Option<&'a T> {
        let total: f64 = choices.iter().map(|(_, weight)| weight.max(0.0)).sum();
        let mut at = self.unit() * total;
        for (choice, weight) in choices {
            at -= weight.max(0.0);
            if at < 0.0 {
                return Some(choice);
            }
        }
        choices.first().map(|(choice, _)| choice)
    }
}
