//! A global batch over unlike devices.
//!
//! A device takes `fixed + sample * b` for `b` samples, and nothing for none; with accumulation the fixed part is paid for
//! every micro-batch. Everybody waits for the slowest, so the best split is the one whose slowest device is fastest. It
//! is found exactly (the idea is LB-BSP's, made exact and with memory): see [`exact`]. Where devices vary from one round
//! to the next, [`tail`] moves on from there to the least expected maximum.
//!
//! **Promises.** The step time is the least there is for whole samples, in the very floating-point numbers that
//! `fixed + sample * b` gives. The bound is the same problem with samples that may be cut: nobody can be faster.
//!
//! **Simplifies.** Times are straight lines; a device that is flat up to some batch is described by its larger fixed
//! part. Exchange of gradients is no part of it. **Does badly** where times were measured on a cold or a shared
//! device: the split is exact for figures that are not.

mod exact;
mod file;
mod plan;
mod refusal;
mod tail;

pub use file::{device, read};
pub use plan::{Even, Part, Plan, plan};
pub use refusal::Refusal;
pub use tail::expected_maximum;

/// What part of a device's memory is left alone: allocators fragment, and the last figure measured was not the peak.
pub const SAFETY: f64 = 0.08;

/// More devices than this are refused.
pub const MOST_DEVICES: usize = 65_536;

/// More devices than this are refused where the expected maximum is asked for.
pub const MOST_VARYING: usize = 1_024;

/// A larger batch than this is refused.
pub const MOST_SAMPLES: u64 = 1 << 40;

/// One device, or one rank of several.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// What people call it.
    pub name: String,
    /// What a micro-batch takes however small it is, in seconds.
    pub fixed_s: f64,
    /// What each sample adds, in seconds.
    pub sample_s: f64,
    /// The largest micro-batch it takes; `None` when only memory limits it, or nothing.
    pub max_batch: Option<u64>,
    /// The largest micro-batch that is worth while; larger ones are cut up where accumulation is allowed.
    pub efficient: Option<u64>,
    /// What it can hold.
    pub memory: Option<Memory>,
    /// How much its time varies: standard deviation over mean.
    pub spread: f64,
}

/// How the memory of a device fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// What there is, in bytes.
    pub bytes: f64,
    /// What is taken before the first sample.
    pub base: f64,
    /// What each sample of a micro-batch adds.
    pub per_sample: f64,
}

/// Whether devices may go without a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// Every device gets at least one sample.
    Never,
    /// A device gets none where all others together are faster without it.
    #[default]
    WhenFaster,
    /// The same, even where there are fewer samples than devices.
    Freely,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Samples of one update, over all devices.
    pub batch: u64,
    /// Who shares them.
    pub devices: Vec<Device>,
    /// Whether a device may go without.
    pub idle: Idle,
    /// How many micro-batches one device may take for one update; 1 is no accumulation.
    pub accumulate: u32,
    /// Minimise the expected maximum, and not the maximum of expectations.
    pub tail: bool,
    /// What is in force now, if anything: a new split stays near it.
    pub previous: Option<Previous>,
}

/// A split in force, and how far one adjustment may go from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Previous {
    /// Samples of each device, in order.
    pub batches: Vec<u64>,
    /// By what part of its samples a device may change at once; always by one.
    pub most_change: f64,
    /// What an adjustment must gain to be made at all, as a part of the time now.
    pub least_gain: f64,
}

impl Device {
    /// A device with these times and nothing that limits it.
    pub fn new(name: &str, fixed_s: f64, sample_s: f64) -> Self {
        Self {
            name: name.into(),
            fixed_s,
            sample_s,
            max_batch: None,
            efficient: None,
            memory: None,
            spread: 0.0,
        }
    }

    /// The largest micro-batch that fits.
    pub fn largest(&self) -> u64 {
        let held = self.memory.map_or(MOST_SAMPLES, |memory| {
            let room = memory.bytes * (1.0 - SAFETY) - memory.base;
            match room < 0.0 {
                true => 0,
                false if memory.per_sample <= 0.0 => MOST_SAMPLES,
                // A float beyond the range of the integer becomes its largest value.
                false => (room / memory.per_sample) as u64,
            }
        });
        held.min(self.max_batch.unwrap_or(MOST_SAMPLES)).min(MOST_SAMPLES)
    }

    /// The size of micro-batch it is cut into: no more than fits, and no more than is worth while.
    fn micro(&self, accumulate: u32) -> u64 {
        match (accumulate, self.efficient) {
            (2.., Some(efficient)) => self.largest().min(efficient.max(1)),
            _ => self.largest(),
        }
    }
}
