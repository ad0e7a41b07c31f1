//! As wide as fits: an elastic range starts at the largest width for which there is room, and keeps it.
//!
//! All elastic roles shrink together, member by member. Does badly for jobs that hardly gain from width: they take
//! devices that others would use better.

use super::Size;
use crate::class::Class;

/// The largest width that fits.
pub struct Widest;

impl Size for Widest {
    fn steps(&self, class: &Class) -> u32 {
        1 + class.roles.iter().map(|role| role.count.max - role.count.min).max().unwrap_or(0)
    }

    fn counts(&self, class: &Class, step: u32) -> Vec<u32> {
        class.roles.iter().map(|role| role.count.max.saturating_sub(step).max(role.count.min)).collect()
    }
}
