//! Where the marks of an axis are, and what they say.
//!
//! The plotting crate knows round numbers; hours and days are round in their own way.

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3_600.0;
const DAY: f64 = 86_400.0;

/// Steps between marks that people read as round, in seconds.
const STEPS: &[f64] = &[
    1e-6,
    2e-6,
    5e-6,
    1e-5,
    2e-5,
    5e-5,
    1e-4,
    2e-4,
    5e-4,
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    MINUTE,
    2.0 * MINUTE,
    5.0 * MINUTE,
    10.0 * MINUTE,
    15.0 * MINUTE,
    30.0 * MINUTE,
    HOUR,
    2.0 * HOUR,
    3.0 * HOUR,
    6.0 * HOUR,
    12.0 * HOUR,
    DAY,
    2.0 * DAY,
    5.0 * DAY,
    10.0 * DAY,
    20.0 * DAY,
    50.0 * DAY,
    100.0 * DAY,
    200.0 * DAY,
    500.0 * DAY,
    1_000.0 * DAY,
    2_000.0 * DAY,
    5_000.0 * DAY,
    10_000.0 * DAY,
    20_000.0 * DAY,
];

/// Marks of a scale on which every step is a multiple.
const DECADES: &[f64] = &[
    1e-6,
    1e-5,
    1e-4,
    0.001,
    0.01,
    0.1,
    1.0,
    10.0,
    MINUTE,
    10.0 * MINUTE,
    HOUR,
    6.0 * HOUR,
    DAY,
    7.0 * DAY,
    30.0 * DAY,
    365.0 * DAY,
    3_650.0 * DAY,
    36_500.0 * DAY,
];

/// The same for short ranges.
const BETWEEN: &[f64] = &[
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    30.0,
    MINUTE,
    2.0 * MINUTE,
    5.0 * MINUTE,
    10.0 * MINUTE,
    20.0 * MINUTE,
    30.0 * MINUTE,
    HOUR,
    2.0 * HOUR,
    3.0 * HOUR,
    6.0 * HOUR,
    12.0 * HOUR,
    DAY,
    2.0 * DAY,
    4.0 * DAY,
    7.0 * DAY,
    14.0 * DAY,
    30.0 * DAY,
    60.0 * DAY,
    120.0 * DAY,
    365.0 * DAY,
    730.0 * DAY,
    1_825.0 * DAY,
    3_650.0 * DAY,
];

/// Marks from 0 to a length of time, no more than so many beside the first.
pub fn times(length_s: f64, most: usize) -> Vec<f64> {
    let step =
        STEPS.iter().copied().find(|step| length_s / step <= most as f64).unwrap_or(length_s / most as f64);
    (0..=(length_s / step) as usize).map(|index| index as f64 * step).collect()
}

/// Marks of a scale of multiples, no more than so many. Short ranges are marked at their ends.
pub fn multiples(from_s: f64, to_s: f64, most: usize) -> Vec<f64> {
    let inside = |marks: &[f64]| -> Vec<f64> {
        marks.iter().copied().filter(|mark| (from_s..=to_s).contains(mark)).collect()
    };
    let wide = inside(DECADES);
    let inside = if wide.len() < 4 { inside(BETWEEN) } else { wide };
    if inside.len() < 2 {
        return vec![from_s, to_s];
    }
    let every = inside.len().div_ceil(most.max(1));
    // Counted from the end: what takes long is what people look at.
    let mut marks: Vec<f64> = inside.into_iter().rev().step_by(every).collect();
    marks.reverse();
    marks
}

/// What a mark says. Marks of one axis differ by `step`, which decides the unit.
pub fn time(seconds: f64, step: f64) -> String {
    let (unit, name) = match step {
        step if step >= DAY => (DAY, "d"),
        step if step >= HOUR => (HOUR, "h"),
        step if step >= MINUTE => (MINUTE, "min"),
        step if step >= 1.0 => (1.0, "s"),
        step if step >= 0.001 => (0.001, "ms"),
        _ => (1e-6, "µs"),
    };
    if seconds == 0.0 {
        return "0".into();
    }
    let number = (seconds / unit * 100.0).round() / 100.0;
    format!("{number} {name}")
}

/// Marks from 0 up to a round number that is not below `most`, some four of them.
pub fn levels(most: f64) -> Vec<f64> {
    let rough = (most.max(1.0) / 4.0).max(1.0);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough && step.fract() == 0.0)
        .unwrap_or(rough.ceil());
    (0..=(most.max(1.0) / step).ceil() as usize).map(|index| index as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_as_people_count() {
        assert_eq!(times(60.0 * HOUR, 6), [0.0, 12.0, 24.0, 36.0, 48.0, 60.0].map(|hours| hours * HOUR));
        assert_eq!(times(0.0, 6), [0.0]);
        assert_eq!(time(12.0 * HOUR, 12.0 * HOUR), "12 h");
        assert_eq!(time(DAY, DAY), "1 d");
        assert_eq!(time(0.25, 0.05), "250 ms");
        assert_eq!(time(2.5e-5, 5e-6), "25 µs");
        assert_eq!(time(90.0, 30.0), "90 s");
        assert!((2..=7).contains(&times(9e9, 6).len()) && (2..=7).contains(&times(9e12, 6).len()));
    }

    #[test]
    fn multiples_cover_the_range() {
        assert_eq!(multiples(5.0, 2.0 * DAY, 8), [10.0, MINUTE, 600.0, HOUR, 6.0 * HOUR, DAY]);
        assert_eq!(multiples(5.0, 2.0 * DAY, 3), [MINUTE, HOUR, DAY]);
        assert_eq!(multiples(420.0, 1_620.0, 8), [600.0, 1_200.0]);
        assert_eq!(multiples(50.0, 55.0, 8), [50.0, 55.0]);
    }

    #[test]
    fn levels_are_whole_and_reach_the_top() {
        assert_eq!(levels(0.0), [0.0, 1.0]);
        assert_eq!(levels(3.0), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(levels(214.0), [0.0, 100.0, 200.0, 300.0]);
        assert_eq!(levels(1_000.0), [0.0, 250.0, 500.0, 750.0, 1000.0]);
        for most in 1..2_000 {
            let marks = levels(f64::from(most));
            assert!(*marks.last().unwrap() >= f64::from(most) && marks.len() <= 6, "{most}: {marks:?}");
        }
    }
}
