//! As wide as fits: an elastic range starts at the largest width for which there is room, and keeps it.
//!
//! All elastic roles shrink together, by the same number of members, each down to its least. How many
//! parameter servers a number of workers needs is not known here, and this is a rule that users can predict; a role that
//! must not shrink has one count and no range. So a role may be narrower than its own kind would allow. Does badly for jobs that hardly gain from width: they take
//! devices that others would use better.

use super::Size;
use crate::draft::Draft;
use crate::view::AskView;

/// The largest width that fits.
pub struct Widest;

impl Size for Widest {
    fn steps(&self, _draft: &Draft<'_>, ask: &AskView<'_>) -> u32 {
        let roles = &ask.class().roles;
        1 + roles.iter().map(|role| role.count.max - role.count.min).max().unwrap_or(0)
    }

    fn counts(&self, _draft: &Draft<'_>, ask: &AskView<'_>, step: u32) -> Vec<u32> {
        let roles = &ask.class().roles;
        roles.iter().map(|role| role.count.max.saturating_sub(step).max(role.count.min)).collect()
    }
}
