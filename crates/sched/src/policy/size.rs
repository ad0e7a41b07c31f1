//! How wide. One opinion per file.

mod widest;

pub use widest::Widest;

use crate::class::Class;

/// Which widths to try for an ask, best first.
pub trait Size: Send + Sync {
    /// How many different widths there are to try; at least one.
    fn steps(&self, class: &Class) -> u32;

    /// Members of each role at one step; step 0 is what we want most. Later steps never ask for more.
    fn counts(&self, class: &Class, step: u32) -> Vec<u32>;
}
