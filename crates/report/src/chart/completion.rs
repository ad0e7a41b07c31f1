//! Completion times: which share of the jobs was done within which time. Time runs in multiples, because jobs do.

use super::{Axis, DRAWN, Size, plot, width_of};
use crate::axis;
use crate::numbers::duration;
use crate::paper::{Paper, tone};
use crate::sheet::{Cell, Sheet};
use plotters::prelude::*;

/// More points than a picture can show.
const POINTS: usize = 2_000;

/// Completion times of one policy, ascending, in seconds.
pub struct Times<'a> {
    pub policy: &'a str,
    pub seconds: Vec<f64>,
}

/// The curves. Nothing when no job ended.
pub fn draw(size: Size, all: &[Times<'_>]) -> Option<Paper> {
    let positive = |times: &Times<'_>| times.seconds.iter().copied().find(|seconds| *seconds > 0.0);
    let least = all.iter().filter_map(positive).min_by(f64::total_cmp)?;
    let most = all.iter().filter_map(|times| times.seconds.last().copied()).max_by(f64::total_cmp)?;
    // All alike: a range must have a width.
    let (from, to) = if most > least { (least, most) } else { (least / 2.0, least * 2.0) };
    let marks = axis::multiples(from, to, size.marks);
    let paper = Paper::new(size.width, if size.width > 600 { 320 } else { 260 });
    let area = paper.clone().into_drawing_area();
    let say_time = |value: f64| {
        let seconds = 10f64.powf(value);
        match marks[..] {
            [a, b] if a == from && b == to => duration(seconds),
            _ => axis::time((seconds * 1e6).round() / 1e6, seconds * 1.000_001),
        }
    };
    let say_share = |value: f64| format!("{value:.0}%");
    let x = Axis {
        range: from.log10()..to.log10(),
        marks: marks.iter().map(|mark| mark.log10()).collect(),
        say: &say_time,
    };
    let y = Axis { range: 0.0..100.0, marks: vec![0.0, 25.0, 50.0, 75.0, 100.0], say: &say_share };
    let mut plot = plot(&area, size, width_of("100%", size.font) + 8, x, y);
    for (index, times) in all.iter().enumerate() {
        let line = LineSeries::new(curve(&times.seconds, from, to), tone(index));
        plot.draw_series(line).expect(DRAWN);
    }
    Some(paper)
}

/// Corners of the steps, or, where there are too many, as many of them as can be told apart.
fn curve(seconds: &[f64], from: f64, to: f64) -> Vec<(f64, f64)> {
    let count = seconds.len();
    let every = count.div_ceil(POINTS).max(1);
    let mut corners = vec![(from.log10(), 0.0)];
    for index in (0..count).step_by(every).chain(count.checked_sub(1)) {
        let x = seconds[index].clamp(from, to).log10();
        let before = corners.last().map_or(0.0, |corner| corner.1);
        corners.push((x, before));
        corners.push((x, 100.0 * (index + 1) as f64 / count as f64));
    }
    corners.push((to.log10(), corners.last().map_or(0.0, |corner| corner.1)));
    corners
}

/// The same in numbers.
pub fn values(all: &[Times<'_>]) -> Sheet {
    const SHARES: [(f64, &str); 8] = [
        (0.1, "10%"),
        (0.25, "25%"),
        (0.5, "50%"),
        (0.75, "75%"),
        (0.9, "90%"),
        (0.95, "95%"),
        (0.99, "99%"),
        (1.0, "all"),
    ];
    let mut sheet = Sheet::titled(["policy"].into_iter().chain(SHARES.iter().map(|(_, name)| *name)));
    for times in all {
        let at = |share: f64| {
            let index = (times.seconds.len() as f64 * share) as usize;
            times.seconds.get(index.min(times.seconds.len().saturating_sub(1)))
        };
        let cells = SHARES
            .iter()
            .map(|(share, _)| Cell::number(at(*share).map_or("-".into(), |seconds| duration(*seconds))));
        sheet.rows.push([Cell::words(times.policy)].into_iter().chain(cells).collect());
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{NARROW, WIDE};

    fn times(seconds: Vec<f64>) -> Vec<Times<'static>> {
        vec![Times { policy: "p", seconds }]
    }

    #[test]
    fn a_curve_rises_from_nothing_to_all() {
        let curve = curve(&[1.0, 10.0, 10.0, 100.0], 1.0, 100.0);
        assert_eq!((curve[0], curve[curve.len() - 1]), ((0.0, 0.0), (2.0, 100.0)));
        assert!(curve.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
        assert!(super::curve(&vec![5.0; 1_000_000], 5.0, 5.0).len() < 3 * POINTS);
    }

    #[test]
    fn odd_times_are_drawn_all_the_same() {
        for seconds in [vec![7.0], vec![0.0, 7.0], vec![3e9, 3e9], vec![0.000_001, 1e9]] {
            for size in [WIDE, NARROW] {
                assert!(draw(size, &times(seconds.clone())).is_some(), "{seconds:?}");
            }
        }
        assert!(draw(WIDE, &times(vec![])).is_none() && draw(WIDE, &times(vec![0.0])).is_none());
    }

    #[test]
    fn the_table_has_the_same() {
        let sheet = values(&times((1..=100).map(f64::from).collect()));
        let texts: Vec<&str> = sheet.rows[0].iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["p", "11s", "26s", "51s", "1m 16s", "1m 31s", "1m 36s", "1m 40s", "1m 40s"]);
    }
}
