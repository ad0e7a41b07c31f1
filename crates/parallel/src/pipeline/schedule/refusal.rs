//! What is not planned, and what would be.

use super::{Action, LONGEST_S, MOST, MOST_DEVICES};
use std::fmt;

/// Why there is no order, or why an order cannot be played.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// No devices, no microbatches or no parts.
    Nothing,
    /// More than [`MOST_DEVICES`].
    TooLong {
        /// Devices.
        devices: usize,
    },
    /// More than [`MOST`].
    TooLarge {
        /// Parts.
        parts: usize,
        /// Microbatches.
        microbatches: usize,
    },
    /// So many of something where another number is needed.
    Count {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// Negative, not a number, or beyond [`LONGEST_S`].
    Time {
        /// The time.
        time_s: f64,
    },
    /// Interleaving hands microbatches round in groups of as many as there are devices.
    Groups {
        /// How many there are.
        microbatches: usize,
        /// How many devices.
        devices: usize,
    },
    /// An action on a part or a microbatch that the pipe does not have.
    Unknown {
        /// The device that would do it.
        device: usize,
        /// The action.
        action: Action,
    },
    /// An action that is there twice.
    Twice {
        /// The action.
        action: Action,
    },
    /// An action that no device does.
    Missing {
        /// The action.
        action: Action,
    },
    /// A part of which two devices do something.
    Split {
        /// The part.
        part: usize,
        /// A device.
        one: usize,
        /// Another.
        other: usize,
    },
    /// An order that blocks itself.
    Blocked {
        /// The device that waits.
        device: usize,
        /// What it would do next.
        action: Action,
        /// What that waits for.
        waits_for: Action,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Nothing => {
                write!(
                    f,
                    "a pipeline needs a device, a part on each and a microbatch; give at least one of each"
                )
            }
            Refusal::TooLong { devices } => write!(
                f,
                "{devices} devices are too many for one pipeline; give at most {MOST_DEVICES}, and run several side by side"
            ),
            Refusal::TooLarge { parts, microbatches } => write!(
                f,
                "{parts} parts and {microbatches} microbatches are too many to plan; give at most {MOST} of their product"
            ),
            Refusal::Count { what, found, expected } => {
                write!(f, "there are {found} {what}; this schedule needs {expected}")
            }
            Refusal::Time { time_s } => {
                write!(f, "invalid time {time_s}; give seconds from 0 to {LONGEST_S:e}")
            }
            Refusal::Groups { microbatches, devices } => write!(
                f,
                "interleaving needs a multiple of {devices} microbatches, one for each device; {} would do instead of {microbatches}",
                microbatches.div_ceil(*devices).saturating_mul(*devices)
            ),
            Refusal::Unknown { device, action } => {
                write!(
                    f,
                    "device {device} does the {action}, which this pipeline does not have; leave it out"
                )
            }
            Refusal::Twice { action } => write!(f, "duplicate {action}; remove one"),
            Refusal::Missing { action } => write!(f, "no device does the {action}; add it"),
            Refusal::Split { part, one, other } => {
                write!(f, "part {part} is on devices {one} and {other}; give all its work to one of them")
            }
            Refusal::Blocked { device, action, waits_for } => write!(
                f,
                "device {device} stops at the {action}, since the {waits_for} never comes; move it behind"
            ),
        }
    }
}

impl std::error::Error for Refusal {}
