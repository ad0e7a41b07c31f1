//! What we have learned, as opposed to what is true: only worlds know that.
//!
//! Beliefs are derived from observations in the state whenever they are asked for, so they are no part of it. Policies ask
//! for a value, its spread and the number of reports behind it ([`speed::Belief`]).

pub mod length;
pub mod speed;

pub use speed::{Belief, Setting};
