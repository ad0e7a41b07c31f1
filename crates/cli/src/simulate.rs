//! `consort simulate`: one workload, one cluster, one policy.

use crate::circumstances::Circumstances;
use crate::failure::{Failure, note};
use crate::jobs_csv::JobsCsv;
use crate::numbers::{counted, decimal, duration, percent, thousands};
use crate::progress::Progress;
use crate::screen::{Screen, json, print, print_json};
use crate::table::Table;
use crate::{figures, files, inputs, lost, names, page};
use consort_sched::policy::{Entry, Registry};
use consort_sim::course::Course;
use consort_sim::report::Report;
use consort_sim::run::{self, Outcome};
use consort_sim::workload::{Cluster, Workload};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  consort simulate --cluster cluster.yaml --workload jobs.yaml --policy las
  consort simulate --cluster cluster.yaml --workload jobs.csv --policy fifo \\
      --json
  consort simulate --cluster cluster.yaml --workload jobs.yaml --policy las \\
      --start-delay 20s --failed-starts 0.05 --seed 7 --report out

The last one writes a page with charts, out/report.html: completion times,
devices in use, pending jobs, shares of tenants and, for a small run, which job
ran where. It is one file that needs no network.

cluster.yaml:
  nodes:
    - {name: 'n{}', count: 4, devices: {h200: 8}}
    - {name: 'm{}', count: 2, devices: {mi300x: 8}}

jobs.yaml (or jobs.csv, with the columns name,at,run,devices and others):
  - {name: a, at: 0s, devices: 8, kind: h200, run: 1h}
  - {name: b, at: 10m, devices: 2-8, kind: [h200, mi300x], run: 3h}
  - {name: c, at: 15m, devices: 1, share: 0.5, run: 20m, estimate: 30m}

The same files, options and seed give the same result on every machine; the
state hash is there to compare.";

/// Run one workload on one cluster under one policy
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Cluster file (.yaml or .csv, also .gz)
    #[arg(long, value_name = "FILE")]
    cluster: PathBuf,
    /// Workload: a list of jobs (.yaml or .csv, also .gz)
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    /// Scheduling policy; `consort policies` lists them and shows which is the default
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Seed for everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::numbers::seed,
        allow_hyphen_values = true)]
    seed: u64,
    /// Also write a report to this folder: report.html with charts, report.md, report.json and jobs.csv
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    circumstances: Circumstances,
}

/// The command.
pub fn run(args: &Args, policies: &Registry) -> Result<(), Failure> {
    let entry = match &args.policy {
        Some(name) => names::policy(policies, name)?,
        None => policies.standard().clone(),
    };
    args.circumstances.suits(&entry)?;
    let cluster = inputs::cluster(&args.cluster)?;
    let workload = inputs::workload(&args.workload, &args.cluster, &cluster)?;
    if let Some(folder) = &args.report {
        files::folder(folder)?;
    }
    let trial = {
        let progress = Progress::start();
        let with_course = args.report.is_some();
        Trial::run(&args.circumstances, &cluster, &workload, &entry, args.seed, &progress, with_course)?
    };
    let figures = figures::Run::of(&trial.report);
    let summary = summary(&trial, &entry, cluster.devices(), &workload);
    if let Some(folder) = &args.report {
        let mut jobs = JobsCsv::new();
        trial.list_jobs(&stem(&args.workload), &workload, &mut jobs);
        let title = format!("# {} under {}\n\n", stem(&args.workload), entry.name);
        let text = title + &Table::pairs(["figure", "value"], usize::MAX, &summary).markdown();
        files::replace(&folder.join("report.md"), text.as_bytes())?;
        files::replace(&folder.join("report.json"), (json(&figures) + "\n").as_bytes())?;
        files::replace(&folder.join("jobs.csv"), &jobs.bytes())?;
        let subject = page::Subject {
            title: format!("{} under {}", stem(&args.workload), entry.name),
            cluster: args.cluster.display().to_string(),
            workload: args.workload.display().to_string(),
            seed: args.seed,
            circumstances: &args.circumstances,
        };
        let figures = Table::pairs(["", ""], usize::MAX, &summary).sheet();
        let html = page::html(&subject, &cluster, &workload, std::slice::from_ref(&trial), figures, vec![]);
        files::replace(&folder.join(page::FILE), html.as_bytes())?;
    }
    let all_refused = trial.all_refused();
    if all_refused.is_none() && args.json {
        trial.note_refusals(); // otherwise the summary has them
    }
    if trial.stuck() > 0 {
        note_stuck(trial.stuck(), &entry.name);
    }
    let screen = Screen::here();
    match args.json {
        true => print_json(&figures)?,
        false => print(&Table::pairs(["", ""], screen.width, &summary).show(&screen))?,
    }
    if let (Some(folder), false) = (&args.report, args.json) {
        print(&page::written(folder))?;
    }
    all_refused.map_or(Ok(()), Err)
}

/// The name of a file without folder and extensions.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    plain.rsplit_once('.').map_or(plain, |(stem, _)| stem).to_string()
}

/// One run that came to its end.
pub struct Trial {
    /// The figures.
    pub report: Report,
    /// What it is made of.
    pub outcome: Outcome,
    /// What happened over time, if that was asked for.
    pub course: Option<Course>,
}

impl Trial {
    /// Runs it; `with_course` when there will be pictures of it.
    pub fn run(
        circumstances: &Circumstances,
        cluster: &Cluster,
        workload: &Workload,
        entry: &Entry,
        seed: u64,
        progress: &Progress,
        with_course: bool,
    ) -> Result<Self, Failure> {
        let setup = circumstances.setup(cluster, workload, entry, seed);
        let jobs = workload.submissions.len() as u64;
        progress.at(&entry.name, 0, jobs);
        let mut tell = |done| progress.at(&entry.name, done, jobs);
        let played = match with_course {
            true => run::run_with_course(setup, &mut tell).map(|(outcome, course)| (outcome, Some(course))),
            false => run::run(setup, &mut tell).map(|outcome| (outcome, None)),
        };
        let (outcome, course) = played
            .map_err(|broken| Failure::Failed(format!("the run under {} failed: {broken}", entry.name)))?;
        let runs = [(cluster.devices(), outcome)];
        let report = Report::of(&entry.name, seed, &runs);
        let [(_, outcome)] = runs;
        Ok(Self { report, outcome, course })
    }

    /// Adds its jobs to a table.
    pub fn list_jobs(&self, case: &str, workload: &Workload, jobs: &mut JobsCsv) {
        for record in &self.outcome.records {
            let submission = record.submission.and_then(|index| workload.submissions.get(index));
            let label = submission.map_or("", |submission| submission.label.as_str());
            jobs.add(case, &self.report.policy, label, record);
        }
        let ended = self.outcome.records.iter().filter_map(|record| record.submission);
        let there: BTreeSet<usize> = ended.chain(self.outcome.stuck_submissions.iter().copied()).collect();
        for (index, submission) in workload.submissions.iter().enumerate() {
            if !there.contains(&index) {
                jobs.add_refused(case, &self.report.policy, &submission.label);
            }
        }
    }

    /// There were jobs, and every one was refused: nothing was simulated.
    fn all_refused(&self) -> Option<Failure> {
        let refusal = self.outcome.refused.first()?;
        (self.report.refused == self.report.jobs).then(|| {
            let which = match self.report.jobs {
                1 => "the only job was refused".to_string(),
                number => format!("all {} jobs were refused, the first because", thousands(number)),
            };
            Failure::Failed(format!("{which}: {refusal}"))
        })
    }

    /// Jobs that were submitted and never ended.
    pub fn stuck(&self) -> u64 {
        self.outcome.stuck.len() as u64
    }

    /// Says on standard error how many jobs were refused, and why the first was.
    pub fn note_refusals(&self) {
        if let Some(refusal) = self.outcome.refused.first() {
            let which = match self.report.refused {
                1 => "1 job was refused".to_string(),
                number => format!("{} jobs were refused, the first because", thousands(number)),
            };
            note(&format!("consort: {which}: {refusal}"));
        }
    }
}

/// Says on standard error how many jobs never ended under a policy.
pub fn note_stuck(number: u64, policy: &str) {
    let were = if number == 1 { "job was" } else { "jobs were" };
    note(&format!(
        "consort: {} {were} left at the end under {policy}: services, or jobs that can never start; averages leave \
         them out",
        thousands(number)
    ));
}

/// The figures in words, one a line.
fn summary(trial: &Trial, entry: &Entry, devices: u64, workload: &Workload) -> Vec<(&'static str, String)> {
    let report = &trial.report;
    let spread = |parts: &[(&str, f64)]| {
        if report.over_jobs(0.0).is_none() {
            return "-".to_string();
        }
        let parts = parts.iter().map(|(what, seconds)| format!("{} {what}", duration(*seconds)));
        parts.collect::<Vec<_>>().join(", ")
    };
    let mut jobs = format!("{} submitted, {} finished", thousands(report.jobs), thousands(report.finished));
    let lost = [(report.failed, "failed"), (report.refused, "refused"), (trial.stuck(), "never ended")];
    for (number, what) in lost.into_iter().filter(|(number, _)| *number > 0) {
        jobs += &format!(", {} {what}", thousands(number));
    }
    let mut lines = vec![("policy", format!("{}: {}", entry.name, entry.about)), ("jobs", jobs)];
    lines.extend(lost::refusals(&trial.outcome));
    lines.extend(lost::never_ended(&trial.outcome, workload).map(|names| ("never ended", names)));
    lines.extend([
        (
            "completion time",
            spread(&[
                ("on average", report.avg_jct_s),
                ("median", report.p50_jct_s),
                ("99th percentile", report.p99_jct_s),
            ]),
        ),
        (
            "time in queue",
            spread(&[
                ("on average", report.avg_queue_s),
                ("99th percentile", report.p99_queue_s),
                ("99.9th", report.p999_queue_s),
            ]),
        ),
        ("makespan", duration(report.makespan_s)),
        (
            "devices",
            format!(
                "{} of {} in use, {} device-hours",
                percent(report.utilization),
                thousands(devices),
                decimal(report.device_hours, 1)
            ),
        ),
        (
            "interruptions",
            match report.restarts {
                0 => "none".into(),
                all if all == report.preemptions => format!("{}, all of them preemptions", thousands(all)),
                all => format!("{}, {} of them preemptions", thousands(all), thousands(report.preemptions)),
            },
        ),
    ]);
    if let Some(met) = report.deadlines_met_pct {
        lines.push(("deadlines met", decimal(met, 1) + "%"));
    }
    lines.push((
        "planning",
        format!(
            "{}, {} ms median, {} ms 99th percentile",
            counted(report.plan_calls, "plan"),
            decimal(report.plan_cpu_ms_p50, 3),
            decimal(report.plan_cpu_ms_p99, 3)
        ),
    ));
    let memory = report.peak_rss_mib.map(|mib| format!(", {} MiB of memory", decimal(mib, 0)));
    lines.push((
        "simulation",
        format!(
            "{} in {} s of CPU time{}",
            counted(report.events, "event"),
            decimal(report.cpu_s, 2),
            memory.unwrap_or_default()
        ),
    ));
    lines.push(("state hash", figures::state_hash(report)));
    lines
}
