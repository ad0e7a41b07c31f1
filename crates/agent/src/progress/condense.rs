//! Decides which of many samples of one attempt become reports, and measures the rate where the job does not say it.
//!
//! The rate is work over time since the last report, so that steps that take a while are not counted in halves. Work that
//! becomes less (a job that went back to a save) begins a new measurement and is no rate.

use consort_types::Sample;
use std::time::Duration;

/// Shortest time over which a rate is measured.
const SHORTEST: Duration = Duration::from_secs(4);

/// Turns the samples of one attempt into reports.
#[derive(Default)]
pub struct Condenser {
    /// Everything that was reported so far.
    told: Sample,
    told_at: Option<Duration>,
    /// Everything that is known.
    known: Sample,
    /// When work was this much: at the last report, and in the last sample.
    mark: Option<(Duration, u64)>,
    last: Option<(Duration, u64)>,
    /// Rate that was measured or said since the last report; 0 if none was.
    rate_nano: u64,
}

impl Condenser {
    /// A sample that was taken at this time.
    pub fn add(&mut self, at: Duration, sample: Sample) {
        if sample.done_milli > 0 {
            self.measure(at, sample.done_milli);
        }
        if sample.rate_nano > 0 {
            self.rate_nano = sample.rate_nano;
        }
        self.known.update(&sample);
    }

    fn measure(&mut self, at: Duration, done: u64) {
        match self.mark {
            Some((since, before)) if done >= before => {
                let span = at.saturating_sub(since);
                if span >= SHORTEST && done > before {
                    let rate = u128::from(done - before) * 1_000_000 * 1_000_000_000 / span.as_nanos();
                    self.rate_nano = u64::try_from(rate).unwrap_or(u64::MAX).min(Sample::MOST);
                }
            }
            _ => (self.mark, self.rate_nano) = (Some((at, done)), 0),
        }
        self.last = Some((at, done));
    }

    /// A report, if one is due.
    pub fn take(&mut self, now: Duration, quickest: Duration, beat: Duration) -> Option<Sample> {
        let is_due = self.told_at.is_none_or(|told| {
            let passed = now.saturating_sub(told);
            passed >= beat || (passed >= quickest && self.is_changed())
        });
        if is_due { self.rest(now) } else { None }
    }

    /// A report of everything that is new, if anything is.
    pub fn rest(&mut self, now: Duration) -> Option<Sample> {
        let report = self.news();
        if report == Sample::default() {
            return None;
        }
        self.told.update(&report);
        (self.told_at, self.mark, self.rate_nano) = (Some(now), self.last, 0);
        Some(report)
    }

    /// Whether something changed that cannot wait for the next beat.
    fn is_changed(&self) -> bool {
        let (told, known) = (&self.told, &self.known);
        let is_other_rate =
            self.rate_nano > 0 && self.rate_nano.abs_diff(told.rate_nano) >= (told.rate_nano / 20).max(1);
        is_other_rate
            || (told.total_milli, told.saved_milli, told.batch)
                != (known.total_milli, known.saved_milli, known.batch)
            || told.unit != known.unit
    }

    /// Everything that is known and was not reported.
    fn news(&self) -> Sample {
        let (told, known) = (&self.told, &self.known);
        let other = |told: u64, known: u64| if told == known { 0 } else { known };
        Sample {
            done_milli: other(told.done_milli, known.done_milli),
            total_milli: other(told.total_milli, known.total_milli),
            rate_nano: self.rate_nano,
            batch: other(told.batch, known.batch),
            saved_milli: other(told.saved_milli, known.saved_milli),
            memory_bytes: other(told.memory_bytes, known.memory_bytes),
            power_mw: other(told.power_mw, known.power_mw),
            unit: if told.unit == known.unit { None } else { known.unit.clone() },
            stats: if told.stats == known.stats { vec![] } else { known.stats.clone() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{BEAT, QUICKEST};

    /// Adds work done at a second, and asks for a report.
    fn at(condenser: &mut Condenser, second: u64, steps: u64) -> Option<(u64, u64)> {
        let now = Duration::from_secs(second);
        condenser.add(now, Sample { done_milli: steps * 1_000, ..Sample::default() });
        let report = condenser.take(now, QUICKEST, BEAT)?;
        Some((report.done_milli / 1_000, report.rate_nano / 1_000_000_000))
    }

    #[test]
    fn steady_work_is_reported_once_a_minute_and_a_change_after_ten_seconds() {
        let mut condenser = Condenser::default();
        let mut reports = vec![];
        for second in (0..=180).step_by(2) {
            let steps = 10 * second + if second > 130 { 10 * (second - 130) } else { 0 };
            if let Some((done, rate)) = at(&mut condenser, second, 100 + steps) {
                reports.push((second, done, rate));
            }
        }
        // The first report, the first rate, a beat, then a change of rate that is measured anew until it is whole.
        assert_eq!(reports[..4], [(0, 100, 0), (10, 200, 10), (70, 800, 10), (130, 1400, 10)]);
        assert_eq!(reports[4..], [(140, 1600, 20)]);
    }

    #[test]
    fn going_back_to_a_save_is_no_rate() {
        let mut condenser = Condenser::default();
        assert_eq!(at(&mut condenser, 0, 100), Some((100, 0)));
        assert_eq!(at(&mut condenser, 10, 200), Some((200, 10)));
        assert_eq!(at(&mut condenser, 20, 150), None);
        assert_eq!(at(&mut condenser, 70, 650), Some((650, 10)));
    }

    #[test]
    fn only_what_is_new_is_reported_and_nothing_twice() {
        let mut condenser = Condenser::default();
        let unit = Some("step".into());
        let sample = Sample { done_milli: 5, total_milli: 9, unit, memory_bytes: 4, ..Sample::default() };
        condenser.add(Duration::ZERO, sample.clone());
        assert_eq!(condenser.take(Duration::ZERO, QUICKEST, BEAT), Some(sample.clone()));
        condenser.add(Duration::from_secs(90), sample);
        assert_eq!(condenser.take(Duration::from_secs(90), QUICKEST, BEAT), None);
        condenser.add(Duration::from_secs(91), Sample { saved_milli: 5, ..Sample::default() });
        let saved = Sample { saved_milli: 5, ..Sample::default() };
        assert_eq!(condenser.take(Duration::from_secs(91), QUICKEST, BEAT), Some(saved));
        assert_eq!(condenser.rest(Duration::from_secs(92)), None);
    }
}
