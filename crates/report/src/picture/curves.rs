//! Time by size, both in multiples: where lines cross, another choice becomes the best.

use super::{Curves, MARGIN, SIZE, Sheet};
use crate::axis;
use crate::chart::{Axis, DRAWN, plot, width_of};
use crate::numbers::brief;
use crate::paper::tone;
use plotters::prelude::*;

const HEIGHT: i32 = 460;
const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// Draws it.
pub fn curves(picture: &Curves) -> String {
    let names: Vec<String> = picture.lines.iter().map(|line| line.0.clone()).collect();
    let sheet = Sheet::new(&picture.title, &names, None, HEIGHT);
    let points =
        || picture.lines.iter().flat_map(|line| &line.1).filter(|point| point.0 > 0.0 && point.1 > 0.0);
    let range = |of: fn(&(f64, f64)) -> f64| {
        let least = points().map(of).fold(f64::INFINITY, f64::min);
        let most = points().map(of).fold(0.0, f64::max);
        // A range must have a width, whatever is in it.
        match most > least {
            true => (least, most),
            false if most > 0.0 => (most / 2.0, most * 2.0),
            false => (0.5, 2.0),
        }
    };
    let ((small, large), (quick, slow)) = (range(|point| point.0), range(|point| point.1));
    let times = axis::multiples(quick, slow, 10);
    let say_size = |value: f64| size(value.exp2());
    let say_time = |value: f64| brief(10f64.powf(value));
    let x = Axis { range: small.log2()..large.log2(), marks: sizes(small, large), say: &say_size };
    let y = Axis {
        range: quick.log10()..slow.log10(),
        marks: times.iter().map(|mark| mark.log10()).collect(),
        say: &say_time,
    };
    let left = width_of("999.9 ms", SIZE.font) + MARGIN as u32;
    let mut plot = plot(&sheet.area, SIZE, left, x, y);
    for (index, (name, points)) in picture.lines.iter().enumerate() {
        let points: Vec<(f64, f64)> = points
            .iter()
            .filter(|point| point.0 > 0.0 && point.1 > 0.0)
            .map(|point| (point.0.log2(), point.1.log10()))
            .collect();
        // A single point is a short line.
        let points = match points[..] {
            [(x, y)] => vec![(x - 0.1, y), (x + 0.1, y)],
            _ => points,
        };
        sheet.paper.about(name.clone());
        plot.draw_series(LineSeries::new(points, tone(index))).expect(DRAWN);
    }
    drop(plot);
    let about = format!("{} by size from {} to {}", names.join(", "), size(small), size(large));
    sheet.paper.alone(&picture.title, &about)
}

/// Marks at powers of two, some eight of them.
fn sizes(small: f64, large: f64) -> Vec<f64> {
    let (from, to) = (small.log2().ceil() as i32, large.log2().floor() as i32);
    let every = ((to - from) as usize).div_ceil(8).max(1);
    (from..=to).step_by(every).map(f64::from).collect()
}

/// `64 KiB`
fn size(bytes: f64) -> String {
    let unit = ((bytes.log2() + 1e-9) / 10.0).floor().clamp(0.0, 5.0);
    let number = bytes / (unit * 10.0).exp2();
    format!("{} {}", (number * 10.0).round() / 10.0, UNITS[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two() {
        assert_eq!(
            [1.0, 1024.0, 65536.0, 3.5 * 1_073_741_824.0].map(size),
            ["1 B", "1 KiB", "64 KiB", "3.5 GiB"]
        );
        assert_eq!(sizes(1024.0, 4_294_967_296.0), [10.0, 13.0, 16.0, 19.0, 22.0, 25.0, 28.0, 31.0]);
    }
}
