//! What is to be planned: tasks, what they hand each other, the devices, and the links between these.
//!
//! Plain data, not yet believed: [`super::check`] refuses what makes no sense before anything is planned.

use crate::fabric::Link;

/// A task graph and the devices it is to run on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// In the order of the file: ties fall to the first.
    pub tasks: Vec<Task>,
    /// What waits for what. Several between the same two tasks are one transfer of their sum.
    pub edges: Vec<Edge>,
    /// In the order of the file: ties fall to the first.
    pub devices: Vec<Device>,
    /// By sender and receiver; `None` where two devices cannot talk. What is on the diagonal means nothing.
    pub links: Vec<Vec<Option<Link>>>,
    /// Where data lies that no device holds; `None` when there is no such place.
    pub store: Option<Link>,
}

/// One task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Unique.
    pub name: String,
    /// Seconds on every device, in order; `None` where it cannot run.
    pub time_s: Vec<Option<f64>>,
    /// Standard deviation of these times, in order; empty when nobody said.
    pub spread_s: Vec<f64>,
    /// What it needs while it runs.
    pub memory_bytes: u64,
    /// Whether that memory stays taken from the beginning to the end of the plan, as weights do.
    pub is_held: bool,
    /// Data that is there before the plan begins.
    pub reads: Vec<Data>,
    /// The command that runs it; empty when nobody said. Planning does not look at it.
    pub run: String,
}

/// Data that a task reads, and who has it already.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// For people.
    pub name: String,
    /// How much.
    pub bytes: f64,
    /// Names of devices or hosts that have it.
    pub cached_on: Vec<String>,
}

/// One task waits for another and reads what it made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Index of the task that makes it.
    pub from: usize,
    /// Index of the task that reads it.
    pub to: usize,
    /// How much is handed over; 0 when only the order matters.
    pub bytes: f64,
}

/// One device. It runs one task at a time and never leaves one half done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// Unique.
    pub name: String,
    /// What sort of device; empty when nobody said.
    pub kind: String,
    /// The machine it is in; empty when nobody said. Data cached on it is free for all its devices.
    pub host: String,
    /// `None` when it is not accounted for.
    pub memory_bytes: Option<u64>,
}

impl Work {
    /// Every device talks to every other in the same way.
    pub fn joined(devices: usize, link: Link) -> Vec<Vec<Option<Link>>> {
        vec![vec![Some(link); devices]; devices]
    }
}
