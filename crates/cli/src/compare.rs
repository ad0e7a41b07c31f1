//! `consort compare`: the same inputs under several policies. Without inputs it makes some up, and says how to make
//! the same ones again.

use crate::circumstances::Circumstances;
use crate::failure::Failure;
use crate::jobs_csv::JobsCsv;
use crate::numbers::{counted, decimal, duration, percent, thousands};
use crate::progress::Progress;
use crate::screen::{Screen, json, print, print_json};
use crate::simulate::{Trial, stem};
use crate::table::{Best, Table};
use crate::{figures, files, inputs, lost, names, page, simulate};
use consort_sched::policy::{Entry, Registry};
use consort_sim::workload::generate::{Recipe, demo_cluster, generate};
use consort_sim::workload::{Cluster, Workload, limits};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  consort compare
  consort compare --seed 2 --jobs 5000 --policy fifo,shortest,las
  consort compare --cluster cluster.yaml
  consort compare --cluster cluster.yaml --workload jobs.yaml --report out

The last one writes a page with charts, out/report.html: one file that needs
no network.

Without --workload a workload is generated; without --cluster, for a cluster of
24 nodes. `consort simulate --help` shows what these files look like.";

/// Run the same workload under several policies, side by side
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Cluster file (.yaml or .csv, also .gz)
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// Workload: a list of jobs (.yaml or .csv, also .gz)
    #[arg(long, value_name = "FILE", requires = "cluster", conflicts_with = "jobs")]
    workload: Option<PathBuf>,
    /// Policies to compare, separated by commas [default: all]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    policy: Vec<String>,
    /// Seed for the generated workload and everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = crate::numbers::seed,
        allow_hyphen_values = true)]
    seed: u64,
    /// Number of jobs to generate [default: 1000]
    #[arg(long, value_name = "N", value_parser = number_of_jobs, allow_hyphen_values = true)]
    jobs: Option<u32>,
    /// Also write a report to this folder: report.html with charts, report.md, report.json and jobs.csv
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    circumstances: Circumstances,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Comparison {
    /// How to make the workload again, if it was made up.
    generated: Option<Generated>,
    rows: Vec<figures::Run>,
}

#[derive(Serialize)]
struct Generated {
    jobs: u64,
    seed: u64,
}

/// The command.
pub fn run(args: &Args, policies: &Registry) -> Result<(), Failure> {
    let entries = chosen(policies, &args.policy)?;
    let cluster = match &args.cluster {
        Some(path) => inputs::cluster(path)?,
        None => demo_cluster(),
    };
    let workload = match (&args.workload, &args.cluster) {
        (Some(path), Some(declared_in)) => inputs::workload(path, declared_in, &cluster)?,
        _ => generate(&recipe(args), &cluster),
    };
    if let Some(folder) = &args.report {
        files::folder(folder)?;
    }
    let screen = Screen::here();
    let headline = headline(args, &cluster, &workload);
    if !args.json {
        let lines: String = headline.lines().map(|line| screen.prose(line)).collect();
        print(&(lines + "\n"))?;
    }
    let case = args.workload.as_ref().map_or("generated".into(), |path| stem(path));
    let mut jobs = args.report.as_ref().map(|_| JobsCsv::new());
    let mut trials = vec![];
    {
        let progress = Progress::start();
        for (index, entry) in entries.iter().enumerate() {
            progress.of(index + 1, entries.len());
            let with_course = args.report.is_some();
            let trial = Trial::run(
                &args.circumstances,
                &cluster,
                &workload,
                entry,
                args.seed,
                &progress,
                with_course,
            )?;
            if let Some(jobs) = &mut jobs {
                trial.list_jobs(&case, &workload, jobs);
            }
            trials.push(trial);
        }
    }
    let generated = args
        .workload
        .is_none()
        .then_some(Generated { jobs: workload.submissions.len() as u64, seed: args.seed });
    let rows = trials.iter().map(|trial| figures::Run::of(&trial.report)).collect();
    let comparison = Comparison { generated, rows };
    let table = table(&trials);
    let lost = come_to_nothing(&trials, &workload);
    if let (Some(folder), Some(jobs)) = (&args.report, jobs) {
        let text =
            format!("# Policies side by side\n\n{headline}\n\n{}{}", table.markdown(), lost_in_file(&lost));
        files::replace(&folder.join("report.md"), text.as_bytes())?;
        files::replace(&folder.join("report.json"), (json(&comparison) + "\n").as_bytes())?;
        files::replace(&folder.join("jobs.csv"), &jobs.bytes())?;
        let subject = subject(args, &case, &entries);
        let html = page::html(&subject, &cluster, &workload, &trials, table.sheet(), lost.clone());
        files::replace(&folder.join(page::FILE), html.as_bytes())?;
    }
    // Refusals are the same under every policy; what gets stuck is not.
    note_stuck(&trials);
    if args.json {
        trials.iter().take(1).for_each(Trial::note_refusals); // otherwise the table below has them
        return print_json(&comparison);
    }
    let mut text = table.show(&screen) + "\n";
    if !lost.is_empty() {
        text += &(lost_table(["", ""], screen.width, &lost).show(&screen) + "\n");
    }
    print(&(text + &ending(args, &screen, &table, &trials)))
}

/// The policies in the order in which they were named, each once.
fn chosen(policies: &Registry, wanted: &[String]) -> Result<Vec<Entry>, Failure> {
    if wanted.is_empty() {
        return Ok(policies.entries().to_vec());
    }
    let mut entries: Vec<Entry> = vec![];
    for name in wanted {
        let entry = names::policy(policies, name.trim())?;
        if !entries.iter().any(|known| known.name == entry.name) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

fn number_of_jobs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if (1..=limits::JOBS as u32).contains(&number) => Ok(number),
        _ => Err("expected a whole number from 1 to 5,000,000".into()),
    }
}

fn recipe(args: &Args) -> Recipe {
    let plain = Recipe::default();
    Recipe { seed: args.seed, jobs: args.jobs.unwrap_or(plain.jobs), ..plain }
}

/// What is compared, in a line or two.
fn headline(args: &Args, cluster: &Cluster, workload: &Workload) -> String {
    let jobs = counted(workload.submissions.len() as u64, "job");
    let devices = format!(
        "{} ({}, {})",
        args.cluster.as_ref().map_or("a demonstration cluster".into(), |path| path.display().to_string()),
        counted(cluster.nodes.len() as u64, "node"),
        counted(cluster.devices(), "device")
    );
    match &args.workload {
        Some(path) => format!("{jobs} of {} on {devices}.", path.display()),
        None => {
            let on = args.cluster.as_ref().map(|path| format!(" --cluster {}", path.display()));
            let number = workload.submissions.len();
            format!(
                "{jobs}, generated, on {devices}.\nTo repeat: consort compare{} --jobs {number} --seed {}",
                on.unwrap_or_default(),
                args.seed
            )
        }
    }
}

/// What the page is about.
fn subject<'a>(args: &'a Args, case: &str, entries: &[Entry]) -> page::Subject<'a> {
    let display = |path: &PathBuf| path.display().to_string();
    page::Subject {
        title: match (&args.workload, entries) {
            (Some(_), [only]) => format!("{case} under {}", only.name),
            (None, [only]) => format!("A generated workload under {}", only.name),
            (Some(_), _) => format!("{case} under {} policies", entries.len()),
            (None, _) => format!("A generated workload under {} policies", entries.len()),
        },
        cluster: args.cluster.as_ref().map_or("a demonstration cluster".into(), display),
        workload: args.workload.as_ref().map_or("generated".into(), display),
        seed: args.seed,
        circumstances: &args.circumstances,
    }
}

fn table(trials: &[Trial]) -> Table {
    let reports: Vec<_> = trials.iter().map(|trial| &trial.report).collect();
    macro_rules! values {
        ($field:ident) => {
            &reports.iter().map(|report| report.$field as f64).collect::<Vec<f64>>()
        };
    }
    macro_rules! over_jobs {
        ($field:ident) => {
            &reports.iter().map(|report| figures::over_jobs(report, report.$field)).collect::<Vec<f64>>()
        };
    }
    let whole = |value: f64| thousands(value as u64);
    let mut table = Table::default();
    table.text("policy", 0, reports.iter().map(|report| report.policy.clone()));
    table.contest("avg JCT", 0, Best::Least, over_jobs!(avg_jct_s), duration);
    table.contest("p50 JCT", 7, Best::Least, over_jobs!(p50_jct_s), duration);
    table.contest("p99 JCT", 2, Best::Least, over_jobs!(p99_jct_s), duration);
    table.contest("avg queue", 1, Best::Least, over_jobs!(avg_queue_s), duration);
    table.contest("p99 queue", 4, Best::Least, over_jobs!(p99_queue_s), duration);
    table.contest("makespan", 5, Best::Least, values!(makespan_s), duration);
    table.contest("in use", 3, Best::Most, values!(utilization), percent);
    table.contest("preempted", 3, Best::Least, values!(preemptions), whole);
    if reports.iter().any(|report| report.deadlines_met_pct.is_some()) {
        let met: Vec<f64> = reports.iter().map(|report| report.deadlines_met_pct.unwrap_or(0.0)).collect();
        table.contest("deadlines", 4, Best::Most, &met, |met| decimal(met, 1) + "%");
    }
    table.contest("finished", 8, Best::Most, values!(finished), whole);
    table
}

/// Jobs that came to nothing. Refusals are the same under every policy; what never ends need not be.
fn come_to_nothing(trials: &[Trial], workload: &Workload) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = vec![];
    lines.extend(
        trials
            .iter()
            .take(1)
            .flat_map(|trial| lost::refusals(&trial.outcome))
            .map(|(name, why)| (name.into(), why)),
    );
    let named: Vec<Option<String>> =
        trials.iter().map(|trial| lost::never_ended(&trial.outcome, workload)).collect();
    match named.first() {
        Some(first) if named.iter().all(|other| other == first) => {
            lines.extend(first.clone().map(|names| ("never ended".into(), names)));
        }
        _ => lines.extend(
            trials
                .iter()
                .zip(named)
                .filter_map(|(trial, names)| Some((format!("never ended, {}", trial.report.policy), names?))),
        ),
    }
    lines
}

fn lost_table(titles: [&'static str; 2], width: usize, lost: &[(String, String)]) -> Table {
    let pairs: Vec<(&str, String)> = lost.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    Table::pairs(titles, width, &pairs)
}

fn lost_in_file(lost: &[(String, String)]) -> String {
    match lost {
        [] => String::new(),
        lost => format!("\n{}", lost_table(["jobs", "which"], usize::MAX, lost).markdown()),
    }
}

/// One line about jobs that never ended, however many policies left some behind.
fn note_stuck(trials: &[Trial]) {
    let stuck: Vec<&Trial> = trials.iter().filter(|trial| trial.stuck() > 0).collect();
    let alike =
        stuck.len() == trials.len() && stuck.windows(2).all(|pair| pair[0].stuck() == pair[1].stuck());
    match stuck[..] {
        [] => {}
        [first, ..] if alike => simulate::note_stuck(first.stuck(), "every policy"),
        [..] => {
            let each =
                stuck.iter().map(|trial| format!("{} ({})", trial.report.policy, thousands(trial.stuck())));
            let most = stuck.iter().map(|trial| trial.stuck()).max().unwrap_or(0);
            simulate::note_stuck(most, &each.collect::<Vec<_>>().join(", "));
        }
    }
}

/// What it means, and what to try next.
fn ending(args: &Args, screen: &Screen, table: &Table, trials: &[Trial]) -> String {
    let best = match (table.has_best(), screen.colours) {
        (false, _) => "",
        (true, true) => "Green: best of its column. ",
        (true, false) => "*: best of its column. ",
    };
    let deadlines = if table.shows("deadlines", screen) { " Deadlines: share met." } else { "" };
    let mut text = screen.prose(&format!("{best}JCT: time from submission to end.{deadlines}"));
    if screen.is_terminal {
        let cpu: f64 = trials.iter().map(|trial| trial.report.cpu_s).sum();
        let events: u64 = trials.iter().map(|trial| trial.report.events).sum();
        let cost = format!("{} in {} s of CPU time.\n", counted(events, "event"), decimal(cpu, 2));
        text += &screen.dim(&cost);
    }
    if let Some(folder) = &args.report {
        text += &page::written(folder);
    }
    let next = match (&args.workload, &args.report) {
        (None, _) => [
            ("consort compare --cluster FILE --workload FILE", "your own jobs"),
            ("consort simulate --help", "what these files look like"),
        ],
        (Some(_), None) => [
            ("consort compare ... --report DIR", "a page with charts, and the times of every job"),
            ("consort simulate ... --policy NAME", "one of them in detail"),
        ],
        (Some(_), Some(_)) => [
            ("consort compare ... --start-delay 30s", "with starts that take time"),
            ("consort simulate ... --policy NAME", "one of them in detail"),
        ],
    };
    text += "\nNext:\n";
    for (command, why) in next {
        text += &format!("  {}{}  {why}\n", screen.bold(command), " ".repeat(46 - command.len().min(46)));
    }
    text
}
