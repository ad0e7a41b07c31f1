//! Gradients in fewer bytes.
//!
//! For: predicting what a compressed exchange would lose and what it would send, before anybody trains with it; and for
//! checking other people's compression against plain arithmetic. Everything here is a reference: 64-bit floats, sums in a
//! fixed order, no speed. What carries over from one round to the next (error, direction, momentum) is a field.
//!
//! | read | for |
//! |---|---|
//! | [`PowerSgd`] | low rank, with error feedback and warm start |
//! | [`largest`], [`Dgc`] | only the largest entries; and with corrected momentum |
//! | [`sign`], [`one_bit`], [`quantised`] | few bits for every entry |
//! | [`Feedback`] | what was lost this time is added next time; works with any of them |
//! | [`wire`] | how many bytes each of them sends |
//!
//! **Does badly** where it is asked about time: a fast compressor and this one lose the same, but take differently long.

mod bits;
mod low_rank;
mod matrix;
mod sparse;
pub mod wire;

pub use bits::{OneBit, Quantised, one_bit, quantised, sign};
pub use low_rank::{PowerSgd, Round};
pub use matrix::Matrix;
pub use sparse::{Dgc, Sent, Sparse, largest};

use std::fmt;

/// What was lost is added to the next gradient, so that nothing is lost for good.
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    /// What was not sent so far.
    pub error: Vec<f64>,
}

impl Feedback {
    /// Nothing was lost yet.
    pub fn new(entries: usize) -> Self {
        Self { error: vec![0.0; entries] }
    }

    /// Sends a gradient and what is left of earlier ones, by `lossy`, which returns what the receivers see. Returns that,
    /// and how much of what was to be sent is lost for now: length of the error over length of the whole.
    pub fn send(
        &mut self,
        gradient: &[f64],
        lossy: impl FnOnce(&[f64]) -> Vec<f64>,
    ) -> Result<(Vec<f64>, f64), Refusal> {
        same(self.error.len(), gradient.len())?;
        let whole: Vec<f64> = gradient.iter().zip(&self.error).map(|(new, old)| new + old).collect();
        let seen = lossy(&whole);
        same(whole.len(), seen.len())?;
        self.error = whole.iter().zip(&seen).map(|(whole, seen)| whole - seen).collect();
        let lost = length(&self.error) / length(&whole).max(f64::MIN_POSITIVE);
        Ok((seen, lost))
    }
}

/// The Euclidean length.
pub fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|entry| entry * entry).sum::<f64>().sqrt()
}

/// Why something cannot be compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A gradient of another size than the ones before.
    Size {
        /// Entries, rows or columns expected.
        expected: usize,
        /// And found.
        found: usize,
    },
    /// Another number of gradients than workers.
    Workers {
        /// How many workers there are.
        expected: usize,
        /// How many gradients came.
        found: usize,
    },
    /// A rank that no matrix of this shape has.
    Rank {
        /// Which was asked for.
        rank: usize,
        /// The largest there is.
        most: usize,
    },
    /// No levels to round to.
    Levels,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Size { expected, found } => {
                write!(f, "the gradient has {found} entries where {expected} were expected; keep one shape")
            }
            Refusal::Workers { expected, found } => {
                write!(f, "{found} gradients came from {expected} workers; give one for each")
            }
            Refusal::Rank { rank, most } => {
                write!(f, "a rank of {rank} does not suit the shape; choose one from 1 to {most}")
            }
            Refusal::Levels => write!(f, "rounding needs at least one level; give one"),
        }
    }
}

impl std::error::Error for Refusal {}

fn same(expected: usize, found: usize) -> Result<(), Refusal> {
    if expected == found { Ok(()) } else { Err(Refusal::Size { expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_comes_back() {
        let mut feedback = Feedback::new(3);
        let mut sent = [0.0; 3];
        for _ in 0..40 {
            let (seen, _) =
                feedback.send(&[1.0, 0.1, -0.2], |whole| largest(whole, 1).spread(whole.len())).unwrap();
            sent.iter_mut().zip(seen).for_each(|(sum, seen)| *sum += seen);
        }
        for ((sent, error), gradient) in sent.iter().zip(&feedback.error).zip([1.0, 0.1, -0.2]) {
            assert!((sent + error - 40.0 * gradient).abs() < 1e-9);
        }
        assert!(feedback.send(&[1.0], <[f64]>::to_vec).is_err());
    }
}
