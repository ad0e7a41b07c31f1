//! The state, in the shapes that people are shown. Looks only.

mod cluster;
mod explanation;
mod jobs;

pub use cluster::{Figures, Page, devices, figures, gauges, nodes, queues, tenants};
pub use explanation::explanation;
pub use jobs::{Reasons, Wanted, Words, asks_for, detail, living, ran_on, row};
