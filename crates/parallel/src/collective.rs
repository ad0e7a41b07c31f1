//! What collectives cost on a fabric, and which algorithm to choose.
//!
//! For: people who ask whether a slow exchange of gradients is the network's fault, the algorithm's or nobody's. A
//! message of so many bytes is priced for every algorithm, beside a bound that no algorithm can beat on these links.
//!
//! | read | for |
//! |---|---|
//! | [`cost`] | closed forms for ranks that are all alike |
//! | [`tiers`] | ranks in islands, hosts and racks: what one tier after another costs |
//! | [`cut`] | the best that any directed fabric allows, exactly |
//! | [`wires`], [`bound`] | a fabric as vertices and links, and the bound of an operation on it |
//! | [`ground`] | all that is known about the ranks of a job, put together |
//! | [`choose`] | the best algorithm by size of message |
//! | [`nccl`] | what NCCL would choose itself |
//! | [`buckets`] | gradients sent while backward still runs |
//! | [`share`] | several jobs on the same links |
//!
//! **Sizes.** All-reduce, reduce-scatter, broadcast: bytes that each rank holds. All-gather: bytes that each rank holds at
//! the end. All-to-all: bytes that each rank sends in all, its own part counted.

pub mod bound;
pub mod buckets;
pub mod choose;
pub mod cost;
pub mod cut;
pub mod ground;
pub mod nccl;
pub mod share;
pub mod tiers;
pub mod wires;

pub use cost::{Algorithm, Operation};
pub use ground::Ground;
pub use tiers::{Tier, Tiers};
