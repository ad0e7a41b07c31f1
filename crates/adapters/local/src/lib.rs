//! The world of one machine.
//!
//! Allocations become processes of this host: one shim for each worker, and the worker below it. What is desired is
//! compared with what lies in the run folder, so that a daemon that was killed at any moment finds everything again.
//!
//! | read | for |
//! |---|---|
//! | [`LocalWorld`] | the seam: desires in, inputs out, nothing that blocks |
//! | `keeper` | the one thread that starts, watches and ends |
//! | `allocation` | the state of one allocation and what comes of it |
//! | `orders` | from a placement to the orders of its workers |
//! | `records`, `report` | what shims tell: in a file for whoever comes later, through a pipe to whom they were started by |
//!
//! Invariants: an allocation is reported ended only when no process of it is left; nothing is ever started for an
//! allocation that was reported ended; what was reported once is not reported again by the same world. An attempt whose
//! shim was seen is never started again, whatever its files say: what ended without a record has failed.

mod allocation;
mod keeper;
mod orders;
mod outcome;
mod records;
mod report;
mod world;

pub use world::{CAPABILITIES, LocalWorld, Reporter, Setup};
