//! The order of ranks that suits a fabric.
//!
//! Frameworks number hosts by name, or in the order in which they answer, and collective libraries join the rings of
//! hosts in that order. In a fabric with switches such a ring crosses slow links far more often than it must. This
//! module finds the order in which it does not, lays the groups of a job out on it, and says what was gained.
//!
//! | read | for |
//! |---|---|
//! | [`plan`] | the order of hosts and ranks for a job |
//! | [`ring`] | the best ring through a table of speeds |
//! | [`export`] | the order in the words of launchers |
//!
//! **Promises.** Optimal up to [`EXHAUSTIVE`] hosts, and in a tree of links of any size; beyond that good, with a bound
//! beside it. Tensor and expert groups never leave an island. **Simplifies.** One ring at a time: what rings of
//! different groups do to each other on a shared uplink is not counted. **Does badly** on a fabric whose speeds change
//! while the job runs.

mod bound;
mod exact;
pub mod export;
mod groups;
mod layout;
mod natural;
mod plan;
mod refusal;
mod ring;
mod search;
mod tree;

pub use groups::{Crossing, Group};
pub use layout::{Rank, Sizes, Wish};
pub use plan::{Figures, Plan, Seat, plan};
pub use refusal::Refusal;
pub use ring::{EXHAUSTIVE, Ring, figures, ring};

#[cfg(test)]
mod tests;
