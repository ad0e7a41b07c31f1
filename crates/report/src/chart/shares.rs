//! Who had how much of the cluster, over time: one layer for each tenant, the one with the most at the bottom.

use super::{Axis, DRAWN, Size, plot, width_of};
use crate::axis;
use crate::markup::shortened;
use crate::paper::{INK, Paper, TONES, tone};
use consort_sim::course::{Course, Curve};
use plotters::prelude::*;
use plotters_backend::text_anchor::{HPos, Pos, VPos};

/// The layers of one run, from the bottom up.
pub struct Layers<'a> {
    /// Names, and thousandths of a device over time.
    pub layers: Vec<(&'a str, Curve)>,
    /// How long the longest of the runs lasted.
    pub length_s: f64,
    /// Devices there are.
    pub devices: f64,
}

/// The tenants of several runs, those with the most use first. From the eighth on they share a layer, if there are
/// more than eight.
pub fn ranking<'a>(courses: impl IntoIterator<Item = &'a Course>) -> Vec<(&'a str, u128)> {
    let mut totals: Vec<(&str, u128)> = vec![];
    for (name, series) in courses.into_iter().flat_map(Course::tenants) {
        match totals.iter_mut().find(|(known, _)| *known == name) {
            Some((_, total)) => *total += series.total(),
            None => totals.push((name, series.total())),
        }
    }
    totals.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    totals
}

/// The names of the layers. The last one may stand for all others.
pub fn names<'a>(ranking: &[(&'a str, u128)]) -> Vec<&'a str> {
    let mut names: Vec<&str> = ranking.iter().map(|(name, _)| *name).collect();
    if names.len() > TONES {
        names.truncate(TONES - 1);
        names.push(Course::OTHERS);
    }
    names
}

/// The layers of one run, named like those of all.
pub fn layers<'a>(course: &Course, names: &[&'a str]) -> Vec<(&'a str, Curve)> {
    let mut layers: Vec<(&str, Curve)> = names
        .iter()
        .map(|name| {
            let mut curve = course.curve(course.in_use());
            curve.means.fill(0.0);
            (*name, curve)
        })
        .collect();
    for (tenant, series) in course.tenants() {
        let index = names.iter().position(|name| *name == tenant).unwrap_or(names.len().saturating_sub(1));
        let curve = course.curve(series);
        if let Some((_, layer)) = layers.get_mut(index) {
            layer.means.iter_mut().zip(curve.means).for_each(|(sum, mean)| *sum += mean);
        }
    }
    layers
}

/// Draws the layers, and names those that are thick enough for it where they are thickest.
pub fn draw(size: Size, run: &Layers<'_>) -> Paper {
    let height = if size.width > 600 { 260 } else { 190 };
    let paper = Paper::new(size.width, height);
    let area = paper.clone().into_drawing_area();
    let length_s = run.length_s.max(f64::MIN_POSITIVE);
    let marks = axis::times(length_s, size.marks);
    let step = marks.get(1).copied().unwrap_or(length_s);
    let (say_time, say_share) = (|value: f64| axis::time(value, step), |value: f64| format!("{value:.0}%"));
    let x = Axis { range: 0.0..length_s, marks, say: &say_time };
    let y = Axis { range: 0.0..100.0, marks: vec![0.0, 50.0, 100.0], say: &say_share };
    let mut plot = plot(&area, size, width_of("100%", size.font).max(32) + 8, x, y);
    let percent = |mean: f64| mean / 10.0 / run.devices.max(1.0);
    let mut below: Vec<f64> = run.layers.first().map_or(vec![], |(_, curve)| vec![0.0; curve.means.len()]);
    let mut labels = vec![];
    for (index, (name, curve)) in run.layers.iter().enumerate() {
        let above: Vec<f64> =
            below.iter().zip(&curve.means).map(|(base, mean)| base + percent(*mean)).collect();
        let top = super::steps(curve.width_s, curve.length_s, &above);
        let bottom = super::steps(curve.width_s, curve.length_s, &below);
        if curve.means.iter().any(|mean| *mean > 0.0) {
            let outline: Vec<(f64, f64)> = top.into_iter().chain(bottom.into_iter().rev()).collect();
            plot.draw_series([Polygon::new(outline, tone(index).filled())]).expect(DRAWN);
            labels.extend(place(size, name, curve, length_s, &below, &above));
        }
        below = above;
    }
    let style = ("sans-serif", size.font).into_font().color(&INK);
    let style = style.pos(Pos::new(HPos::Center, VPos::Center));
    plot.draw_series(labels.into_iter().map(|(at, text)| Text::new(text, at, style.clone()))).expect(DRAWN);
    paper
}

/// Where the name of a layer fits best: in the middle of a stretch as wide as the name in which the layer is thickest.
fn place(
    size: Size,
    name: &str,
    curve: &Curve,
    length_s: f64,
    below: &[f64],
    above: &[f64],
) -> Option<((f64, f64), String)> {
    let text = shortened(name, 16);
    let plot_width = f64::from(size.width) - 60.0;
    let wide_s = f64::from(width_of(&text, size.font) + 6) / plot_width * length_s;
    let bins = ((wide_s / curve.width_s).ceil() as usize).max(1);
    let room = |from: usize| {
        let floor = below[from..from + bins].iter().copied().fold(0.0, f64::max);
        let ceiling = above[from..from + bins].iter().copied().fold(f64::INFINITY, f64::min);
        (floor, ceiling)
    };
    let starts = 0..(below.len() + 1).saturating_sub(bins);
    let best = starts.max_by(|a, b| {
        let thickness = |from: usize| room(from).1 - room(from).0;
        thickness(*a).total_cmp(&thickness(*b)).then(b.cmp(a))
    })?;
    let (floor, ceiling) = room(best);
    let needed = f64::from(size.font + 3) / (if size.width > 600 { 220.0 } else { 150.0 }) * 100.0;
    let middle_s = (best as f64 + bins as f64 / 2.0) * curve.width_s;
    (ceiling - floor >= needed).then_some(((middle_s, (floor + ceiling) / 2.0), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::PANEL;

    #[test]
    fn the_ninth_shares_a_layer_with_the_eighth() {
        let all: Vec<(String, u128)> = (0..9).map(|index| (format!("t{index}"), 100 - index)).collect();
        let ranking: Vec<(&str, u128)> = all.iter().map(|(name, total)| (name.as_str(), *total)).collect();
        assert_eq!(names(&ranking[..8]).last(), Some(&"t7"));
        assert_eq!(names(&ranking), ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "others"]);
    }

    #[test]
    fn a_layer_is_named_where_it_is_thick_and_only_there() {
        let means = |high: f64| (0..100).map(|index| if index > 50 { high } else { 0.0 }).collect();
        let curve = Curve { width_s: 1.0, length_s: 100.0, means: means(8_000.0) };
        let run = Layers { layers: vec![("red", curve)], length_s: 100.0, devices: 8.0 };
        let svg = draw(PANEL, &run).svg("panel", "x", "", "");
        assert!(svg.contains(">red</text>") && svg.contains("class=\"f c0 d0\""), "{svg}");
        let curve = Curve { width_s: 1.0, length_s: 100.0, means: means(80.0) };
        let run = Layers { layers: vec![("red", curve)], length_s: 100.0, devices: 8.0 };
        assert!(!draw(PANEL, &run).svg("panel", "x", "", "").contains(">red</text>"));
    }
}
