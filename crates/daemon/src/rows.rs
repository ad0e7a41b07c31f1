//! The state, in the shapes that people are shown. Looks only.

mod cluster;
mod jobs;

pub use cluster::{devices, gauges, nodes, queues, tenants};
pub use jobs::{Reasons, Wanted, Words, detail, explanation, least_devices, living, row};
