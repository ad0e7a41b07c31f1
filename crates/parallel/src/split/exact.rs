//! The least time in which all samples are done, exactly.
//!
//! How many samples a device finishes within `T` is found by asking what they take, never by dividing: a quotient that
//! should be 41 may come out as 40.999. The answer grows with `T` and jumps only where `T` is the time of some device
//! for some number of samples. So the least `T` is found by halving the ordered set of all floating-point numbers, at
//! most 64 times: what is left is one number, and it is one of those times.

/// A device as the search sees it: a time that grows with its samples.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// For every micro-batch.
    pub fixed: f64,
    /// For every sample.
    pub sample: f64,
    /// The largest micro-batch; not 0 unless `most` is.
    pub micro: u64,
    /// It gets at least so many samples.
    pub least: u64,
    /// It gets at most so many samples.
    pub most: u64,
}

impl Line {
    /// What so many samples take.
    pub fn time(&self, samples: u64) -> f64 {
        match samples {
            0 => 0.0,
            _ => self.fixed * self.times(samples) as f64 + self.sample * samples as f64,
        }
    }

    /// In how many micro-batches.
    pub fn times(&self, samples: u64) -> u64 {
        samples.div_ceil(self.micro.max(1))
    }

    /// The most samples within a time, regardless of what it must take.
    pub fn within(&self, time: f64) -> u64 {
        let (mut fits, mut beyond) = (0, self.most + 1);
        while beyond - fits > 1 {
            let middle = fits + (beyond - fits) / 2;
            match self.time(middle) <= time {
                true => fits = middle,
                false => beyond = middle,
            }
        }
        fits
    }

    /// The same, but never less than it must take.
    fn taken(&self, time: f64) -> u64 {
        self.within(time).max(self.least)
    }

    /// The most samples within a time, if samples could be cut: never less than [`within`](Self::within).
    fn relaxed(&self, time: f64) -> f64 {
        let most = self.most as f64;
        if time < self.fixed {
            return 0.0;
        }
        let whole = (time - self.fixed) / self.sample;
        let accumulated = time / (self.fixed / self.micro.max(1) as f64 + self.sample);
        most.min(whole).min(accumulated)
    }
}

/// Samples of each device such that the slowest is as fast as can be; `None` when they do not fit. And how many times
/// were tried.
pub fn split(lines: &[Line], batch: u64) -> Option<(Vec<u64>, u64)> {
    let total = |time: f64| lines.iter().map(|line| u128::from(line.taken(time))).sum::<u128>();
    let longest = lines.iter().map(|line| line.time(line.most)).fold(0.0, f64::max);
    if total(longest) < u128::from(batch) || total(0.0) > u128::from(batch) {
        return None;
    }
    // Floating-point numbers that are not negative are ordered as their bits are.
    let (mut low, mut high, mut tried) = (0u64, longest.to_bits(), 2);
    if total(0.0) == u128::from(batch) {
        return Some((lines.iter().map(|line| line.least).collect(), tried));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        tried += 1;
        match total(f64::from_bits(middle)) >= u128::from(batch) {
            true => high = middle,
            false => low = middle,
        }
    }
    Some((fill(lines, batch, f64::from_bits(low), f64::from_bits(high)), tried))
}

/// Everybody takes what fits below the least time; the rest goes to devices that end exactly with it. Who would be idle
/// otherwise comes first, then who works longest already, so that the busy time in sum is least.
fn fill(lines: &[Line], batch: u64, below: f64, time: f64) -> Vec<u64> {
    let mut taken: Vec<u64> = lines.iter().map(|line| line.taken(below)).collect();
    let mut rest = batch - taken.iter().sum::<u64>();
    let mut ties: Vec<usize> =
        (0..lines.len()).filter(|&index| lines[index].taken(time) > taken[index]).collect();
    let rank = |index: &usize| (taken[*index] > 0, -lines[*index].time(taken[*index]));
    ties.sort_by(|one, other| rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal));
    for index in ties {
        let more = rest.min(lines[index].taken(time) - taken[index]);
        taken[index] += more;
        rest -= more;
    }
    taken
}

/// The least time if samples could be cut, and what each device must take counted: nobody can be faster.
pub fn relaxation(lines: &[Line], batch: u64) -> f64 {
    let total = |time: f64| lines.iter().map(|line| line.relaxed(time).max(line.least as f64)).sum::<f64>();
    let floor = lines.iter().map(|line| line.time(line.least)).fold(0.0, f64::max);
    let longest = lines.iter().map(|line| line.time(line.most)).fold(0.0, f64::max);
    // A sum of many floats may be off in its last digits: the bound gives way by more than that.
    let wanted = batch as f64 * (1.0 - 1e-12);
    let (mut low, mut high) = (0u64, longest.to_bits());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match total(f64::from_bits(middle)) >= wanted {
            true => high = middle,
            false => low = middle,
        }
    }
    f64::from_bits(high).max(floor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn random(dice: &mut Dice) -> (Vec<Line>, u64) {
        let lines: Vec<Line> = (0..1 + dice.below(4))
            .map(|_| {
                let micro = 1 + dice.below(5) as u64;
                let most = micro * (1 + dice.below(2) as u64);
                let least = dice.below(2) as u64;
                Line { fixed: dice.unit() * 3.0, sample: 0.01 + dice.unit(), micro, least, most }
            })
            .collect();
        let most = lines.iter().map(|line| line.most).sum::<u64>();
        let least = lines.iter().map(|line| line.least).sum::<u64>().max(1);
        (lines, least + dice.below((most - least + 1) as usize) as u64)
    }

    /// All splits there are.
    fn all(lines: &[Line], batch: u64) -> Vec<Vec<u64>> {
        let Some((first, rest)) = lines.split_first() else {
            return if batch == 0 { vec![vec![]] } else { vec![] };
        };
        let choices = first.least..=first.most.min(batch);
        choices
            .flat_map(|taken| {
                all(rest, batch - taken).into_iter().map(move |mut found| {
                    found.insert(0, taken);
                    found
                })
            })
            .collect()
    }

    fn slowest(lines: &[Line], taken: &[u64]) -> f64 {
        lines.iter().zip(taken).map(|(line, &taken)| line.time(taken)).fold(0.0, f64::max)
    }

    #[test]
    fn no_other_split_is_faster_and_none_beats_the_relaxation() {
        let mut dice = Dice::new(11);
        for round in 0..600 {
            let (lines, batch) = random(&mut dice);
            let (taken, _) = split(&lines, batch).unwrap();
            assert_eq!(taken.iter().sum::<u64>(), batch, "{round}: {lines:?}");
            assert!(lines.iter().zip(&taken).all(|(line, &taken)| (line.least..=line.most).contains(&taken)));
            let best = all(&lines, batch).iter().map(|taken| slowest(&lines, taken)).fold(f64::MAX, f64::min);
            assert_eq!(slowest(&lines, &taken), best, "{round}: {lines:?} {batch}");
            assert!(relaxation(&lines, batch) <= best * (1.0 + 1e-12), "{round}: {lines:?} {batch}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_split() {
        let line = Line { fixed: 1.0, sample: 1.0, micro: 4, least: 0, most: 4 };
        assert_eq!(split(&[line, line], 9), None);
        assert_eq!(split(&[Line { least: 3, ..line }; 2], 5), None);
        assert_eq!(split(&[line, line], 8).unwrap().0, [4, 4]);
    }

    #[test]
    fn times_that_do_not_grow_in_floating_point_still_add_up() {
        let line = Line { fixed: 1e9, sample: 1e-12, micro: 1000, least: 0, most: 1000 };
        assert_eq!(split(&[line, line], 1500).unwrap().0.iter().sum::<u64>(), 1500);
    }
}
