//! Pictures that stand alone: one SVG file each, about a plan inside one job.
//!
//! | read | for |
//! |---|---|
//! | [`Lanes`] | who does what and when |
//! | [`Ring`] | members in a circle, and the links between them |
//! | [`Curves`] | time by size |
//! | [`Stacks`] | what time is spent on |
//!
//! They follow the reader's choice of light or dark, and tell nothing by colour alone: every shape has a title that says
//! what it is.

mod curves;
mod lanes;
mod ring;
mod stacks;

pub use curves::curves;
pub use lanes::lanes;
pub use ring::ring;
pub use stacks::stacks;

use crate::chart::{Area, DRAWN, Size, width_of};
use crate::numbers::brief;
use crate::paper::{INK, Paper, SOFT, tone};
use plotters::prelude::*;
use plotters_backend::text_anchor::{HPos, Pos, VPos};

/// Who does what and when: one lane for each device.
pub struct Lanes {
    /// What it is about, in a few words.
    pub title: String,
    /// From top to bottom.
    pub lanes: Vec<Lane>,
    /// What bars may be; a bar names one by its index.
    pub groups: Vec<String>,
    /// A time to mark, and what it is: the bound.
    pub mark: Option<(f64, String)>,
}

/// One device over time.
pub struct Lane {
    /// What people call it.
    pub name: String,
    /// What it does, in order of time.
    pub bars: Vec<Bar>,
}

/// One thing done.
pub struct Bar {
    /// When it begins, in seconds.
    pub from_s: f64,
    /// When it ends.
    pub to_s: f64,
    /// What is written on it, where there is room; always in its title.
    pub name: String,
    /// What kind of thing it is.
    pub group: usize,
}

/// Members in a circle, each joined to the next.
pub struct Ring {
    /// What it is about, in a few words.
    pub title: String,
    /// Each with the domain it is in.
    pub members: Vec<(String, String)>,
    /// How fast each is joined to the next, in bytes per second; the last to the first.
    pub links: Vec<f64>,
}

/// Lines over an axis of sizes, both axes logarithmic: seconds by bytes.
pub struct Curves {
    /// What it is about, in a few words.
    pub title: String,
    /// Name, and points of bytes and seconds, both above zero.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Bars made of parts, side by side: what the time of each is spent on.
pub struct Stacks {
    /// What it is about, in a few words.
    pub title: String,
    /// Name of each bar, and its parts: the index of a group, and seconds.
    pub bars: Vec<(String, Vec<(usize, f64)>)>,
    /// What parts may be.
    pub groups: Vec<String>,
    /// A length to mark, and what it is.
    pub mark: Option<(f64, String)>,
}

/// The tone of what is marked: a bound, the slowest link.
const MARK: usize = 1;
/// The tone of what is only there to be followed by the eye: grey, and not dashed as the mark is.
const QUIET: usize = 30;

/// How wide they are, and how large their text.
const SIZE: Size = Size { class: "alone", width: 960, font: 12, marks: 10 };
const WIDTH: i32 = SIZE.width as i32;
const MARGIN: i32 = 16;
/// Where the title ends.
const TITLE: i32 = 40;
/// How high a line of the legend is.
const LINE: i32 = 20;

/// A blank sheet with a title and a legend, and how much of its height they take.
struct Sheet {
    paper: Paper,
    /// Where the picture itself goes.
    area: Area,
}

impl Sheet {
    /// A sheet whose picture has so much height. What is marked in it is the last entry of the legend.
    fn new(title: &str, legend: &[String], mark: Option<&(f64, String)>, height: i32) -> Self {
        let mark = mark.map(|(seconds, what)| format!("{what} {}", brief(*seconds)));
        let entries: Vec<String> = legend.iter().chain(&mark).cloned().collect();
        let rows = legend_rows(&entries);
        let top = TITLE + rows.last().map_or(0, |entry| entry.1 + LINE);
        let paper = Paper::new(SIZE.width, (top + height) as u32);
        let whole = paper.clone().into_drawing_area();
        let text = ("sans-serif", 17).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        let title = crate::markup::shortened(title, 90);
        whole.draw(&Text::new(title, (MARGIN, 22), text)).expect(DRAWN);
        let words = ("sans-serif", SIZE.font).into_font().color(&SOFT);
        let words = words.pos(Pos::new(HPos::Left, VPos::Center));
        for (index, (name, (x, y))) in entries.iter().zip(rows).enumerate() {
            let (y, middle) = (TITLE + y, TITLE + y + 6);
            match index < legend.len() {
                true => whole.draw(&Rectangle::new([(x, y), (x + 14, y + 12)], tone(index).filled())),
                false => whole.draw(&PathElement::new(vec![(x, middle), (x + 14, middle)], tone(MARK))),
            }
            .expect(DRAWN);
            whole.draw(&Text::new(name.clone(), (x + 20, middle), words.clone())).expect(DRAWN);
        }
        let (_, area) = whole.split_vertically(top);
        Sheet { paper, area }
    }
}

/// Where each entry of the legend begins, in lines that are not too long.
fn legend_rows(legend: &[String]) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (MARGIN, 0);
    let mut places = vec![];
    for name in legend {
        let width = 20 + width_of(name, SIZE.font) as i32 + 16;
        if x + width > WIDTH - MARGIN && x > MARGIN {
            (x, y) = (MARGIN, y + LINE);
        }
        places.push((x, y));
        x += width;
    }
    places
}

#[cfg(test)]
mod tests;
