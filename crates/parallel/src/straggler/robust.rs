//! Figures that a few wild values cannot move.

/// By this the median of deviations becomes the standard deviation of normal values.
const NORMAL: f64 = 1.4826;
/// The slack of the cumulative sum, in deviations: half of the shift that is to be found soonest.
const SLACK: f64 = 0.5;
/// Where the cumulative sum raises the alarm, in deviations.
const ALARM: f64 = 5.0;
/// One value counts for no more than this, so that a single outlier is no drift.
const CLIPPED: f64 = 3.0;

/// The middle value; the mean of both where there are two. Of nothing, `None`.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// A deviation that ignores outliers: of normal values, the standard deviation.
pub fn deviation(values: &[f64]) -> f64 {
    let Some(middle) = median(values.iter().copied()) else { return 0.0 };
    NORMAL * median(values.iter().map(|value| (value - middle).abs())).unwrap_or(0.0)
}

/// What a cumulative sum says about a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    /// Where the rise began that is still on at the end of the series.
    pub since: Option<usize>,
    /// Whether there was a rise that has ended.
    pub passed: bool,
}

/// Follows a series upwards from `usual`, in deviations of `noise`. A rise that has ended must have been a strong one:
/// weak ones come and go by chance.
pub fn drift(series: &[Option<f64>], usual: f64, noise: f64) -> Drift {
    let (mut sum, mut began, mut peak, mut passed) = (0.0, 0, 0.0, false);
    let is_strong = |peak: f64, length: usize| peak > 2.0 * ALARM && peak > SLACK * length as f64;
    let mut length = 0;
    for (index, value) in series.iter().enumerate() {
        let Some(value) = value else { continue };
        if sum == 0.0 {
            passed |= is_strong(peak, length);
            (began, peak) = (index, 0.0);
        }
        sum = f64::max(0.0, sum + ((value - usual) / noise).min(CLIPPED) - SLACK);
        if sum > peak {
            (peak, length) = (sum, index + 1 - began);
        }
    }
    let on = sum > ALARM;
    Drift { since: on.then_some(began), passed: passed || (!on && is_strong(peak, length)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn medians_ignore_what_is_wild() {
        assert_eq!(median([3.0, 1.0, 1e9]), Some(3.0));
        assert_eq!(median([1.0, 2.0]), Some(1.5));
        assert_eq!(median([]), None);
        assert_eq!(deviation(&[1.0, 1.0, 1.0, 50.0]), 0.0);
        assert!((deviation(&[-1.0, 0.0, 1.0]) - 1.4826).abs() < 1e-12);
    }

    #[test]
    fn drift_is_found_and_noise_is_not() {
        let mut dice = Dice::new(8);
        let mut normal = || (0..12).map(|_| dice.unit()).sum::<f64>() - 6.0;
        let quiet: Vec<Option<f64>> = (0..100).map(|_| Some(normal())).collect();
        assert_eq!(drift(&quiet, 0.0, 1.0).since, None);
        let risen: Vec<Option<f64>> =
            (0..100).map(|index| Some(normal() + if index < 60 { 0.0 } else { 2.0 })).collect();
        assert!((50..66).contains(&drift(&risen, 0.0, 1.0).since.unwrap()));
        let mut spiked = quiet.clone();
        spiked[50] = Some(100.0);
        assert_eq!(drift(&spiked, 0.0, 1.0).since, None);
        let ended: Vec<Option<f64>> =
            (0..90).map(|index| Some(if (30..40).contains(&index) { 2.0 } else { 0.0 })).collect();
        assert_eq!(drift(&ended, 0.0, 1.0), Drift { since: None, passed: true });
    }
}
