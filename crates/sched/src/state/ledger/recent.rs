//! A decayed average of what was held, in whole numbers: Slurm's half-life decay of usage, at fixed ticks.
//!
//! Time is cut into ticks. At the end of each the average moves towards what was held in it. How long they are, and how
//! far it moves, the journal says ([`Constants`]); today a minute, and half is left after a day. Nothing happens at the ticks themselves: whoever changes what is held first makes up
//! for the time that passed, and a thousand ticks are made up for as fast as ten. Two journals with the same events
//! give the same bits, because there is no other arithmetic than that of integers.

use consort_types::{Constants, Time};
use serde::{Deserialize, Serialize};

/// Bits behind the point of an average.
pub(crate) const POINT: u32 = 16;

/// How an average decays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decay {
    /// How long a tick is.
    tick_ms: i64,
    /// What is left of an average after one tick, of 2^32.
    kept: u64,
}

impl Decay {
    pub fn of(constants: &Constants) -> Self {
        Decay { tick_ms: constants.usage_tick.0 / 1_000_000, kept: constants.usage_kept.into() }
    }
}

/// What an account held lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Recent {
    /// What is held, in thousandths or mebibytes, shifted left by [`POINT`], at the beginning of the present tick.
    average: u64,
    /// The same without the shift, times milliseconds, in the present tick up to `until`.
    part: u64,
    /// In milliseconds; up to here everything has been counted.
    until: i64,
}

impl Recent {
    /// Counts the time that passed while so much was held.
    pub fn pass(&mut self, decay: Decay, held: u64, now: Time) {
        let Decay { tick_ms, kept } = decay;
        let now = now.0.div_euclid(1_000_000);
        if held == 0 && (self.average, self.part) == (0, 0) {
            self.until = now; // nothing was ever held
        }
        let ticks = now.div_euclid(tick_ms) - self.until.div_euclid(tick_ms);
        if ticks > 0 {
            let left = tick_ms - self.until.rem_euclid(tick_ms);
            let in_tick = self.part + held * left as u64;
            // Divided before it is shifted: the product of both would not fit.
            let (whole, rest) = (in_tick / tick_ms as u64, in_tick % tick_ms as u64);
            let mean = (whole << POINT) + (rest << POINT) / tick_ms as u64;
            self.average = towards(mean, self.average, kept);
            self.average = towards(held << POINT, self.average, kept_after(kept, ticks as u64 - 1));
            (self.part, self.until) = (0, now - now.rem_euclid(tick_ms));
        }
        self.part += held * (now - self.until).max(0) as u64;
        self.until = now.max(self.until);
    }

    /// The average at the beginning of the tick that `now` lies in, if so much has been held since.
    pub fn at(&self, decay: Decay, held: u64, now: Time) -> u64 {
        let mut then = *self;
        then.pass(decay, held, now);
        then.average
    }
}

/// An average that moves towards what is held; `kept` of 2^32 of the difference is left.
fn towards(held: u64, average: u64, kept: u64) -> u64 {
    let left = |gap: u64| ((u128::from(gap) * u128::from(kept)) >> 32) as u64;
    if average >= held { held + left(average - held) } else { held - left(held - average) }
}

/// What is left of a difference after so many ticks, of 2^32.
fn kept_after(each: u64, mut ticks: u64) -> u64 {
    let (mut kept, mut square) = (1u64 << 32, each);
    while ticks > 0 && kept > 0 {
        if ticks % 2 == 1 {
            kept = ((u128::from(kept) * u128::from(square)) >> 32) as u64;
        }
        square = ((u128::from(square) * u128::from(square)) >> 32) as u64;
        ticks /= 2;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_types::Span;

    const DAY: i64 = 86_400;
    const DEVICE: u64 = 1000 << POINT;

    fn decay() -> Decay {
        Decay::of(&Constants::FIRST)
    }

    /// Equal to a ten-thousandth part of a device.
    fn assert_near(found: u64, wanted: u64) {
        assert!(found.abs_diff(wanted) < DEVICE / 10_000, "{found} instead of {wanted}");
    }

    #[test]
    fn half_is_left_after_a_day() {
        assert_near(kept_after(decay().kept, 1440) >> (32 - POINT), 1 << (POINT - 1));
        let mut recent = Recent::default();
        recent.pass(decay(), 0, Time::seconds(0));
        recent.pass(decay(), 1000, Time::seconds(DAY));
        assert_near(recent.at(decay(), 0, Time::seconds(DAY)), DEVICE / 2);
        assert_near(recent.at(decay(), 0, Time::seconds(2 * DAY)), DEVICE / 4);
        assert_near(recent.at(decay(), 1000, Time::seconds(2 * DAY)), DEVICE * 3 / 4);
        assert_near(recent.at(decay(), 0, Time::seconds(1000 * DAY)), 0);
    }

    #[test]
    fn it_does_not_matter_in_how_many_steps_time_passes() {
        let (mut once, mut often) = (Recent::default(), Recent::default());
        once.pass(decay(), 0, Time(-7));
        often.pass(decay(), 0, Time(-7));
        once.pass(decay(), 8000, Time::seconds(DAY));
        let mut at = -7;
        while at < Time::seconds(DAY).0 {
            at += 17_123_456_789;
            often.pass(decay(), 8000, Time(at.min(Time::seconds(DAY).0)));
        }
        let end = Time::seconds(DAY + 60);
        assert_near(once.at(decay(), 8000, end), often.at(decay(), 8000, end));
    }

    #[test]
    fn a_part_of_a_tick_counts_as_a_part() {
        let mut recent = Recent::default();
        recent.pass(decay(), 0, Time::seconds(30));
        recent.pass(decay(), 4000, Time::seconds(45)); // a quarter of a tick: one device, for as long as the tick
        assert_eq!(recent.at(decay(), 0, Time::seconds(59)), 0, "the tick is not over");
        let one_tick = DEVICE - ((u128::from(DEVICE) * u128::from(decay().kept)) >> 32) as u64;
        assert_eq!(recent.at(decay(), 0, Time::seconds(60)), one_tick);
    }

    #[test]
    fn a_large_cluster_fits() {
        let held = 1 << 47; // a million processors on each of 140,000 nodes, or as many mebibytes
        let mut recent = Recent::default();
        recent.pass(decay(), held, Time::seconds(30));
        recent.pass(decay(), held, Time::seconds(60));
        assert!(recent.at(decay(), held, Time::seconds(365 * DAY)).abs_diff(held << POINT) < 1 << POINT);
    }

    #[test]
    fn time_that_stands_still_or_a_long_time_changes_nothing() {
        let mut recent = Recent::default();
        recent.pass(decay(), 0, Time(i64::MIN));
        recent.pass(decay(), 5, Time(i64::MIN));
        recent.pass(decay(), 80_000_000, Time::NEVER);
        assert_eq!(recent.at(decay(), 80_000_000, Time::NEVER), 80_000_000 << POINT);
    }

    #[test]
    fn another_journal_may_decay_in_another_way() {
        let hourly = Constants { usage_tick: Span::seconds(3600), usage_kept: 1 << 31, ..Constants::FIRST };
        let hourly = Decay::of(&hourly);
        let mut recent = Recent::default();
        recent.pass(hourly, 0, Time::seconds(0));
        recent.pass(hourly, 1000, Time::seconds(3600));
        assert_eq!(recent.at(hourly, 0, Time::seconds(3600)), DEVICE / 2);
        assert_eq!(recent.at(hourly, 0, Time::seconds(7200)), DEVICE / 4);
    }
}
