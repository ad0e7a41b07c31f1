//! What cannot be scored, and what to do about it.

use crate::straggler;
use std::fmt;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A figure that makes no sense.
    Figure {
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// A figure that is zero, or makes no sense.
    NotPositive {
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// Backward is a part of compute.
    Backward {
        /// How long backward takes.
        backward_s: f64,
        /// How long both take.
        compute_s: f64,
    },
    /// Shapes that are not those of the gradients.
    Shapes {
        /// What they add up to.
        bytes: f64,
        /// What the gradients have.
        gradients: f64,
    },
    /// Something was measured about a way there is not.
    Way {
        /// What it was called.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The times of the workers make no sense.
    Times(straggler::Refusal),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Figure { what, value } => {
                write!(f, "the {what} is {value}; give a finite number that is not negative")
            }
            Refusal::NotPositive { what, value } => {
                write!(f, "the {what} is {value}; give a finite number above zero")
            }
            Refusal::Backward { backward_s, compute_s } => write!(
                f,
                "backward takes {backward_s} s and compute {compute_s} s in all; backward is a part of compute, so \
                 give less"
            ),
            Refusal::Shapes { bytes, gradients } => write!(
                f,
                "the shapes add up to {bytes} bytes and the gradients to {gradients}; give the shapes of all \
                 gradients, or none"
            ),
            Refusal::Way { name, known } => {
                write!(f, "unknown method `{name}`; lossy methods: {}", known.join(", "))
            }
            Refusal::Times(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}
