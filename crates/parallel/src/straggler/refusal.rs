//! What cannot be judged, and what to do about it.

use super::{MOST_VALUES, MOST_WORKERS};
use std::fmt;

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Nobody to watch.
    NoWorkers,
    /// More than are watched.
    TooMany {
        /// How many workers.
        workers: usize,
        /// How many values of them.
        values: usize,
    },
    /// More than a round is planned for.
    Crowd {
        /// How many workers.
        workers: u32,
    },
    /// Not a single time.
    NothingMeasured,
    /// A time that no worker has.
    Time {
        /// Whose.
        worker: String,
        /// What it is.
        value: f64,
    },
    /// No rounds are left.
    NoRounds,
    /// A figure that makes no sense.
    Figure {
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// As many workers that are not waited for as there are.
    Backups {
        /// How many workers.
        workers: u32,
        /// How many are not waited for.
        backup: u32,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoWorkers => write!(f, "no workers; name at least one"),
            Refusal::TooMany { workers, values } => write!(
                f,
                "{values} times of {workers} workers are too many; give at most {MOST_VALUES} of {MOST_WORKERS}, \
                 the latest"
            ),
            Refusal::Crowd { workers } => {
                write!(f, "{workers} workers are too many; plan for at most {MOST_WORKERS}")
            }
            Refusal::NothingMeasured => write!(f, "no worker has a single time; measure a few rounds first"),
            Refusal::Time { worker, value } => {
                write!(f, "a time of {worker} is {value}; give seconds that are not negative, or nothing")
            }
            Refusal::NoRounds => write!(f, "no rounds are left, so nothing can be gained; give at least one"),
            Refusal::Figure { what, value } => {
                write!(f, "the {what} is {value}; give a finite number that is not negative and makes sense")
            }
            Refusal::Backups { workers, backup } => write!(
                f,
                "a round cannot go on without {backup} of {workers} workers; wait for at least one of at most \
                 {MOST_WORKERS}"
            ),
        }
    }
}

impl std::error::Error for Refusal {}
