//! The files people write, and how their values are read.
//!
//! For: whoever takes a description of a job from a person or over a socket. A reader promises that any text at all
//! gives either a value or one [`ReadError`] that says where and what was expected: it never panics, never loops, and
//! uses memory in proportion to the text, up to the bounds in [`limits`]. It touches no disk and no clock.
//!
//! | read | for |
//! |---|---|
//! | [`job`] | the job file: YAML or JSON |
//! | [`sbatch`] | a shell script with `#SBATCH` lines |
//! | [`body`], [`stages`] | what a job and a stage of it run on; shared with the job lists of simulations |
//! | [`fields`] | the names of all fields, once |
//! | [`kinds`] | a kind of device, in cluster files and `devices.yaml` |
//! | [`yaml`] | a tree in which every value knows its place |
//! | [`json`] | the same tree from JSON |
//! | [`value`] | single values: times, counts, memory, names |
//! | [`hosts`] | lists of node names with brackets |
//! | [`limits`] | how large anything may be |

pub mod body;
pub mod fields;
pub mod hosts;
pub mod job;
pub mod json;
pub mod kinds;
pub mod limits;
mod nearest;
pub mod read_error;
pub mod sbatch;
pub mod stages;
pub mod value;
pub mod yaml;

pub use job::{Around, JobFile};
pub use read_error::ReadError;

#[cfg(test)]
mod mangled;
