//! The pictures. One file each; what they share is here: sizes, axes, and how a picture becomes a part of the page.

pub mod completion;
pub mod gantt;
pub mod level;
pub mod shares;

use crate::paper::{AXIS, GRID, Paper, SOFT};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;
use std::ops::Range;

/// How large a picture is drawn. Text must stay readable when the page scales it, so that a picture of the full width
/// is drawn twice, and the style sheet shows the one that fits.
#[derive(Clone, Copy)]
pub struct Size {
    /// What the style sheet calls it.
    pub class: &'static str,
    /// Width.
    pub width: u32,
    /// Of text.
    pub font: u32,
    /// Marks of a time axis, at most.
    pub marks: usize,
}

/// The whole width of a wide screen, or of paper.
pub const WIDE: Size = Size { class: "wide", width: 900, font: 12, marks: 10 };
/// The whole width of a narrow one.
pub const NARROW: Size = Size { class: "narrow", width: 360, font: 11, marks: 5 };
/// One of several side by side.
pub const PANEL: Size = Size { class: "panel", width: 360, font: 11, marks: 5 };

/// One of two side by side.
pub const HALF: Size = Size { class: "panel", width: 485, font: 13, marks: 6 };

/// The sizes that a picture of each of so many runs is drawn in: alone it has the whole width.
pub fn sizes(runs: usize) -> &'static [Size] {
    match runs {
        ..=1 => &[WIDE, NARROW],
        2 | 4 => &[HALF],
        _ => &[PANEL],
    }
}

/// One axis.
pub struct Axis<'a> {
    /// From where to where; the first may be the larger.
    pub range: Range<f64>,
    /// Where the marks are.
    pub marks: Vec<f64>,
    /// What they say.
    pub say: &'a dyn Fn(f64) -> String,
}

/// What the plotting crate sees of an axis: our marks instead of its own.
pub struct Scale {
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let part = (value - self.range.start) / (self.range.end - self.range.start);
        from + (part * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Asked for lines between the marks: there are none.
        if hint.weight().allow_light_points() { vec![] } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

pub type Area = DrawingArea<Paper, Shift>;
pub type Plot<'a> = ChartContext<'a, Paper, Cartesian2d<Scale, Scale>>;

/// Why drawing cannot fail.
pub const DRAWN: &str = "paper takes every shape";

/// Axes and the lines behind the data.
pub fn plot<'a>(area: &'a Area, size: Size, left: u32, x: Axis<'_>, y: Axis<'_>) -> Plot<'a> {
    // What the last mark says may stand out by half.
    let right = x.marks.last().map_or(0, |mark| width_of(&(x.say)(*mark), size.font) / 2 + 4);
    let mut plot = ChartBuilder::on(area)
        .margin_top(8)
        .margin_right(right.max(16))
        .x_label_area_size(size.font + 10)
        .y_label_area_size(left)
        .build_cartesian_2d(
            Scale { range: x.range, marks: x.marks },
            Scale { range: y.range, marks: y.marks },
        )
        .expect(DRAWN);
    let text = ("sans-serif", size.font).into_font().color(&SOFT);
    plot.configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(GRID)
        .axis_style(AXIS)
        .label_style(text)
        .set_all_tick_mark_size(3)
        .x_label_formatter(&|value| (x.say)(*value))
        .y_label_formatter(&|value| (y.say)(*value))
        .draw()
        .expect(DRAWN);
    plot
}

/// How wide a text is, about: fonts differ.
pub fn width_of(text: &str, font: u32) -> u32 {
    (text.chars().count() as f64 * f64::from(font) * 0.72).ceil() as u32
}

/// A level that holds from mark to mark, as the corners of its steps.
pub fn steps(width_s: f64, length_s: f64, means: &[f64]) -> Vec<(f64, f64)> {
    let edge = |index: usize| (index as f64 * width_s).min(length_s);
    means
        .iter()
        .enumerate()
        .flat_map(|(index, mean)| [(edge(index), *mean), (edge(index + 1), *mean)])
        .collect()
}
