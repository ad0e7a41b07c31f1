//! The world of a Slurm cluster: Consort decides, Slurm carries out.
//!
//! An attempt at an ask becomes one job of Slurm's, pinned to the chosen nodes and to so many devices of each kind on
//! them. Slurm starts it whole or not at all, picks the devices of each node itself, watches it and ends it. What Slurm
//! says is compared with what is desired, again and again.
//!
//! | read | for |
//! |---|---|
//! | [`SlurmWorld`] | the seam: desires in, inputs out, nothing that blocks |
//! | `poller` | the one thread that talks to Slurm |
//! | `attempt`, [`ended`] | the state of one attempt, and what comes of it |
//! | [`engine`] | how Slurm is reached: slurmrestd or the command-line tools |
//! | [`shapes`], [`gres`], [`topology`] | what Slurm writes, read |
//! | [`cluster`], [`census`] | nodes as the scheduler is to know them, and what is new about them |
//! | [`layout`], [`submission`], [`script`] | from a placement to a job, and what it runs |
//! | [`folder`] | what lies on disk for nodes to see |
//! | [`tag`], `secret` | how a job of ours is told from one that only looks like it |
//! | [`board`] | what others may look at |
//!
//! Invariants: an attempt is in Slurm at most once, because its intent is written before it is submitted and its tag is
//! looked for before it is submitted again; should Slurm run it twice all the same, the second run ends before the work
//! begins. An attempt is reported ended only when all its workers have said how they ended, or when Slurm says that nothing
//! of it is left.

mod attempt;
pub mod board;
pub mod census;
pub mod cluster;
#[cfg(test)]
mod dice;
pub mod ended;
pub mod engine;
pub mod folder;
pub mod gres;
pub mod layout;
mod poller;
pub mod script;
mod secret;
pub mod shapes;
pub mod submission;
pub mod tag;
pub mod topology;
mod world;

pub use world::{CAPABILITIES, Setup, SlurmWorld, Terms};

use consort_agent::words;
