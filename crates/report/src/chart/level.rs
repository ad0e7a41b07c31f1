//! A level over time: devices in use, or how many wait.

use super::{Axis, DRAWN, Size, plot, steps, width_of};
use crate::axis;
use crate::paper::{Paper, tone};
use consort_sim::course::Curve;
use plotters::prelude::*;

/// One level, with axes that it shares with its neighbours so that they can be compared.
pub struct Level<'a> {
    pub curve: &'a Curve,
    /// How long the longest of them lasted.
    pub length_s: f64,
    /// Marks of the level; the last is the top.
    pub marks: &'a [f64],
    /// What they say.
    pub say: &'a dyn Fn(f64) -> String,
    /// Its colour.
    pub tone: usize,
}

/// An area below a line.
pub fn draw(size: Size, level: &Level<'_>) -> Paper {
    let paper = Paper::new(size.width, if size.width > 600 { 220 } else { 150 });
    let area = paper.clone().into_drawing_area();
    let length_s = level.length_s.max(f64::MIN_POSITIVE);
    let marks = axis::times(length_s, size.marks);
    let step = marks.get(1).copied().unwrap_or(length_s);
    let say_time = |value: f64| axis::time(value, step);
    let top = level.marks.last().copied().unwrap_or(1.0);
    let left = level.marks.iter().map(|mark| width_of(&(level.say)(*mark), size.font)).max().unwrap_or(0) + 8;
    let x = Axis { range: 0.0..length_s, marks, say: &say_time };
    let y = Axis { range: 0.0..top, marks: level.marks.to_vec(), say: level.say };
    let mut plot = plot(&area, size, left.max(40), x, y);
    let corners = steps(level.curve.width_s, level.curve.length_s, &level.curve.means);
    if !corners.is_empty() {
        let colour = tone(level.tone);
        let filled = AreaSeries::new(corners, 0.0, colour).border_style(colour);
        plot.draw_series(filled).expect(DRAWN);
    }
    paper
}
