//! A level over time, in bounded memory.
//!
//! The level is integrated exactly over bins of equal width. When time outgrows the bins, neighbours are added
//! together and the width doubles: nothing is sampled, so a long run loses detail and never a device-second.

use consort_types::Time;

/// At most so many bins; half of them at least once the first doubling has happened. Even, so that pairs add up.
pub(super) const BINS: usize = 512;

/// The width of a bin before any doubling: a run of half a second has all of its detail.
const FIRST_WIDTH: i128 = 1_000_000;

/// Where the bins are; all series of a run share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub start: Time,
    pub width: i128,
}

impl Grid {
    pub fn new(start: Time) -> Self {
        Self { start, width: FIRST_WIDTH }
    }

    /// How often the width must double before this instant is inside; it has done so afterwards.
    pub fn stretch(&mut self, now: Time) -> u32 {
        let mut doublings = 0;
        while self.since_start(now) > self.width * BINS as i128 {
            self.width *= 2;
            doublings += 1;
        }
        doublings
    }

    pub fn since_start(&self, now: Time) -> i128 {
        i128::from(now.0) - i128::from(self.start.0)
    }
}

/// One level over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    level: u64,
    since: Time,
    peak: u64,
    sums: Vec<u128>,
}

impl Series {
    pub(super) fn new(start: Time) -> Self {
        Self { level: 0, since: start, peak: 0, sums: vec![] }
    }

    /// The highest level that lasted.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// The level times nanoseconds, added up.
    pub fn total(&self) -> u128 {
        self.sums.iter().sum()
    }

    pub(super) fn level(&self) -> u64 {
        self.level
    }

    pub(super) fn sums(&self) -> &[u128] {
        &self.sums
    }

    /// From now on it is this.
    pub(super) fn set(&mut self, grid: &Grid, now: Time, level: u64) {
        if level != self.level {
            self.reach(grid, now);
            self.level = level;
        }
    }

    /// Integrates up to now, which the grid must already cover.
    pub(super) fn reach(&mut self, grid: &Grid, now: Time) {
        let (mut from, to) = (grid.since_start(self.since), grid.since_start(now));
        assert!(to <= grid.width * BINS as i128, "the grid was stretched before");
        self.since = self.since.max(now);
        if from >= to || self.level == 0 {
            return;
        }
        self.peak = self.peak.max(self.level);
        while from < to {
            let bin = (from / grid.width) as usize;
            let until = to.min((bin as i128 + 1) * grid.width);
            if self.sums.len() <= bin {
                self.sums.resize(bin + 1, 0);
            }
            self.sums[bin] += u128::from(self.level) * (until - from) as u128;
            from = until;
        }
    }

    /// The width has doubled: neighbours become one.
    pub(super) fn fold(&mut self) {
        self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_integrated_exactly_however_often_the_width_doubles() {
        let start = Time(-7);
        let (mut grid, mut series) = (Grid::new(start), Series::new(start));
        let (mut now, mut expected, mut last) = (start, 0u128, 0u64);
        for turn in 0..2_000u64 {
            let step = 1 + (turn * 7_919_333) % 50_000_000;
            now = Time(now.0 + step as i64);
            for _ in 0..grid.stretch(now) {
                series.fold();
            }
            expected += u128::from(last) * u128::from(step);
            last = turn % 13;
            series.set(&grid, now, last);
        }
        series.reach(&grid, now);
        assert_eq!(series.total(), expected);
        assert!(series.sums.len() <= BINS && series.sums.len() > BINS / 2, "{}", series.sums.len());
        assert_eq!(series.peak(), 12);
    }

    #[test]
    fn what_does_not_last_is_no_peak() {
        let (grid, mut series) = (Grid::new(Time::ZERO), Series::new(Time::ZERO));
        series.set(&grid, Time(5), 9);
        series.set(&grid, Time(5), 2);
        series.set(&grid, Time(8), 0);
        assert_eq!((series.peak(), series.total()), (2, 6));
    }
}
