//! Benchmarks of the scheduler in a simulated world. For people, runs that differ only in their seed become one line,
//! their mean.

use super::outcome::{self, Beside, Metrics, Outcome};
use super::{Args, data};
use crate::failure::Failure;
use crate::figures::{Figures, over_jobs, state_hash};
use crate::jobs_csv::JobsCsv;
use crate::numbers::{decimal, thousands};
use crate::progress::Progress;
use crate::table::Table;
use crate::{inputs, names};
use consort_sched::Registry;
use consort_sim::bench::{self, Anchor, BenchError, Request, Row, Scenario};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Runs it.
pub fn run(args: &Args, policies: &Registry, scenario: &'static Scenario) -> Result<Outcome, Failure> {
    let name = scenario.name;
    let all_cases: Vec<&str> = scenario.cases.iter().chain(scenario.more_cases).copied().collect();
    known(&format!("case of {name}"), &args.cases, &all_cases)?;
    if let Some(wrong) = args.policies.iter().find(|policy| !scenario.knows(policies, policy)) {
        return Err(names::unknown(&format!("policy in {name}"), wrong, scenario.names(policies)));
    }
    let data = if scenario.needs_data || args.data.is_some() { data(args)?.into() } else { PathBuf::new() };
    let request = Request {
        scenario: name.into(),
        cases: args.cases.clone(),
        policies: args.policies.clone(),
        known: policies.clone(),
        seeds: args.seeds.clone(),
        data,
    };
    let progress = Progress::start();
    let rows = bench::run(&request, &mut |what, done, of| progress.at(what, done, of)).map_err(failure)?;
    let jobs = args.jobs_csv.is_some().then(|| jobs(&rows));
    let lines = rows.iter().map(line).collect();
    Ok(Outcome { scenario: name, about: scenario.about, table: table(&rows), rows: lines, jobs })
}

fn known(what: &str, wanted: &[String], known: &[&str]) -> Result<(), Failure> {
    match wanted.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) if !known.is_empty() => Err(names::unknown(what, name, known.iter().copied())),
        _ => Ok(()),
    }
}

fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Unknown(sentence) => Failure::Request(sentence),
        BenchError::Data(error) => inputs::malformed(error),
        BenchError::Broken(sentence) => Failure::Failed(format!("the benchmark broke: {sentence}")),
    }
}

fn jobs(rows: &[Row]) -> Vec<u8> {
    let mut jobs = JobsCsv::new();
    for row in rows {
        row.jobs.iter().for_each(|(job, record)| jobs.add(&row.case, &row.policy, job, record));
    }
    jobs.bytes()
}

/// A row for scripts.
fn line(row: &Row) -> outcome::Line {
    let beside = |anchor: &Anchor| Beside {
        who: anchor.who.clone(),
        metric: anchor.metric.clone(),
        value: anchor.value,
    };
    outcome::Line {
        case: row.case.clone(),
        policy: row.policy.clone(),
        seed: row.seed,
        metrics: Metrics { figures: Some(Figures::of(&row.report)), more: more(row) },
        anchor: row.anchor.as_ref().map(beside),
        checked: row.anchor.is_some() || row.is_barred || !row.misses.is_empty(),
        misses: row.misses.clone(),
    }
}

/// Figures that only this benchmark has; what a report has too is told there.
fn more(row: &Row) -> BTreeMap<&'static str, f64> {
    let own = |name: &str| Figures::of(&row.report).get(name).is_none();
    row.more.iter().copied().filter(|(name, _)| own(name)).collect()
}

/// One line: the first of some runs, and how many there are.
struct Line<'a> {
    row: &'a Row,
    runs: &'a [Row],
}

impl Line<'_> {
    fn mean(&self, figure: impl Fn(&Row) -> Option<f64>) -> f64 {
        let figures: Vec<f64> = self.runs.iter().filter_map(figure).collect();
        if figures.is_empty() { f64::NAN } else { figures.iter().sum::<f64>() / figures.len() as f64 }
    }

    fn figure(&self, name: &str) -> f64 {
        self.mean(|row| row.figure(name).or_else(|| Figures::of(&row.report).get(name)))
    }

    /// Ours to theirs, in the figure that they published.
    fn ratio(&self) -> Option<String> {
        let anchor = self.row.anchor.as_ref()?;
        let ours = self.figure(&anchor.metric);
        (!ours.is_nan()).then(|| decimal(ours / anchor.value, 3))
    }
}

/// The table. Seconds, not hours and minutes: published figures come in seconds.
fn table(rows: &[Row]) -> Table {
    let runs = rows.chunk_by(|one, next| (&one.case, &one.policy) == (&next.case, &next.policy));
    let lines: Vec<Line<'_>> = runs.map(|runs| Line { row: &runs[0], runs }).collect();
    let each = |cell: &dyn Fn(&Line<'_>) -> String| lines.iter().map(cell).collect::<Vec<_>>();
    let mut table = Table::default();
    table.text("case", 0, each(&|line| line.row.case.clone()));
    table.text("policy", 0, each(&|line| line.row.policy.clone()));
    if lines.iter().any(|line| line.runs.len() > 1) {
        table.numbers("seeds", 3, each(&|line| line.runs.len().to_string()));
    }
    let jobs = |line: &Line<'_>| line.mean(|row| Some(row.report.jobs as f64)).round() as u64;
    table.numbers("jobs", 4, each(&|line| thousands(jobs(line))));
    match rows.iter().find(|row| !row.more.is_empty()) {
        Some(row) => own_figures(&mut table, row, &each),
        None => usual_figures(&mut table, &each),
    }
    if rows.iter().any(|row| row.anchor.is_some()) {
        table.text("anchor", 2, each(&|line| line.row.anchor.as_ref().map(named).unwrap_or_default()));
        table.numbers("ratio", 1, each(&|line| line.ratio().unwrap_or_default()));
    }
    table
}

type Each<'a> = dyn Fn(&dyn Fn(&Line<'_>) -> String) -> Vec<String> + 'a;

/// Figures that only this benchmark has.
fn own_figures(table: &mut Table, row: &Row, each: &Each<'_>) {
    for &(name, _) in &row.more {
        let shown = |value: f64| decimal(value, if value < 100.0 { 2 } else { 0 });
        table.numbers(name, 0, each(&|line| shown(line.figure(name))));
    }
    if row.anchor.is_some() {
        table.numbers("CPU s", 5, each(&|line| decimal(line.mean(|row| Some(row.report.cpu_s)), 2)));
    }
}

fn usual_figures(table: &mut Table, each: &Each<'_>) {
    let over = |line: &Line<'_>, figure: f64| over_jobs(&line.row.report, figure);
    table.numbers("avg JCT s", 0, each(&|line| decimal(over(line, line.row.report.avg_jct_s), 2)));
    table.numbers("avg queue s", 2, each(&|line| decimal(over(line, line.row.report.avg_queue_s), 2)));
    table.numbers("p99 JCT s", 8, each(&|line| decimal(over(line, line.row.report.p99_jct_s), 0)));
    table.numbers("makespan s", 9, each(&|line| decimal(line.row.report.makespan_s, 0)));
    table.numbers("preempted", 6, each(&|line| thousands(line.row.report.preemptions)));
    table.numbers("plans", 4, each(&|line| thousands(line.row.report.plan_calls)));
    table.numbers("CPU s", 7, each(&|line| decimal(line.row.report.cpu_s, 2)));
    table.text("state", 5, each(&|line| state_hash(&line.row.report)[..8].to_string()));
}

/// `Helios 12,345.6`, and which figure it is when it is not the one people expect.
fn named(anchor: &Anchor) -> String {
    let metric = match anchor.metric.as_str() {
        "avg_jct_s" => String::new(),
        metric => format!(" {metric}"),
    };
    format!("{}{metric} {}", anchor.who, decimal(anchor.value, 2))
}
