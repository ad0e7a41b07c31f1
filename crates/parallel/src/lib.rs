//! How one job spreads over the devices it was given. Pure functions: no files, no clock, no dice that nobody seeded.
//!
//! The scheduler decides which devices a job gets; this room decides what each of them does. Every planner returns an
//! [`Answer`]: the plan, what it is predicted to achieve, a bound that no plan can beat, and what was assumed. Whatever
//! cannot be planned is refused in one sentence that names the subject and the remedy.
//!
//! | read | for |
//! |---|---|
//! | [`answer`] | what every planner returns |
//! | [`dag`] | a task graph on unlike devices |
//! | [`pipeline`] | a network cut into stages, and the schedule that runs them |
//! | [`placement`] | operators of a network on accelerators and processors, not only in layers |
//! | [`fabric`], [`ranks`] | hosts in a tree of links, and the order of ranks that suits it |
//! | [`collective`] | what collectives cost on it, and which algorithm to choose |
//! | [`split`] | a global batch over unlike devices |
//! | [`sync`], [`compress`] | how often to exchange gradients, and in what form |
//! | [`straggler`] | who holds up the others, why, and what to do about it |
//! | [`dice`] | seeded chance for searches |
//!
//! **Invariants.** The same input gives the same bytes on every machine: searches count candidates, never seconds, and
//! ties fall to the lowest index. Times are `f64` seconds, sizes bytes, speeds bytes per second.

pub mod answer;
pub mod collective;
pub mod compress;
pub mod dag;
pub mod dice;
pub mod fabric;
pub mod pipeline;
pub mod placement;
pub mod ranks;
pub mod split;
pub mod straggler;
pub mod sync;

pub use answer::Answer;
