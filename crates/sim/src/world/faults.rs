//! What can go wrong, how often, and how long things take.

use crate::dice::Dice;
use consort_types::Span;

/// How long the ordinary things take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// From being desired to being up.
    pub start: Span,
    /// From being told to go to being gone.
    pub stop: Span,
    /// From the end of the work to its being observed.
    pub ended: Span,
    /// From being desired with another placement to having it.
    pub resize: Span,
}

/// How often things go wrong, as shares between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Starts that are refused.
    pub refuse: f64,
    /// News that comes late.
    pub late: f64,
    /// News that comes twice.
    pub twice: f64,
    /// Resizes in place that are refused.
    pub refuse_resize: f64,
    /// Resizes in place that are carried out and never confirmed, until the world is told again what is desired.
    pub unconfirmed: f64,
    /// How late at most, in seconds.
    pub late_seconds: u64,
}

impl Faults {
    pub(super) fn late(&self, dice: &mut Dice) -> Option<Span> {
        (self.late > 0.0 && dice.chance(self.late)).then(|| self.some_time(dice))
    }

    pub(super) fn twice(&self, dice: &mut Dice) -> Option<Span> {
        (self.twice > 0.0 && dice.chance(self.twice)).then(|| self.some_time(dice))
    }

    fn some_time(&self, dice: &mut Dice) -> Span {
        Span::seconds(1 + dice.below(self.late_seconds.max(1)) as i64)
    }
}
