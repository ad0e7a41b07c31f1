//! Operators of a network on accelerators and processors: who runs what, so that the busiest device has the least to
//! do.
//!
//! The load of an accelerator is the time of its operators and, once each, of every tensor it shares with another
//! device; the load of a processor is the time of its operators. In a pipeline that is kept full, the largest load is
//! the time from sample to sample. Operators of one colour share a device; in training a backward operator has the
//! colour of its forward twin (the setting of Tarnawski and others, "Efficient Algorithms for Device Placement of DNN
//! Graph Operators", 2020).
//!
//! | read | for |
//! |---|---|
//! | [`Network`], [`read`] | what is placed |
//! | [`plan`] | the planner |
//! | `pieces` | operators that must share a device become one, exactly |
//! | `ideals`, `row`, `order` | the best plan whose devices follow each other: exact where the ideals can be counted |
//! | `seed`, `seating`, `search` | placements changed move by move: annealing, not bound to a row |
//! | `bound`, `company`, `packing` | what no placement can beat |
//!
//! **Promises.** The same network gives the same plan, memory is kept, and the plan is never worse than the best found
//! in a row. **Simplifies**: accelerators are alike and so are processors; every tensor goes through main memory.
//! **Does badly** where cutting anywhere is dear and the best cuts lie in several places at once: annealing then stays
//! some percent above the best, and the bound below it.

mod bound;
mod company;
mod effort;
mod ideals;
mod network;
mod order;
mod packing;
mod pieces;
mod plan;
mod read;
mod refusal;
mod row;
mod search;
mod seating;
mod seed;
#[cfg(test)]
mod trial;

pub use effort::Effort;
pub use network::{Edge, MOST_DEVICES, MOST_EDGES, MOST_OPERATORS, Network, Operator};
pub use plan::{Device, Kind, Plan, plan};
pub use read::read;
pub use refusal::Refusal;
