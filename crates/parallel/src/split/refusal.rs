//! What cannot be split, and what to do about it.

use super::{MOST_DEVICES, MOST_SAMPLES, MOST_VARYING};
use std::fmt;

/// Why there is no split.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Nobody to give samples to.
    NoDevices,
    /// More devices than are planned for.
    TooManyDevices {
        /// How many were named.
        devices: usize,
    },
    /// More devices than the expected maximum is searched for.
    TooManyVary {
        /// How many were named.
        devices: usize,
    },
    /// No samples, or more than are planned for.
    Batch {
        /// How many were asked for.
        batch: u64,
    },
    /// A figure that no device has.
    Figure {
        /// Whose.
        device: String,
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// Fewer samples than devices.
    TooFewSamples {
        /// How many samples there are.
        batch: u64,
        /// How many devices there are.
        devices: usize,
    },
    /// A device that cannot take one sample, where every device must.
    NoRoom {
        /// Which.
        device: String,
    },
    /// The devices cannot hold the batch.
    TooLarge {
        /// How many samples there are.
        batch: u64,
        /// How many fit, with the accumulation allowed.
        held: u64,
        /// The least number of micro-batches with which all fit; `None` when nothing fits at all.
        accumulate: Option<u64>,
    },
    /// The split in force is about other devices.
    Previous {
        /// How many parts it has.
        parts: usize,
        /// How many devices there are.
        devices: usize,
    },
    /// How far an adjustment may go makes no sense.
    Change {
        /// `most_change` or `least_gain`.
        what: &'static str,
        /// What it is.
        value: f64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoDevices => write!(f, "no devices to split the batch over; name at least one"),
            Refusal::TooManyDevices { devices } => {
                write!(f, "{devices} devices are more than can be planned for; name at most {MOST_DEVICES}")
            }
            Refusal::TooManyVary { devices } => write!(
                f,
                "{devices} devices are more than the expected maximum is searched for; name at most {MOST_VARYING}, or \
                 leave out how they vary"
            ),
            Refusal::Batch { batch } => {
                write!(
                    f,
                    "a batch of {batch} samples cannot be split; ask for 1 to {MOST_SAMPLES} samples of it"
                )
            }
            Refusal::Figure { device, what, value } => {
                write!(f, "the {what} of {device} is {value}; give a finite number that is not negative")?;
                if *what == "time per sample" { write!(f, ", and above zero") } else { Ok(()) }
            }
            Refusal::TooFewSamples { batch, devices } => write!(
                f,
                "a batch of {batch} cannot occupy {devices} devices; raise the batch, name fewer devices, or allow \
                 idle ones"
            ),
            Refusal::NoRoom { device } => {
                write!(f, "{device} has no room for a single sample; leave it out, or allow idle devices")
            }
            Refusal::TooLarge { batch, held, accumulate: Some(times) } => write!(
                f,
                "the devices hold {held} samples and the batch has {batch}; accumulate over at least {times} \
                 micro-batches, or lower the batch"
            ),
            Refusal::TooLarge { batch, accumulate: None, .. } => write!(
                f,
                "no device has room for a single one of the {batch} samples; give them more memory or smaller samples"
            ),
            Refusal::Previous { parts, devices } => {
                write!(f, "the split in force has {parts} parts; give {devices}, one for each device")
            }
            Refusal::Change { what, value } => {
                write!(f, "the {what} of an adjustment is {value}; give a number from 0 to 1")
            }
        }
    }
}

impl std::error::Error for Refusal {}
