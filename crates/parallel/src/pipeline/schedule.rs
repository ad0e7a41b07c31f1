//! Who computes what and when: orders of work for a pipeline, and what comes of them.
//!
//! A network is cut into parts, and a batch into microbatches. Each part runs every microbatch forward and backward;
//! the backward pass may be split into the gradient of the input, for which the part before is waiting, and the
//! gradient of the weights, for which nobody is waiting. A schedule is the order in which each device does this.
//!
//! | read | for |
//! |---|---|
//! | [`order`] | the orders as they were published: GPipe, 1F1B (PipeDream, DAPPLE), interleaved (Megatron), zero bubble |
//! | [`fitted`] | an order found for parts that are unlike, within the memory of the published one |
//! | [`play`], [`makespan`] | what an order comes to, exactly, by its dependencies alone |
//! | [`bound`], [`bound_within`] | what no order can beat, and no order of a schedule's kind |
//! | [`closed`] | the formulas of the papers, and where they hold |
//! | [`csv`] | the orders as `torch.distributed.pipelining` reads them |
//!
//! **Promises.** The same pipe gives the same orders and the same times, to the last bit. An order is played in time
//! linear in its actions. **Simplifies.** A link carries any number of messages at once, and a device computes as fast
//! while it sends; activations are all of one size. **Does badly** where links are the bottleneck: two messages that in
//! truth share a link are both told the delay of one.

mod bounded;
pub mod closed;
pub mod csv;
mod fitting;
mod orders;
mod played;
mod polish;
mod refusal;

pub use bounded::{bound, bound_by, bound_within};
pub use fitting::fitted;
pub use orders::order;
pub use played::{Played, Span, makespan, play};
pub use refusal::Refusal;

use serde::{Deserialize, Serialize};
use std::fmt;

/// The most parts times microbatches that are planned at once.
pub const MOST: usize = 2_000_000;

/// The most devices in one pipeline.
pub const MOST_DEVICES: usize = 4096;

/// The longest time that is believed, in seconds: more is a mistake of units.
pub const LONGEST_S: f64 = 1e12;

/// Which schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Schedule {
    /// All forward, then all backward.
    #[serde(rename = "gpipe")]
    GPipe,
    /// After a short warm-up one forward and one backward in turn.
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    /// The same with several parts on each device, handed round the devices several times.
    #[serde(rename = "interleaved")]
    Interleaved {
        /// Parts on each device.
        chunks: u32,
    },
    /// 1F1B with gradients of weights put off, in the memory of 1F1B.
    #[serde(rename = "zb-h1")]
    ZeroBubbleH1,
    /// The same in about twice the memory.
    #[serde(rename = "zb-h2")]
    ZeroBubbleH2,
    /// Two parts on each device, down the devices and up again, in the memory of 1F1B.
    #[serde(rename = "zb-v")]
    ZeroBubbleV,
}

impl Schedule {
    /// How many parts of the network each device holds.
    pub fn chunks(self) -> usize {
        match self {
            Schedule::Interleaved { chunks } => chunks as usize,
            Schedule::ZeroBubbleV => 2,
            _ => 1,
        }
    }

    /// Whether gradients of weights are computed on their own.
    pub fn splits(self) -> bool {
        matches!(self, Schedule::ZeroBubbleH1 | Schedule::ZeroBubbleH2 | Schedule::ZeroBubbleV)
    }

    /// On which of so many devices this schedule puts a part.
    pub fn device_of(self, part: usize, devices: usize) -> usize {
        let devices = devices.max(1);
        match self {
            Schedule::ZeroBubbleV if part >= devices => (2 * devices - 1).saturating_sub(part),
            _ => part % devices,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Schedule::GPipe => "gpipe",
            Schedule::OneForwardOneBackward => "1f1b",
            Schedule::Interleaved { .. } => "interleaved",
            Schedule::ZeroBubbleH1 => "zb-h1",
            Schedule::ZeroBubbleH2 => "zb-h2",
            Schedule::ZeroBubbleV => "zb-v",
        })
    }
}

/// What one part of the network takes for one microbatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Forward.
    pub forward_s: f64,
    /// The gradient of the input.
    pub backward_s: f64,
    /// The gradient of the weights. Schedules that do not split run `backward_s + weight_s` as one.
    pub weight_s: f64,
}

impl Times {
    /// All three.
    pub fn sum_s(&self) -> f64 {
        self.forward_s + self.backward_s + self.weight_s
    }
}

/// What is to be run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pipe {
    /// How many devices.
    pub devices: usize,
    /// How many microbatches.
    pub microbatches: usize,
    /// The parts in the order of the network: as many as devices times parts on each.
    pub parts: Vec<Times>,
    /// The delay from part i to part i + 1, one fewer than parts. It occupies no device, is paid only where the two are
    /// on different devices, and is the same backward.
    pub send_s: Vec<f64>,
    /// After its last gradient of weights each device is busy for so long: the exchange of gradients.
    pub after_s: Vec<f64>,
}

impl Pipe {
    /// A pipe of parts that are all alike, with the same delay everywhere and nothing afterwards.
    pub fn even(devices: usize, microbatches: usize, chunks: usize, times: Times, send_s: f64) -> Self {
        let count = devices.saturating_mul(chunks).min(MOST + 1);
        Pipe {
            devices,
            microbatches,
            parts: vec![times; count],
            send_s: vec![send_s; count.saturating_sub(1)],
            after_s: vec![0.0; devices.min(MOST + 1)],
        }
    }

    /// Refuses what cannot be run with so many parts on each device.
    fn check(&self, chunks: usize) -> Result<(), Refusal> {
        if self.devices == 0 || self.microbatches == 0 || chunks == 0 {
            return Err(Refusal::Nothing);
        }
        if self.devices > MOST_DEVICES {
            return Err(Refusal::TooLong { devices: self.devices });
        }
        let parts = self.devices.saturating_mul(chunks);
        if parts.saturating_mul(self.microbatches) > MOST {
            return Err(Refusal::TooLarge { parts, microbatches: self.microbatches });
        }
        let same = |what, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(Refusal::Count { what, found, expected }),
        };
        same("parts", self.parts.len(), parts)?;
        same("delays between parts", self.send_s.len(), parts - 1)?;
        same("times afterwards", self.after_s.len(), self.devices)?;
        let times = self.parts.iter().flat_map(|part| [part.forward_s, part.backward_s, part.weight_s]);
        match times.chain(self.send_s.iter().copied()).chain(self.after_s.iter().copied()).find(is_no_time) {
            Some(time_s) => Err(Refusal::Time { time_s }),
            None => Ok(()),
        }
    }
}

/// A comparison with NaN is false, so that NaN is none either.
fn is_no_time(time_s: &f64) -> bool {
    !(0.0..=LONGEST_S).contains(time_s)
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Forward.
    Forward,
    /// The gradient of the input; of input and weights where the same order has no [`Work::Weight`] for it.
    Backward,
    /// The gradient of the weights.
    Weight,
}

/// One thing that a device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Action {
    /// What.
    pub work: Work,
    /// With which part of the network.
    pub part: usize,
    /// On which microbatch.
    pub microbatch: usize,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = match self.work {
            Work::Forward => "forward",
            Work::Backward => "backward",
            Work::Weight => "weight gradient",
        };
        write!(f, "{work} of part {} on microbatch {}", self.part, self.microbatch)
    }
}

#[cfg(test)]
mod tests;
