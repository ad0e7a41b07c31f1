//! A decayed average of what was held, in whole numbers: Slurm's half-life decay of usage, at fixed ticks.
//!
//! Time is cut into ticks of a minute. At the end of each the average moves towards what was held in it; after a day of
//! holding nothing it has halved. Nothing happens at the ticks themselves: whoever changes what is held first makes up
//! for the time that passed, and a thousand ticks are made up for as fast as ten. Two journals with the same events
//! give the same bits, because there is no other arithmetic than that of integers.

use consort_types::Time;
use serde::{Deserialize, Serialize};

/// Bits behind the point of an average.
pub(crate) const POINT: u32 = 16;
/// How long a tick is.
const TICK_MS: i64 = 60_000;
/// What is left of an average after one tick, of 2^32: half is left after a day, which is 1440 of them.
const KEPT: u64 = 4_292_900_401;

/// What an account held lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Recent {
    /// Thousandths of a device, shifted left by [`POINT`], at the beginning of the present tick.
    average: u64,
    /// Thousandths of a device times milliseconds, in the present tick up to `until`.
    part: u64,
    /// In milliseconds; up to here everything has been counted.
    until: i64,
}

impl Recent {
    /// Counts the time that passed while so much was held.
    pub fn pass(&mut self, held: u64, now: Time) {
        let now = now.0.div_euclid(1_000_000);
        if held == 0 && (self.average, self.part) == (0, 0) {
            self.until = now; // nothing was ever held
        }
        let ticks = now.div_euclid(TICK_MS) - self.until.div_euclid(TICK_MS);
        if ticks > 0 {
            let left = TICK_MS - self.until.rem_euclid(TICK_MS);
            let in_tick = (self.part + held * left as u64) << POINT;
            self.average = towards(in_tick / TICK_MS as u64, self.average, KEPT);
            self.average = towards(held << POINT, self.average, kept_after(ticks as u64 - 1));
            (self.part, self.until) = (0, now - now.rem_euclid(TICK_MS));
        }
        self.part += held * (now - self.until).max(0) as u64;
        self.until = now.max(self.until);
    }

    /// The average at the beginning of the tick that `now` lies in, if so much has been held since.
    pub fn at(&self, held: u64, now: Time) -> u64 {
        let mut then = *self;
        then.pass(held, now);
        then.average
    }
}

/// An average that moves towards what is held; `kept` of 2^32 of the difference is left.
fn towards(held: u64, average: u64, kept: u64) -> u64 {
    let left = |gap: u64| ((u128::from(gap) * u128::from(kept)) >> 32) as u64;
    if average >= held { held + left(average - held) } else { held - left(held - average) }
}

/// What is left of a difference after so many ticks, of 2^32.
fn kept_after(mut ticks: u64) -> u64 {
    let (mut kept, mut square) = (1u64 << 32, KEPT);
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

    const DAY: i64 = 86_400;
    const DEVICE: u64 = 1000 << POINT;

    /// Equal to a ten-thousandth part of a device.
    fn assert_near(found: u64, wanted: u64) {
        assert!(found.abs_diff(wanted) < DEVICE / 10_000, "{found} instead of {wanted}");
    }

    #[test]
    fn half_is_left_after_a_day() {
        assert_near(kept_after(1440) >> (32 - POINT), 1 << (POINT - 1));
        let mut recent = Recent::default();
        recent.pass(0, Time::seconds(0));
        recent.pass(1000, Time::seconds(DAY));
        assert_near(recent.at(0, Time::seconds(DAY)), DEVICE / 2);
        assert_near(recent.at(0, Time::seconds(2 * DAY)), DEVICE / 4);
        assert_near(recent.at(1000, Time::seconds(2 * DAY)), DEVICE * 3 / 4);
        assert_near(recent.at(0, Time::seconds(1000 * DAY)), 0);
    }

    #[test]
    fn it_does_not_matter_in_how_many_steps_time_passes() {
        let (mut once, mut often) = (Recent::default(), Recent::default());
        once.pass(0, Time(-7));
        often.pass(0, Time(-7));
        once.pass(8000, Time::seconds(DAY));
        let mut at = -7;
        while at < Time::seconds(DAY).0 {
            at += 17_123_456_789;
            often.pass(8000, Time(at.min(Time::seconds(DAY).0)));
        }
        let end = Time::seconds(DAY + 60);
        assert_near(once.at(8000, end), often.at(8000, end));
    }

    #[test]
    fn a_part_of_a_tick_counts_as_a_part() {
        let mut recent = Recent::default();
        recent.pass(0, Time::seconds(30));
        recent.pass(4000, Time::seconds(45)); // a quarter of a tick: one device, for as long as the tick
        assert_eq!(recent.at(0, Time::seconds(59)), 0, "the tick is not over");
        let one_tick = DEVICE - ((u128::from(DEVICE) * u128::from(KEPT)) >> 32) as u64;
        assert_eq!(recent.at(0, Time::seconds(60)), one_tick);
    }

    #[test]
    fn time_that_stands_still_or_a_long_time_changes_nothing() {
        let mut recent = Recent::default();
        recent.pass(0, Time(i64::MIN));
        recent.pass(5, Time(i64::MIN));
        recent.pass(80_000_000, Time::NEVER);
        assert_eq!(recent.at(80_000_000, Time::NEVER), 80_000_000 << POINT);
    }
}
