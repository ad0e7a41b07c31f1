//! Who holds up the others, why, and what to do about it.
//!
//! For: a job in which everybody waits for the slowest. What is watched are times of each worker without waiting: from
//! the start of a round to its first collective. A worker is compared with its peers and with its own past by figures
//! that a few wild values cannot move (median, median of deviations), and by a cumulative sum that notices slow drift
//! (Page, 1954). What to do is chosen by expected value over the rounds left: nothing is changed unless that pays.
//!
//! | read | for |
//! |---|---|
//! | [`judge`] | findings, and every action with cost and value |
//! | [`backup`] | rounds that do not wait for the last few |
//! | [`habits`] | what stays of times, and what varies |
//! | [`saving`] | how often to save the state |
//! | [`read`] | times of workers from a CSV table |
//!
//! **Promises.** Missing values, few workers, equal times and single outliers give an answer and never a division by
//! zero. **Simplifies.** What was measured goes on as it is; what an action costs is told by the caller. **Does badly**
//! where half of the workers are slow: then they are the norm, and the fast ones look strange.

pub mod backup;
mod classify;
mod habits;
mod judge;
mod pace;
mod refusal;
mod robust;
pub mod saving;
mod table;

pub use classify::{Class, Finding};
pub use habits::{Habits, habits};
pub use judge::{Action, Choice, Verdict, judge};
pub use refusal::Refusal;
pub use table::read;

/// More workers than this are refused.
pub const MOST_WORKERS: usize = 65_536;
/// More values than this, over all workers, are refused.
pub const MOST_VALUES: usize = 10_000_000;

/// What was measured, and what is at stake.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// Who takes part.
    pub workers: Vec<Worker>,
    /// Rounds that are still to come.
    pub rounds_left: u64,
    /// What actions cost.
    pub prices: Prices,
}

/// What was measured of one worker, over a window of rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worker {
    /// What people call it.
    pub name: String,
    /// Seconds of its own work in each round, without waiting; `None` where nothing was measured.
    pub own_s: Vec<Option<f64>>,
    /// Seconds in which it sent and received, without waiting; may be empty.
    pub communication_s: Vec<Option<f64>>,
    /// How its device is, if known.
    pub health: Health,
}

/// How a device is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Health {
    /// Of the hottest part, in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Its clock now, over the clock it should have.
    pub clock: Option<f64>,
    /// Whether it says itself that it holds back.
    pub throttled: bool,
}

/// What actions cost, in seconds of the whole job, and what they may bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Another batch for every worker.
    pub rebalance_s: f64,
    /// New power limits.
    pub cap_s: f64,
    /// By what part of its time a round gets shorter at most when power moves from waiting devices to a hot one. The
    /// default is the best that was published for training on eight devices of a host.
    pub cap_gain: f64,
    /// A round that does not wait for all.
    pub backup_s: f64,
    /// Another node in the place of a slow one, and a start of all workers.
    pub replace_s: f64,
    /// A start of all workers on the same nodes.
    pub restart_s: f64,
    /// Work since the last saved state, which a start repeats.
    pub lost_s: f64,
    /// Nodes that stand by.
    pub spares: u32,
    /// How likely a start on the same nodes cures what is not heat.
    pub restart_cures: f64,
}

impl Default for Prices {
    fn default() -> Self {
        Self {
            rebalance_s: 5.0,
            cap_s: 10.0,
            cap_gain: 0.06,
            backup_s: 5.0,
            replace_s: 600.0,
            restart_s: 300.0,
            lost_s: 300.0,
            spares: 0,
            restart_cures: 0.3,
        }
    }
}
