//! A network cut into stages, and the schedule that runs them.
//!
//! | read | for |
//! |---|---|
//! | [`layers`] | a network as a profile tells it |
//! | [`pipedream`] | the partition of PipeDream's optimizer, exactly and fast |
//! | [`schedule`] | who computes what and when: GPipe, 1F1B, interleaved, zero bubble |
//! | [`transformer`] | the same for a transformer of which only sizes are known |
//! | [`whole`] | one search over all of it, for unlike devices |

pub mod layers;
pub mod pipedream;
pub mod schedule;
pub mod transformer;
pub mod whole;
