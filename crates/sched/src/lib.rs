//! The pure core of Consort: decides who runs where, and can say why.
//!
//! No I/O, no clock, no dice, no threads, no hash order. The same inputs give the same plans on any machine, inside
//! a simulator as on a real cluster, because the core cannot tell the difference.
//!
//! **The four verbs**, one file each, on [`Scheduler`]:
//! `accept` (an input becomes an event or a refusal: looks, never touches),
//! `apply` (an event changes the state: touches, never refuses),
//! `plan` (the state becomes a plan), `explain` (the state becomes reasons).
//!
//! | read | for |
//! |---|---|
//! | `state` | what we know: cluster, jobs, ledger, queues. Changed by `apply` alone |
//! | [`view`] | its read-only face |
//! | [`belief`] | what we have learned from observations |
//! | `class` | requests with names resolved; jobs that ask for the same share one |
//! | [`free`], `lines`, `holders` | indexes derived from the state; dropping them changes no decision |
//! | `chunked` | tables that copies of a scheduler share until one of them changes |
//! | [`draft`], [`check`] | try things; judge the result, written apart so that one error cannot fool both |
//! | [`policy`] | the seam, the kit of order, size, place and reclaim, and the stock policies |
//! | `saved` | the state, written down and brought back |
//! | `held` | a world behind a journal |
//! | [`rollout`] | the loop: a scheduler and a world, run forward |
//!
//! **Invariants.** A device is never granted beyond its capacity, and is free only once its release was observed or
//! its node was fenced. A gang is whole or absent. No tenant holds more than its ceiling. Replaying a journal gives
//! the same state, under any policy. A plan with cold caches equals the plan with warm ones.

mod accept;
mod apply;
pub mod belief;
pub mod check;
mod chunked;
mod class;
pub mod draft;
mod explain;
pub mod free;
mod held;
mod holders;
mod lines;
mod node_set;
mod notes;
mod plan;
pub mod policy;
pub mod rollout;
mod saved;
mod scheduler;
mod state;
pub mod view;

pub use class::{Class, ClassId};
pub use draft::{Denied, Draft};
pub use explain::{Reading, Remedy};
pub use held::Held;
pub use policy::{Pipeline, Policy, Registry, stock};
pub use rollout::{Rollout, Watch};
pub use saved::{LAYOUT, Saved};
pub use scheduler::{Ended, Scheduler};
pub use state::jobs::{Ending, HostUse, Progress, Why};
pub use view::{AskView, DeviceView, Doing, JobView, NodeView, View};
