//! What is seen: a headline, what is wrong with the world, the devices with bars, the jobs with their reasons, and what the keys do.

use super::sample::Sample;
use super::state::Page;
use crate::failure::one_line;
use crate::live::devices::{folded, label};
use crate::live::wording;
use crate::numbers::{counted, duration};
use consort_api::shapes::{Device, DeviceState, Job, State};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Table, TableState};

/// Letters of one bar.
const BAR: usize = 10;
/// Hotter than this is drawn in red, warmer than [`WARM`] in yellow.
const HOT: f64 = 85.0;
const WARM: f64 = 75.0;

/// `consort 0.1.0 (local): 8 devices, 5 in use; 3 jobs run, 12 wait`.
pub fn headline(sample: &Sample) -> String {
    let status = &sample.status;
    let used = sample.devices.iter().filter(|device| device.state != DeviceState::Free).count();
    format!(
        "consort {} ({}): {}, {used} in use; {} running, {} waiting; policy {}",
        one_line(&status.version),
        one_line(&status.world),
        counted(sample.devices.len() as u64, "device"),
        status.running,
        status.waiting,
        one_line(&status.policy),
    )
}

/// The whole page.
pub fn draw(frame: &mut Frame<'_>, page: &Page) {
    let height = frame.area().height;
    // Devices get what they need, but never more than half: jobs are what people come for.
    let devices = (folded(&page.sample.devices).count() as u16 + 1).min(height.saturating_sub(4) / 2);
    let parts = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(devices),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ]);
    // The line below the headline is empty unless the world is in trouble.
    let [head, trouble, upper, _, lower, foot] = parts.areas(frame.area());
    frame.render_widget(Line::from(headline(&page.sample)).bold(), head);
    if let Some(words) = &page.sample.status.trouble {
        frame.render_widget(Line::from(one_line(words)).red(), trouble);
    }
    draw_devices(frame, upper, &page.sample.devices);
    draw_jobs(frame, lower, page);
    frame.render_widget(footer(page), foot);
}

fn draw_devices(frame: &mut Frame<'_>, area: Rect, devices: &[Device]) {
    let busiest_power = devices.iter().filter_map(|device| device.power_w).fold(1.0, f64::max);
    // What no device tells gets no column.
    let told = [
        devices.iter().any(|device| device.utilization_percent.is_some()),
        devices.iter().any(|device| device.memory_used_bytes.is_some()),
        devices.iter().any(|device| device.temperature_c.is_some()),
        devices.iter().any(|device| device.power_w.is_some()),
    ];
    let row = |group: &[Device]| {
        let device = &group[0];
        let granted = f64::from(device.used_thousandths) / 1000.0;
        let memory = match (device.memory_used_bytes, device.memory_bytes) {
            (Some(used), Some(all)) if all > 0 => Some(used as f64 / all as f64),
            _ => None,
        };
        let jobs: Vec<String> = device.jobs.iter().map(u64::to_string).collect();
        let about = match &device.why {
            Some(why) => one_line(why),
            None => jobs.join(" "),
        };
        let gauges = [
            bar(
                device.utilization_percent.map(|percent| percent / 100.0),
                wording::maybe(device.utilization_percent, "%"),
                Color::Green,
            ),
            bar(memory, memory.map_or("-".into(), |part| format!("{:.0}%", part * 100.0)), Color::Blue),
            bar(
                device.temperature_c.map(|heat| heat / 100.0),
                wording::maybe(device.temperature_c, "°C"),
                heat(device.temperature_c),
            ),
            bar(
                device.power_w.map(|power| power / busiest_power),
                wording::maybe(device.power_w, "W"),
                Color::Magenta,
            ),
        ];
        let mut cells = vec![
            Cell::from(label(group)),
            Cell::from(one_line(&device.kind)),
            Cell::from(device.state.to_string()).style(colour(device.state)),
            bar(Some(granted), format!("{:.0}%", granted * 100.0), Color::Cyan),
        ];
        cells.extend(gauges.into_iter().zip(told).filter(|(_, told)| *told).map(|(gauge, _)| gauge));
        cells.push(Cell::from(about));
        Row::new(cells)
    };
    let wide = Constraint::Length(BAR as u16 + 6);
    let mut widths = vec![Constraint::Max(18), Constraint::Max(10), Constraint::Length(9), wide];
    let mut titles = vec!["device", "kind", "state", "granted"];
    for (title, _) in ["busy", "memory", "heat", "power"].into_iter().zip(told).filter(|(_, told)| *told) {
        titles.push(title);
        widths.push(wide);
    }
    titles.push("jobs");
    widths.push(Constraint::Min(4));
    let header = Row::new(titles).style(Style::new().bold());
    frame.render_widget(Table::new(folded(devices).map(row), widths).header(header), area);
}

fn draw_jobs(frame: &mut Frame<'_>, area: Rect, page: &Page) {
    let now = wording::now();
    let row = |job: &Job| {
        Row::new([
            Cell::from(format!("{:>7}", job.id)),
            Cell::from(one_line(&job.name)),
            Cell::from(job.state.to_string()).style(tint(job.state)),
            Cell::from(format!("{:>7}", job.devices)),
            Cell::from(format!("{:>8}", duration(wording::elapsed(job, now)))),
            Cell::from(one_line(&job.tenant)),
            Cell::from(one_line(&job.reason)),
        ])
    };
    let widths = [
        Constraint::Length(7),
        Constraint::Max(20),
        Constraint::Length(9),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Max(12),
        Constraint::Min(10),
    ];
    let titles = ["    job", "name", "state", "devices", "    time", "tenant", "reason"];
    let header = Row::new(titles).style(Style::new().bold());
    let table = Table::new(page.sample.jobs.iter().map(row), widths)
        .header(header)
        .row_highlight_style(Style::new().reversed());
    let mut state = TableState::default().with_selected(page.position());
    frame.render_stateful_widget(table, area, &mut state);
}

fn footer(page: &Page) -> Line<'static> {
    if let Some(id) = page.asking {
        return Line::from(format!("Cancel job {id}? Press y to cancel it, any other key to keep it."))
            .bold()
            .yellow();
    }
    if let Some(trouble) = &page.trouble {
        return Line::from(trouble.clone()).red();
    }
    let keys = format!(
        "q quit  ↑↓ select  p pause or resume  c cancel  s sort ({}){}",
        page.sort.word(),
        if page.sample.more { "  (only the newest jobs)" } else { "" }
    );
    match &page.said {
        Some(said) => {
            Line::from(vec![Span::from(said.clone()).bold(), Span::from("   "), Span::from(keys).dim()])
        }
        None => Line::from(keys).dim(),
    }
}

/// A bar with its figure; nothing but a dash where nothing is known.
fn bar(part: Option<f64>, figure: String, colour: Color) -> Cell<'static> {
    let Some(part) = part else { return Cell::from(Span::from("-").dim()) };
    let full = (part.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    Cell::from(Line::from(vec![
        Span::styled("█".repeat(full), Style::new().fg(colour)),
        Span::from("░".repeat(BAR - full)).dim(),
        Span::from(format!(" {figure}")),
    ]))
}

fn heat(degrees: Option<f64>) -> Color {
    match degrees {
        Some(degrees) if degrees >= HOT => Color::Red,
        Some(degrees) if degrees >= WARM => Color::Yellow,
        _ => Color::Green,
    }
}

fn colour(state: DeviceState) -> Style {
    Style::new().fg(match state {
        DeviceState::Free => Color::DarkGray,
        DeviceState::Used | DeviceState::Shared => Color::Green,
        DeviceState::Foreign => Color::Yellow,
        DeviceState::Unhealthy => Color::Red,
    })
}

fn tint(state: State) -> Style {
    Style::new().fg(match state {
        State::Running | State::Succeeded => Color::Green,
        State::Starting | State::Stopping => Color::Cyan,
        State::Waiting | State::Held | State::Paused => Color::Yellow,
        State::Failed | State::Cancelled => Color::Red,
    })
}

#[cfg(test)]
mod tests;
