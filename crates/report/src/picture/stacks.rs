//! What time is spent on: one bar for each choice or device, made of parts.

use super::{MARGIN, SIZE, Sheet, Stacks};
use crate::axis;
use crate::chart::{Axis, DRAWN, plot, width_of};
use crate::markup::shortened;
use crate::numbers::brief;
use crate::paper::{SOFT, tone};
use plotters::prelude::*;
use plotters_backend::text_anchor::{HPos, Pos, VPos};

const ROW: i32 = 28;
/// More bars than a picture can show.
const BARS: usize = 128;

/// Draws it.
pub fn stacks(picture: &Stacks) -> String {
    let shown = picture.bars.len().clamp(1, BARS);
    let sum = |parts: &[(usize, f64)]| parts.iter().map(|part| part.1).sum::<f64>();
    let longest = picture.bars.iter().map(|bar| sum(&bar.1));
    let length = longest.chain(picture.mark.as_ref().map(|mark| mark.0)).fold(0.0, f64::max);
    let length = length.max(f64::MIN_POSITIVE);
    let sheet = Sheet::new(&picture.title, &picture.groups, picture.mark.as_ref(), shown as i32 * ROW + 42);
    let named = |name: &str| shortened(name, 30);
    let left = picture.bars.iter().take(shown).map(|bar| width_of(&named(&bar.0), SIZE.font)).max();
    let left = left.unwrap_or(0).clamp(40, 280) as i32 + MARGIN;
    // What the longest bar takes must have room behind it.
    let range = length * 1.14;
    let marks = axis::times(range, SIZE.marks);
    let apart = marks.get(1).copied().unwrap_or(range);
    let (say_time, say_nothing) = (|value: f64| axis::time(value, apart), |_: f64| String::new());
    let x = Axis { range: 0.0..range, marks, say: &say_time };
    let y = Axis { range: shown as f64..0.0, marks: vec![], say: &say_nothing };
    let mut plot = plot(&sheet.area, SIZE, left as u32, x, y);
    let pixels = plot.plotting_area().dim_in_pixel();
    let (pixel_s, row) = (range / f64::from(pixels.0.max(1)), f64::from(pixels.1) / shown as f64);
    let text = ("sans-serif", SIZE.font).into_font().color(&SOFT);
    for (index, (name, parts)) in picture.bars.iter().take(shown).enumerate() {
        let (top, mut from) = (index as f64, 0.0);
        let at = (left - 8, 8 + ((top + 0.5) * row) as i32);
        let beside = text.pos(Pos::new(HPos::Right, VPos::Center));
        sheet.area.draw(&Text::new(named(name), at, beside)).expect(DRAWN);
        for &(group, seconds) in parts.iter().filter(|part| part.1 > 0.0) {
            let what = picture.groups.get(group).map_or("", String::as_str);
            sheet.paper.about(format!("{name}: {what} {}", brief(seconds)));
            let corners = [(from, top + 0.15), (from + seconds, top + 0.85)];
            plot.draw_series([Rectangle::new(corners, tone(group).filled())]).expect(DRAWN);
            from += seconds;
        }
        let behind = text.pos(Pos::new(HPos::Left, VPos::Center));
        plot.draw_series([Text::new(brief(from), (from + 5.0 * pixel_s, top + 0.5), behind)]).expect(DRAWN);
    }
    if let Some((time, what)) = &picture.mark {
        sheet.paper.about(format!("{what}: {}", brief(*time)));
        let down = vec![(*time, 0.0), (*time, shown as f64)];
        plot.draw_series([PathElement::new(down, tone(super::MARK))]).expect(DRAWN);
    }
    drop(plot);
    let mark = picture.mark.as_ref().map(|(time, what)| format!("; {what} {}", brief(*time)));
    let about = format!("{} bars up to {}{}", picture.bars.len(), brief(length), mark.unwrap_or_default());
    sheet.paper.alone(&picture.title, &about)
}
