//! The cases. Each plays on a fresh stage; what must hold in every turn is looked at by [`crate::play`].

pub mod fencing;
pub mod leaving;
pub mod losing;
pub mod resizing;
pub mod returning;
pub mod running;
pub mod stopping;
pub mod telling;

use consort_types::{JobSpec, Shape, Span};

/// A gang of workers with one device each, tried again at once when it fails.
fn gang(name: &str, count: u32) -> JobSpec {
    JobSpec { backoff: Span::ZERO, ..JobSpec::gang(name, count, Shape::any()) }
}
