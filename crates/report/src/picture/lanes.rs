//! Who does what and when: one lane for each device, one bar for each thing done.

use super::{Lanes, MARGIN, SIZE, Sheet};
use crate::axis;
use crate::chart::{Axis, DRAWN, plot, width_of};
use crate::markup::shortened;
use crate::numbers::brief;
use crate::paper::{GRID, INK, SOFT, tone};
use plotters::prelude::*;
use plotters_backend::text_anchor::{HPos, Pos, VPos};

/// Letters of a lane's name, at most.
const NAME: usize = 34;
/// More lanes than a picture can show; the last of them says how many are missing.
const LANES: usize = 256;

/// Draws it.
pub fn lanes(picture: &Lanes) -> String {
    let shown = picture.lanes.len().clamp(1, LANES);
    let height = (640 / shown as i32).clamp(9, 30);
    let ends = picture.lanes.iter().flat_map(|lane| &lane.bars).map(|bar| bar.to_s);
    let mark = picture.mark.as_ref().map(|mark| mark.0);
    let length = ends.chain(mark).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut title = picture.title.clone();
    if picture.lanes.len() > shown {
        title += &format!(" (the first {shown} of {})", picture.lanes.len());
    }
    let sheet = Sheet::new(&title, &picture.groups, picture.mark.as_ref(), shown as i32 * height + 42);
    let named = |name: &str| shortened(name, NAME);
    let left = picture.lanes.iter().take(shown).map(|lane| width_of(&named(&lane.name), SIZE.font)).max();
    let left = left.unwrap_or(0).clamp(40, 300) as i32 + MARGIN;
    let marks = axis::times(length, SIZE.marks);
    let apart = marks.get(1).copied().unwrap_or(length);
    let (say_time, say_nothing) = (|value: f64| axis::time(value, apart), |_: f64| String::new());
    let x = Axis { range: 0.0..length, marks, say: &say_time };
    let y = Axis { range: shown as f64..0.0, marks: vec![], say: &say_nothing };
    let mut plot = plot(&sheet.area, SIZE, left as u32, x, y);
    let pixels = plot.plotting_area().dim_in_pixel();
    let pixel_s = length / f64::from(pixels.0.max(1));
    let row = f64::from(pixels.1) / shown as f64;
    let beside = ("sans-serif", SIZE.font).into_font().color(&SOFT).pos(Pos::new(HPos::Right, VPos::Center));
    let inside = ("sans-serif", SIZE.font - 1).into_font().color(&INK);
    let inside = inside.pos(Pos::new(HPos::Center, VPos::Center));
    let mut last = -100;
    for (index, lane) in picture.lanes.iter().take(shown).enumerate() {
        let top = index as f64;
        plot.draw_series([PathElement::new(vec![(0.0, top), (length, top)], GRID)]).expect(DRAWN);
        let middle = 8 + ((top + 0.5) * row) as i32;
        if middle - last >= SIZE.font as i32 {
            sheet.area.draw(&Text::new(named(&lane.name), (left - 8, middle), beside.clone())).expect(DRAWN);
            last = middle;
        }
        for bar in &lane.bars {
            let (from, to) = (brief(bar.from_s), brief(bar.to_s));
            let group = picture.groups.get(bar.group).map_or(String::new(), |group| format!(" ({group})"));
            sheet.paper.about(format!("{}{group} on {}, from {from} to {to}", bar.name, lane.name));
            let corners = [(bar.from_s, top + 0.08), (bar.to_s, top + 0.92)];
            plot.draw_series([Rectangle::new(corners, tone(bar.group).filled())]).expect(DRAWN);
            let letters = ((bar.to_s - bar.from_s) / pixel_s - 4.0) / (f64::from(SIZE.font) * 0.62);
            if row * 0.84 > f64::from(SIZE.font) && letters >= bar.name.chars().count() as f64 {
                let at = ((bar.from_s + bar.to_s) / 2.0, top + 0.5);
                plot.draw_series([Text::new(bar.name.clone(), at, inside.clone())]).expect(DRAWN);
            }
        }
    }
    if let Some((time, what)) = &picture.mark {
        sheet.paper.about(format!("{what}: {}", brief(*time)));
        let down = vec![(*time, 0.0), (*time, shown as f64)];
        plot.draw_series([PathElement::new(down, tone(super::MARK))]).expect(DRAWN);
    }
    drop(plot);
    let about = format!("{} lanes over {}", picture.lanes.len(), brief(length));
    sheet.paper.alone(&picture.title, &about)
}
