//! The shipped binary on a real Slurm: a controller, nodes, real jobs, and everything that can happen to them.

mod crash;
#[path = "../live/daemon.rs"]
#[allow(dead_code, reason = "the tests of one machine use the rest")]
mod daemon;
mod faults;
mod hostile;
mod site;
mod story;
mod twice;
mod variants;
