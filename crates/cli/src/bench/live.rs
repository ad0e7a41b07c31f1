//! `consort bench live`: the daemon itself, as shipped, on this machine.
//!
//! Every case starts this very program as a daemon in a folder of its own, talks to it over loopback and ends it. The
//! machine's own wait for the disk is printed beside what depends on it.

mod daemon;
mod load;
mod past;
mod readers;

use crate::failure::Failure;
use crate::numbers::decimal;
use crate::progress::Progress;
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use daemon::Daemon;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// What it is called.
pub const NAME: &str = "live";
/// What it is.
pub const ABOUT: &str =
    "the daemon on this machine: start, submissions, whole lives, memory, followers, readers";
/// Its cases.
pub const CASES: [&str; 8] =
    ["start-empty", "start-ended", "submit", "life", "memory-waiting", "memory-ended", "streams", "readers"];

/// One figure of one case, and what it must hold.
struct Figure {
    case: &'static str,
    metric: &'static str,
    value: f64,
    bar: Option<Bar>,
}

#[derive(Clone, Copy)]
enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

impl Bar {
    fn is_met(self, value: f64) -> bool {
        match self {
            Bar::AtMost(most) => value <= most,
            Bar::AtLeast(least) => value >= least,
        }
    }

    fn shown(self) -> String {
        match self {
            Bar::AtMost(most) => format!("at most {}", decimal(most, 0)),
            Bar::AtLeast(least) => format!("at least {}", decimal(least, 0)),
        }
    }
}

type Figures = Vec<Figure>;

fn told(case: &'static str, metric: &'static str, value: f64) -> Figure {
    Figure { case, metric, value, bar: None }
}

fn most(case: &'static str, metric: &'static str, value: f64, bar: f64) -> Figure {
    Figure { case, metric, value, bar: Some(Bar::AtMost(bar)) }
}

fn least(case: &'static str, metric: &'static str, value: f64, bar: f64) -> Figure {
    Figure { case, metric, value, bar: Some(Bar::AtLeast(bar)) }
}

/// The command.
pub fn run(cases: &[String], check: bool, as_json: bool) -> Result<(), Failure> {
    let cases: Vec<&str> = match cases {
        [] => CASES.to_vec(),
        some => some.iter().map(String::as_str).collect(),
    };
    let mut figures: Figures = vec![];
    {
        let progress = Progress::counting("cases");
        for (done, case) in cases.iter().enumerate() {
            progress.at(case, done as u64, cases.len() as u64);
            figures.extend(one(case)?);
        }
    }
    match as_json {
        true => print_json(&json(&figures))?,
        false => print(&shown(&figures))?,
    }
    let missed =
        figures.iter().filter(|figure| figure.bar.is_some_and(|bar| !bar.is_met(figure.value))).count();
    match check && missed > 0 {
        true => Err(Failure::Failed(format!("{missed} of the figures miss their bar; those are marked"))),
        false => Ok(()),
    }
}

fn one(case: &str) -> Result<Figures, Failure> {
    match case {
        "start-empty" => start_empty(),
        "start-ended" => start_ended(),
        "submit" => submit(),
        "life" => life(),
        "memory-waiting" => memory_waiting(),
        "memory-ended" => memory_ended(),
        "streams" => streams(),
        "readers" => readers(),
        _ => Err(crate::names::unknown("case of live", case, CASES)),
    }
}

fn start_empty() -> Result<Figures, Failure> {
    let daemon = Daemon::start(16)?;
    Ok(vec![most("start-empty", "ready_s", daemon.ready.as_secs_f64(), 1.0)])
}

fn start_ended() -> Result<Figures, Failure> {
    let place = daemon::Place::new(16)?;
    let events = past::make(&place.data(), 100_000)?;
    let daemon = Daemon::start_in(place)?;
    Ok(vec![
        most("start-ended", "ready_s", daemon.ready.as_secs_f64(), 5.0),
        told("start-ended", "events", events as f64),
    ])
}

fn submit() -> Result<Figures, Failure> {
    let daemon = Daemon::start(16)?;
    let fsync = daemon.place.fsync_ms()?;
    daemon.occupy()?;
    let result = load::submit(&daemon, 64, 40_000, daemon::WAITS)?;
    Ok(vec![
        least("submit", "per_s", result.per_s(), 5_000.0),
        told("submit", "p50_ms", result.at(0.5)),
        most("submit", "p99_ms", result.at(0.99), 50.0),
        told("submit", "fsync_p50_ms", fsync),
        told("submit", "daemon_cpu_s", daemon.cpu_s()),
    ])
}

fn life() -> Result<Figures, Failure> {
    const JOBS: u64 = 2_000;
    let daemon = Daemon::start(16)?;
    let began = Instant::now();
    load::submit(&daemon, 16, JOBS, daemon::QUICK)?;
    daemon.until_ended(JOBS)?;
    let took = began.elapsed().as_secs_f64();
    Ok(vec![
        least("life", "per_s", JOBS as f64 / took, 300.0),
        told("life", "daemon_cpu_s", daemon.cpu_s()),
        told("life", "failed", daemon.count_failed()? as f64),
    ])
}

fn memory_waiting() -> Result<Figures, Failure> {
    let daemon = Daemon::start(16)?;
    daemon.occupy()?;
    load::submit(&daemon, 64, 100_000, daemon::WAITS)?;
    Ok(vec![most("memory-waiting", "rss_mib", daemon.rss_mib(), 300.0)])
}

fn memory_ended() -> Result<Figures, Failure> {
    let place = daemon::Place::new(16)?;
    past::make(&place.data(), 100_000)?;
    let daemon = Daemon::start_in(place)?;
    daemon.get("/v1/jobs?all=true&limit=1000")?;
    Ok(vec![most("memory-ended", "rss_mib", daemon.rss_mib(), 100.0)])
}

fn streams() -> Result<Figures, Failure> {
    const STREAMS: usize = 1_000;
    const JOBS: u64 = 2_000;
    let daemon = Daemon::start(16)?;
    daemon.occupy()?;
    let result = load::followed(&daemon, STREAMS, JOBS)?;
    Ok(vec![
        least("streams", "in_order", result.whole as f64, STREAMS as f64),
        most("streams", "submit_p99_ms", result.submitted.at(0.99), 100.0),
        told("streams", "submit_per_s", result.submitted.per_s()),
        told("streams", "events_each", result.events as f64),
    ])
}

fn readers() -> Result<Figures, Failure> {
    let daemon = Daemon::start(16)?;
    daemon.occupy()?;
    let found = readers::measure(&daemon, 50_000)?;
    let (alone, beside) = (found.alone.at(0.99), found.beside.at(0.99));
    Ok(vec![
        told("readers", "reads_per_s", found.reads_per_s),
        told("readers", "jobs_cpu_ms", found.cpu_ms[0]),
        told("readers", "status_cpu_ms", found.cpu_ms[1]),
        told("readers", "explain_cpu_ms", found.cpu_ms[2]),
        told("readers", "loop_delay_p99_ms_alone", found.delay_alone_ms),
        most("readers", "loop_delay_p99_ms_growth", found.delay_beside_ms - found.delay_alone_ms, 5.0),
        told("readers", "submit_p99_ms_alone", alone),
        most("readers", "submit_p99_ratio", beside / alone, 2.0),
    ])
}

#[derive(Serialize)]
struct Results {
    scenario: &'static str,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    case: &'static str,
    policy: &'static str,
    seed: u64,
    metrics: BTreeMap<&'static str, f64>,
    anchor: Option<()>,
    misses: Vec<String>,
}

fn json(figures: &[Figure]) -> Results {
    let mut rows: Vec<Row> = vec![];
    for figure in figures {
        if rows.last().is_none_or(|row| row.case != figure.case) {
            let policy = consort_sched::stock::STANDARD;
            let (metrics, misses) = (BTreeMap::new(), vec![]);
            rows.push(Row { case: figure.case, policy, seed: 0, metrics, anchor: None, misses });
        }
        if let Some(row) = rows.last_mut() {
            row.metrics.insert(figure.metric, figure.value);
            if let Some(bar) = figure.bar.filter(|bar| !bar.is_met(figure.value)) {
                row.misses.push(format!("{} is {}, expected {}", figure.metric, figure.value, bar.shown()));
            }
        }
    }
    Results { scenario: NAME, rows }
}

fn shown(figures: &[Figure]) -> String {
    let screen = Screen::here();
    let mut table = Table::default();
    table.text("case", 0, figures.iter().map(|figure| figure.case.to_string()));
    table.text("figure", 0, figures.iter().map(|figure| figure.metric.to_string()));
    table.numbers("value", 0, figures.iter().map(|figure| decimal(figure.value, 2)));
    table.text("bar", 0, figures.iter().map(|figure| figure.bar.map_or(String::new(), Bar::shown)));
    let verdict = |figure: &Figure| match figure.bar.map(|bar| bar.is_met(figure.value)) {
        None => "",
        Some(true) => "met",
        Some(false) => "missed",
    };
    table.text("", 0, figures.iter().map(|figure| verdict(figure).to_string()));
    format!("{}: {ABOUT}\n\n{}", screen.bold(NAME), table.show(&screen))
}
