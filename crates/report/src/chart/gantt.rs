//! Who was where: one row for each device, one bar for each stay of a job on devices that lie together.

use super::{Axis, DRAWN, Size, width_of};
use crate::markup::shortened;
use crate::numbers::duration;
use crate::paper::{AXIS, GRID, INK, Paper, SOFT, tone};
use crate::{Page, Run, axis};
use consort_sim::course::Stay;
use consort_types::{DeviceId, Outcome};
use plotters::prelude::*;
use plotters_backend::text_anchor::{HPos, Pos, VPos};

/// Devices of a node, as a range of rows.
struct Node<'a> {
    name: &'a str,
    rows: std::ops::Range<usize>,
}

/// Draws the stays of a run. `shade` chooses a colour for each.
pub fn draw(
    size: Size,
    page: &Page<'_>,
    run: &Run<'_>,
    stays: &[Stay],
    length_s: f64,
    shade: &dyn Fn(&Stay) -> usize,
) -> Paper {
    let rows = page.devices.len().max(1);
    let row = (if size.width > 600 { 420 } else { 360 } / rows as u32).clamp(7, 22);
    let nodes = nodes(page);
    let named = |node: &Node<'_>| shortened(node.name, if size.width > 600 { 18 } else { 9 });
    let left = nodes.iter().map(|node| width_of(&named(node), size.font)).max().unwrap_or(0) + 10;
    let paper = Paper::new(size.width, rows as u32 * row + size.font + 18);
    let area = paper.clone().into_drawing_area();
    let length_s = length_s.max(f64::MIN_POSITIVE);
    let marks = axis::times(length_s, size.marks);
    let step = marks.get(1).copied().unwrap_or(length_s);
    let (say_time, say_nothing) = (|value: f64| axis::time(value, step), |_: f64| String::new());
    let x = Axis { range: 0.0..length_s, marks, say: &say_time };
    // Row 0 is on top.
    let y = Axis { range: rows as f64..0.0, marks: vec![], say: &say_nothing };
    let mut plot = super::plot(&area, size, left, x, y);
    let text = ("sans-serif", size.font).into_font();
    let (top, height) = (8, rows as f64 * f64::from(row));
    let at = |row: f64| top + (row / rows as f64 * height) as i32;
    let beside = text.color(&SOFT).pos(Pos::new(HPos::Right, VPos::Center));
    let mut last = -100;
    for node in &nodes {
        let edge = node.rows.start as f64;
        let colour = if node.rows.start == 0 { AXIS } else { GRID };
        plot.draw_series([PathElement::new(vec![(0.0, edge), (length_s, edge)], colour)]).expect(DRAWN);
        let middle = at((node.rows.start + node.rows.end) as f64 / 2.0);
        // Names of nodes with one device would stand on each other.
        if middle - last >= size.font as i32 {
            area.draw(&Text::new(named(node), (left as i32 - 6, middle), beside.clone())).expect(DRAWN);
            last = middle;
        }
    }
    let inside = text.color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    let pixel_s = length_s / f64::from(plot.plotting_area().dim_in_pixel().0.max(1));
    for bar in bars(stays, &nodes) {
        let (job, tenant) = run.job(bar.stay.allocation.ask.job);
        let (from, to) = (seconds(run, bar.stay.from), seconds(run, bar.stay.to));
        paper.about(about(page, &bar, job, tenant, from, to));
        let corners = [(from, bar.top), (to, bar.bottom)];
        plot.draw_series([Rectangle::new(corners, tone(shade(bar.stay)).filled())]).expect(DRAWN);
        let letters = ((to - from) / pixel_s - 6.0) / (f64::from(size.font) * 0.66);
        let is_high = (bar.bottom - bar.top) * f64::from(row) > f64::from(size.font);
        if is_high && (letters >= job.chars().count() as f64 || letters >= 4.0) {
            let at = (from + 4.0 * pixel_s, (bar.top + bar.bottom) / 2.0);
            plot.draw_series([Text::new(shortened(job, letters as usize), at, inside.clone())]).expect(DRAWN);
        }
    }
    paper
}

fn seconds(run: &Run<'_>, time: consort_types::Time) -> f64 {
    (time - run.course.start()).as_seconds()
}

fn about(page: &Page<'_>, bar: &Bar<'_>, job: &str, tenant: &str, from: f64, to: f64) -> String {
    let ending = match bar.stay.outcome {
        Some(Outcome::Succeeded) => "done".into(),
        Some(Outcome::Stopped) => "interrupted".into(),
        Some(outcome) => outcome.to_string(),
        None => "still running".into(),
    };
    let [first, last] = [bar.first, bar.last].map(|row| page.device(DeviceId(row as u32)));
    let devices = if first == last { first } else { format!("{first} to {last}") };
    format!("{job} of {tenant}: {devices}, from {} to {}, {ending}", duration(from), duration(to))
}

/// Nodes in order, with their rows.
fn nodes<'a>(page: &'a Page<'_>) -> Vec<Node<'a>> {
    let mut nodes: Vec<Node<'_>> = vec![];
    for (row, device) in page.devices.iter().enumerate() {
        match nodes.last_mut() {
            Some(node) if node.name == device.node => node.rows.end = row + 1,
            _ => nodes.push(Node { name: &device.node, rows: row..row + 1 }),
        }
    }
    nodes
}

/// What is drawn of a stay: devices of one node that lie together, or a share of one.
#[derive(Debug)]
struct Bar<'a> {
    stay: &'a Stay,
    first: usize,
    last: usize,
    top: f64,
    bottom: f64,
}

fn bars<'a>(stays: &'a [Stay], nodes: &[Node<'_>]) -> Vec<Bar<'a>> {
    let starts_node = |row: usize| nodes.iter().any(|node| node.rows.start == row);
    let mut bars: Vec<Bar<'_>> = vec![];
    for stay in stays {
        let own = bars.len();
        for &(device, share) in &stay.devices {
            let row = device.index();
            if share < 1_000 {
                let top = row as f64 + lane(&bars, stay, row, f64::from(share) / 1e3);
                bars.push(Bar { stay, first: row, last: row, top, bottom: top + f64::from(share) / 1e3 });
                continue;
            }
            match bars[own..].last_mut() {
                Some(bar) if bar.last + 1 == row && bar.bottom == row as f64 && !starts_node(row) => {
                    (bar.last, bar.bottom) = (row, (row + 1) as f64);
                }
                _ => {
                    bars.push(Bar { stay, first: row, last: row, top: row as f64, bottom: (row + 1) as f64 })
                }
            }
        }
    }
    bars
}

/// Where in a row a share of the device has room beside those that are there at the same time.
fn lane(bars: &[Bar<'_>], stay: &Stay, row: usize, share: f64) -> f64 {
    let beside = bars.iter().filter(|bar| {
        (bar.first..=bar.last).contains(&row) && bar.stay.from < stay.to && stay.from < bar.stay.to
    });
    let taken: Vec<(f64, f64)> = beside.map(|bar| (bar.top - row as f64, bar.bottom - row as f64)).collect();
    let is_free = |top: f64| {
        top + share <= 1.0 + 1e-9
            && taken.iter().all(|(from, to)| top + share <= from + 1e-9 || *to <= top + 1e-9)
    };
    let edges = [0.0].into_iter().chain(taken.iter().map(|(_, to)| *to));
    edges.filter(|top| is_free(*top)).min_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_types::{AllocationId, AskId, JobId, TenantId, Time};

    fn stay(job: u64, devices: &[(u32, u16)], from: i64, to: i64) -> Stay {
        Stay {
            allocation: AllocationId { ask: AskId::whole(JobId(job)), attempt: 1 },
            tenant: TenantId(0),
            devices: devices.iter().map(|(device, share)| (DeviceId(*device), *share)).collect(),
            from: Time::seconds(from),
            to: Time::seconds(to),
            outcome: None,
        }
    }

    fn places(stays: &[Stay]) -> Vec<(f64, f64)> {
        let nodes = [Node { name: "a", rows: 0..4 }, Node { name: "b", rows: 4..8 }];
        bars(stays, &nodes).iter().map(|bar| (bar.top, bar.bottom)).collect()
    }

    #[test]
    fn neighbours_are_one_bar_unless_a_node_begins() {
        let whole = |rows: &[u32]| rows.iter().map(|row| (*row, 1_000)).collect::<Vec<_>>();
        assert_eq!(places(&[stay(1, &whole(&[0, 1, 3]), 0, 9)]), [(0.0, 2.0), (3.0, 4.0)]);
        assert_eq!(places(&[stay(1, &whole(&[3, 4, 5]), 0, 9)]), [(3.0, 4.0), (4.0, 6.0)]);
    }

    #[test]
    fn shares_of_a_device_stand_beside_each_other() {
        let stays = [stay(1, &[(2, 500)], 0, 9), stay(2, &[(2, 250)], 5, 20), stay(3, &[(2, 500)], 9, 12)];
        assert_eq!(places(&stays), [(2.0, 2.5), (2.5, 2.75), (2.0, 2.5)]);
    }
}
