//! Members in a circle, each joined to the next: the slowest link is marked.

use super::{Ring, SIZE, Sheet};
use crate::chart::DRAWN;
use crate::markup::shortened;
use crate::numbers::speed;
use crate::paper::{SOFT, tone};
use plotters::prelude::*;
use plotters_backend::text_anchor::{HPos, Pos, VPos};
use std::f64::consts::TAU;

const HEIGHT: i32 = 640;
const RADIUS: f64 = 230.0;
/// So many names can be read around the circle; of more, only every so many is written.
const NAMES: usize = 64;

/// Draws it.
pub fn ring(picture: &Ring) -> String {
    let mut domains: Vec<String> = picture.members.iter().map(|member| member.1.clone()).collect();
    domains.sort_unstable();
    domains.dedup();
    let group = |name: &str| domains.iter().position(|domain| domain == name).unwrap_or(0);
    // A legend of a hundred leaves says nothing.
    let legend = if (2..=24).contains(&domains.len()) { &domains[..] } else { &[] };
    let sheet = Sheet::new(&picture.title, legend, None, HEIGHT);
    let count = picture.members.len().max(1);
    let place = |index: usize, radius: f64| {
        let angle = TAU * (index % count) as f64 / count as f64 - TAU / 4.0;
        let (x, y) = (f64::from(super::WIDTH / 2), f64::from(HEIGHT / 2));
        ((x + radius * angle.cos()).round() as i32, (y + radius * angle.sin()).round() as i32)
    };
    let slowest = picture.links.iter().copied().fold(f64::INFINITY, f64::min);
    for (index, &link) in picture.links.iter().enumerate() {
        let (from, to) = (&picture.members[index % count].0, &picture.members[(index + 1) % count].0);
        let is_slowest = link <= slowest * (1.0 + 1e-9);
        sheet.paper.about(format!(
            "{from} to {to}: {}{}",
            speed(link),
            if is_slowest { ", the slowest" } else { "" }
        ));
        let ends = vec![place(index, RADIUS), place(index + 1, RADIUS)];
        let colour = if is_slowest { tone(super::MARK) } else { tone(super::QUIET) };
        sheet.area.draw(&PathElement::new(ends, colour.stroke_width(2))).expect(DRAWN);
    }
    let dot = (1_200 / count as i32).clamp(2, 9);
    let every = count.div_ceil(NAMES);
    let text = ("sans-serif", SIZE.font).into_font().color(&SOFT);
    for (index, (name, domain)) in picture.members.iter().enumerate() {
        let (x, y) = place(index, RADIUS);
        sheet.paper.about(format!("{}: {name} in {domain}", index + 1));
        let corners = [(x - dot, y - dot), (x + dot, y + dot)];
        sheet.area.draw(&Rectangle::new(corners, tone(group(domain)).filled())).expect(DRAWN);
        if index % every == 0 {
            let at = place(index, RADIUS + 18.0);
            let side = match at.0 - super::WIDTH / 2 {
                -8..=8 => HPos::Center,
                ..-8 => HPos::Right,
                _ => HPos::Left,
            };
            let style = text.pos(Pos::new(side, VPos::Center));
            sheet.area.draw(&Text::new(shortened(name, 28), at, style)).expect(DRAWN);
        }
    }
    let middle = text.pos(Pos::new(HPos::Center, VPos::Center));
    let said = [format!("{} in the ring", picture.members.len()), format!("slowest link {}", speed(slowest))];
    for (line, said) in said.iter().enumerate() {
        let at = (super::WIDTH / 2, HEIGHT / 2 - 10 + 20 * line as i32);
        sheet.area.draw(&Text::new(said.clone(), at, middle.clone())).expect(DRAWN);
    }
    sheet.paper.alone(&picture.title, &said.join(", "))
}
