//! The parts of the page, each a table or a kind of picture, with its values beside it.

use crate::chart::{self, Size, completion, gantt, level, shares, sizes};
use crate::markup::escape;
use crate::numbers::{counted, decimal, duration, percent, thousands};
use crate::paper::{Paper, classes};
use crate::sheet::{Cell, Sheet};
use crate::{Page, Run, axis};
use consort_sim::course::{Curve, MOST_DEVICES, MOST_JOBS, MOST_STAYS, Stay, TooMany};

/// All of them, in order.
pub fn all(page: &Page<'_>) -> Vec<String> {
    let mut sections = vec![figures(page)];
    sections.extend(completion_times(page));
    sections.push(in_use(page));
    sections.push(waiting(page));
    sections.extend(tenants(page));
    sections.push(who_was_where(page));
    sections
}

/// A heading, a sentence, and what follows.
fn section(id: &str, title: &str, about: &str, content: &str) -> String {
    format!(
        "<section id=\"{id}\">\n<h2>{}</h2>\n<p>{}</p>\n{content}</section>\n",
        escape(title),
        escape(about)
    )
}

/// A picture in every size that it is shown in.
struct Picture<'a> {
    id: String,
    /// Above it, when it is one of several.
    heading: Option<&'a str>,
    title: String,
    description: String,
    sizes: &'a [Size],
}

impl Picture<'_> {
    fn html(&self, draw: impl Fn(Size) -> Paper) -> String {
        let heading = self.heading.map(|heading| format!("<figcaption>{}</figcaption>", escape(heading)));
        let drawn = self.sizes.iter().map(|size| {
            let id = format!("{}-{}", self.id, size.class);
            draw(*size).svg(size.class, &id, &self.title, &self.description)
        });
        let drawn: String = drawn.collect();
        format!(
            "<figure class=\"picture\" id=\"{}\">{}\n{drawn}</figure>\n",
            self.id,
            heading.unwrap_or_default()
        )
    }
}

/// What the lines or layers of a picture are.
fn legend<'a>(names: impl IntoIterator<Item = &'a str>, form: &str) -> String {
    let key = |(index, name): (usize, &str)| {
        let shape = match form {
            "l" => "<path class=\"l KEY\" d=\"M1 7H31\"/>",
            _ => "<rect class=\"f KEY\" x=\"1\" y=\"1\" width=\"30\" height=\"12\"/>",
        };
        let shape = shape.replace("KEY", &classes(index));
        format!(
            "<li><svg class=\"key\" viewBox=\"0 0 32 14\" aria-hidden=\"true\">{shape}</svg>{}</li>",
            escape(name)
        )
    };
    let keys: String = names.into_iter().enumerate().map(key).collect();
    format!("<ul class=\"legend\">{keys}</ul>\n")
}

/// A table that most readers skip.
fn folded(summary: &str, sheet: &Sheet) -> String {
    format!("<details><summary>{}</summary>\n{}</details>\n", escape(summary), sheet.html(summary))
}

fn figures(page: &Page<'_>) -> String {
    let about = match page.figures.rows.iter().flatten().any(|cell| cell.best) {
        true => "The best of each column is marked. JCT: time from submission to end.",
        false => "JCT: time from submission to end.",
    };
    let mut content = page.figures.html("Figures");
    if !page.lost.is_empty() {
        content += &super::facts(&page.lost, "");
    }
    let title = if page.runs.len() > 1 { "Policies side by side" } else { "Figures" };
    section("figures", title, about, &content)
}

fn completion_times(page: &Page<'_>) -> Option<String> {
    let times: Vec<completion::Times<'_>> = page
        .runs
        .iter()
        .map(|run| {
            let mut seconds: Vec<f64> =
                run.outcome.records.iter().map(|record| record.jct().as_seconds()).collect();
            seconds.sort_by(f64::total_cmp);
            completion::Times { policy: run.policy, seconds }
        })
        .collect();
    completion::draw(chart::WIDE, &times)?;
    let medians: Vec<String> = times
        .iter()
        .filter_map(|times| {
            let median = times.seconds.get(times.seconds.len() / 2)?;
            Some(format!("{}: half of the jobs within {}", times.policy, duration(*median)))
        })
        .collect();
    let picture = Picture {
        id: "completion-picture".into(),
        heading: None,
        title: "Completion times".into(),
        description: format!("Share of jobs that ended within a time. {}.", medians.join("; ")),
        sizes: sizes(1),
    };
    let drawn = picture.html(|size| completion::draw(size, &times).expect("it was drawn before"));
    let keys = legend(page.runs.iter().map(|run| run.policy), "l");
    let keys = if page.runs.len() > 1 { keys } else { String::new() };
    let about = "Share of the jobs that ended within a time, counted from their submission. Further left and higher is \
                 better. Time runs in multiples.";
    let values = completion::values(&times).html("Time within which a share of the jobs ended");
    Some(section("completion", "Completion times", about, &format!("{keys}{drawn}{values}")))
}

/// Pictures of one level for each run, on axes they share.
fn levels(
    page: &Page<'_>,
    id: &str,
    title: &str,
    curves: &[Curve],
    marks: &[f64],
    say: &dyn Fn(f64) -> String,
    told: &dyn Fn(usize) -> String,
) -> String {
    let length_s = curves.iter().map(|curve| curve.length_s).fold(0.0, f64::max);
    let pictures = page.runs.iter().zip(curves).enumerate().map(|(index, (run, curve))| {
        let heading = format!("{}: {}", run.policy, told(index));
        let picture = Picture {
            id: format!("{id}-{index}"),
            heading: Some(&heading),
            title: format!("{title} under {}", run.policy),
            description: format!("Over time. {}.", told(index)),
            sizes: sizes(page.runs.len()),
        };
        picture.html(|size| level::draw(size, &level::Level { curve, length_s, marks, say, tone: index }))
    });
    grid(page.runs.len(), pictures)
}

fn grid(runs: usize, pictures: impl Iterator<Item = String>) -> String {
    let class = match runs {
        ..=1 => "alone",
        2 | 4 => "grid two",
        _ => "grid",
    };
    format!("<div class=\"{class}\">\n{}</div>\n", pictures.collect::<String>())
}

/// Means over the quarters of the longest run, and over all of each.
fn quarters(
    page: &Page<'_>,
    curves: &[Curve],
    last: (&str, &dyn Fn(usize) -> String),
    say: &dyn Fn(f64) -> String,
) -> Sheet {
    let titles = ["policy", "1st quarter", "2nd", "3rd", "4th", "whole run", last.0];
    let mut sheet = Sheet::titled(titles);
    let length_s = curves.iter().map(|curve| curve.length_s).fold(0.0, f64::max);
    for (index, (run, curve)) in page.runs.iter().zip(curves).enumerate() {
        let mut cells = vec![Cell::words(run.policy)];
        for quarter in 0..4 {
            let edge = |number: usize| length_s * number as f64 / 4.0;
            cells.push(Cell::number(say(mean(curve, edge(quarter), edge(quarter + 1)))));
        }
        cells.push(Cell::number(say(mean(curve, 0.0, curve.length_s))));
        cells.push(Cell::number((last.1)(index)));
        sheet.rows.push(cells);
    }
    sheet
}

/// The mean of a curve between two instants; nothing after its end.
fn mean(curve: &Curve, from_s: f64, to_s: f64) -> f64 {
    let parts = curve.means.iter().enumerate().map(|(index, mean)| {
        let begin = index as f64 * curve.width_s;
        let end = (begin + curve.width_s).min(curve.length_s);
        mean * (end.min(to_s) - begin.max(from_s)).max(0.0)
    });
    let sum: f64 = parts.sum();
    if to_s > from_s { sum / (to_s - from_s) } else { 0.0 }
}

fn in_use(page: &Page<'_>) -> String {
    let devices = page.devices.len().max(1) as f64;
    let share = |curve: Curve| Curve {
        means: curve.means.iter().map(|mean| mean / 10.0 / devices).collect(),
        ..curve
    };
    let curves: Vec<Curve> =
        page.runs.iter().map(|run| share(run.course.curve(run.course.in_use()))).collect();
    let say = |value: f64| format!("{value:.0}%");
    let told = |index: usize| {
        let curve: &Curve = &curves[index];
        format!(
            "{} on average over {}",
            percent(mean(curve, 0.0, curve.length_s) / 100.0),
            duration(curve.length_s)
        )
    };
    let marks = [0.0, 25.0, 50.0, 75.0, 100.0];
    let content = levels(page, "in-use", "Devices in use", &curves, &marks, &say, &told);
    let peak = |index: usize| percent(page.runs[index].course.in_use().peak() as f64 / 1e3 / devices);
    let sheet = quarters(page, &curves, ("highest", &peak), &|value| decimal(value, 1) + "%");
    let about = format!(
        "Share of the {} that work, over the time since the first submission.",
        counted(page.devices.len() as u64, "device")
    );
    section("use", "Devices in use", &about, &(content + &folded("Devices in use, in numbers", &sheet)))
}

fn waiting(page: &Page<'_>) -> String {
    let curves: Vec<Curve> = page.runs.iter().map(|run| run.course.curve(run.course.waiting())).collect();
    let top = curves.iter().flat_map(|curve| &curve.means).copied().fold(0.0, f64::max);
    let marks = axis::levels(top);
    let say = |value: f64| thousands(value as u64);
    let told = |index: usize| {
        let (curve, peak) = (&curves[index], page.runs[index].course.waiting().peak());
        format!("{} on average, {} at most", decimal(mean(curve, 0.0, curve.length_s), 1), thousands(peak))
    };
    let content = levels(page, "waiting", "Pending for devices", &curves, &marks, &say, &told);
    let peak = |index: usize| thousands(page.runs[index].course.waiting().peak());
    let sheet = quarters(page, &curves, ("highest", &peak), &|value| decimal(value, 1));
    let about =
        "How many gangs, tasks and replicas could have run and waited for devices, over the same time.";
    section("waiting", "Pending for devices", about, &(content + &folded("Pending, in numbers", &sheet)))
}

fn tenants(page: &Page<'_>) -> Option<String> {
    let ranking = shares::ranking(page.runs.iter().map(|run| run.course));
    let names = shares::names(&ranking);
    if names.is_empty() {
        return None;
    }
    let length = |run: &Run<'_>| run.course.curve(run.course.in_use()).length_s;
    let length_s = page.runs.iter().map(length).fold(0.0, f64::max);
    let pictures = page.runs.iter().enumerate().map(|(index, run)| {
        let used = run.course.in_use().total().max(1) as f64;
        let told: Vec<String> = run
            .course
            .tenants()
            .take(12)
            .map(|(name, series)| format!("{name} {}", percent(series.total() as f64 / used)))
            .collect();
        let picture = Picture {
            id: format!("tenants-{index}"),
            heading: Some(run.policy),
            title: format!("Shares of the tenants under {}", run.policy),
            description: format!("Of the time that devices were in use: {}.", told.join(", ")),
            sizes: sizes(page.runs.len()),
        };
        let layers = shares::Layers {
            layers: shares::layers(run.course, &names),
            length_s,
            devices: page.devices.len() as f64,
        };
        picture.html(|size| shares::draw(size, &layers))
    });
    let content = legend(names.iter().copied(), "f") + &grid(page.runs.len(), pictures);
    let about = "Devices in use by whose work it is, the tenant with the most at the bottom; the order is that of the list.";
    Some(section("tenants", "Shares of the tenants", about, &(content + &share_table(page, &ranking))))
}

/// Device-hours of each tenant under each policy. Only the first hundred: a page is no database.
fn share_table(page: &Page<'_>, ranking: &[(&str, u128)]) -> String {
    let titles = ["tenant"].into_iter().chain(page.runs.iter().map(|run| run.policy));
    let mut sheet = Sheet::titled(titles);
    for (name, _) in ranking.iter().take(100) {
        let mut cells = vec![Cell::words(*name)];
        for run in &page.runs {
            let total =
                run.course.tenants().find(|(tenant, _)| tenant == name).map_or(0, |(_, used)| used.total());
            let share = total as f64 / run.course.in_use().total().max(1) as f64;
            cells.push(Cell::number(format!("{} h, {}", decimal(total as f64 / 3.6e15, 1), percent(share))));
        }
        sheet.rows.push(cells);
    }
    let caption = match ranking.len() {
        ..=100 => "Device-hours, and share of all that was used".into(),
        all => format!("Device-hours, and share of all that was used; the first 100 of {all} tenants"),
    };
    sheet.html(&caption)
}

fn who_was_where(page: &Page<'_>) -> String {
    let all: Result<Vec<(&Run<'_>, &[Stay])>, TooMany> =
        page.runs.iter().map(|run| run.course.stays().map(|stays| (run, stays))).collect();
    let title = "Who was where";
    let all = match all {
        Err(why) => return section("where", title, &left_out(why), ""),
        Ok(all) if all.iter().all(|(_, stays)| stays.is_empty()) => {
            return section("where", title, "Nothing ran, so there is nothing to draw.", "");
        }
        Ok(all) => all,
    };
    let ranking = shares::ranking(page.runs.iter().map(|run| run.course));
    let names = shares::names(&ranking);
    let length = |run: &Run<'_>| (run.course.end() - run.course.start()).as_seconds();
    let length_s = page.runs.iter().map(length).fold(0.0, f64::max);
    let mut content = String::new();
    if names.len() > 1 {
        content += &legend(names.iter().copied(), "f");
    }
    for (index, (run, stays)) in all.iter().enumerate() {
        // One tenant alone would be one colour: then jobs are told apart instead.
        let shade = |stay: &Stay| match names.len() {
            ..=1 => stay.allocation.ask.job.index(),
            many => {
                let tenant = run.job(stay.allocation.ask.job).1;
                names.iter().position(|name| *name == tenant).unwrap_or(many - 1)
            }
        };
        let interrupted =
            stays.iter().filter(|stay| stay.outcome == Some(consort_types::Outcome::Stopped)).count();
        let heading = format!(
            "{}: {} interruptions",
            run.policy,
            if interrupted == 0 { "no".into() } else { thousands(interrupted as u64) }
        );
        let heading = if interrupted == 1 { format!("{}: 1 interruption", run.policy) } else { heading };
        let picture = Picture {
            id: format!("where-{index}"),
            heading: Some(&heading),
            title: format!("Jobs by device under {}", run.policy),
            description: format!(
                "One row for each of {}, one bar for each time a job ran there.",
                counted(page.devices.len() as u64, "device")
            ),
            sizes: sizes(1),
        };
        content += &picture.html(|size| gantt::draw(size, page, run, stays, length_s, &shade));
        content += &folded(&format!("Jobs under {}, in numbers", run.policy), &job_table(run));
    }
    let about = match names.len() {
        ..=1 => "One row for each device, one bar for each time a job ran there; point at a bar to read it.",
        _ => {
            "One row for each device, one bar for each time a job ran there, in the colour of its tenant; point at a bar to read it."
        }
    };
    section("where", title, about, &content)
}

/// Why there is no picture of who was where.
fn left_out(why: TooMany) -> String {
    let why = match why {
        TooMany::Devices(devices) => {
            format!(
                "this cluster has {} devices, and the chart shows up to {MOST_DEVICES}",
                thousands(devices)
            )
        }
        TooMany::Jobs => format!("there are more than {MOST_JOBS} jobs"),
        TooMany::Stays => {
            format!("jobs started and stopped more than {} times", thousands(MOST_STAYS as u64))
        }
    };
    format!("Left out, because {why}. A smaller run has it; jobs.csv has the times of every job.")
}

fn job_table(run: &Run<'_>) -> Sheet {
    let mut sheet =
        Sheet::titled(["job", "tenant", "submitted", "started", "ended", "waited", "restarts", "end"]);
    let start = run.course.start();
    let mut records: Vec<_> = run.outcome.records.iter().collect();
    records.sort_by_key(|record| record.job);
    for record in records {
        let (job, tenant) = run.job(record.job);
        let at = |time: consort_types::Time| Cell::number(duration((time - start).as_seconds()));
        sheet.rows.push(vec![
            Cell::words(job),
            Cell::words(tenant),
            at(record.submitted),
            record.started.map_or(Cell::number("-"), at),
            at(record.ended),
            Cell::number(duration(record.waited.as_seconds())),
            Cell::number(record.restarts.to_string()),
            Cell::words(if record.succeeded { "done" } else { "failed" }),
        ]);
    }
    sheet
}
