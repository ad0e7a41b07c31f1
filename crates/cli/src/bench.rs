//! `consort bench`: public benchmarks beside what others measured on the same input.

mod live;
mod shown;

use crate::failure::Failure;
use crate::figures::Figures;
use crate::jobs_csv::JobsCsv;
use crate::numbers::{counted, thousands};
use crate::progress::Progress;
use crate::screen::{Screen, print, print_json};
use crate::{files, inputs, names};
use consort_sim::bench::{self, Anchor, BenchError, Request, Row, SCENARIOS, Scenario};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  consort bench                                        what there is
  consort bench jct-philly --data DIR                  all public cases
  consort bench jct-philly --case half --policy fifo --policy srtf --json
  consort bench jct-philly --check                     exit 1 if a bar is missed
  consort bench plan-scale --case 1000                 what a decision costs; needs no data
  consort bench all --markdown docs/benchmarks.md      everything, as a page
  consort bench live --case submit,life                the daemon itself, on this machine

The data is not part of Consort: name the folder with --data, or once and for
all in CONSORT_BENCH_DATA.";

/// Run a public benchmark and put the result beside published figures
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Which benchmark; without it, they are listed
    scenario: Option<String>,
    /// Which of its cases, also several times [default: the public ones]
    #[arg(long = "case", value_name = "C", value_delimiter = ',', requires = "scenario")]
    cases: Vec<String>,
    /// Which policies, also several times [default: all it knows]
    #[arg(long = "policy", value_name = "P", value_delimiter = ',', requires = "scenario")]
    policies: Vec<String>,
    /// Seeds, where chance matters, also several times [default: its own]
    #[arg(long = "seed", value_name = "N", value_delimiter = ',', requires = "scenario",
        value_parser = crate::numbers::seed, allow_hyphen_values = true)]
    seeds: Vec<u64>,
    /// The folder with the benchmark data
    #[arg(long, value_name = "DIR", env = "CONSORT_BENCH_DATA", hide_env_values = true)]
    data: Option<PathBuf>,
    /// Say which bars are missed, and exit 1 if one is
    #[arg(long, requires = "scenario")]
    check: bool,
    /// Also write every job of every row into this file
    #[arg(long, value_name = "FILE", requires = "scenario")]
    jobs_csv: Option<PathBuf>,
    /// Also write a page with the tables into this file, in Markdown
    #[arg(long, value_name = "FILE", requires = "scenario")]
    markdown: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// All of them, one after the other.
const ALL: &str = "all";

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let Some(name) = &args.scenario else { return list(args.json) };
    if name == live::NAME {
        return live::run(&args.cases, args.check, args.json);
    }
    if name == ALL {
        return run_all(args);
    }
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).ok_or_else(|| {
        names::unknown("benchmark", name, SCENARIOS.iter().map(|scenario| scenario.name).chain([live::NAME]))
    })?;
    let rows = rows(args, scenario)?;
    if let Some(path) = &args.jobs_csv {
        let mut jobs = JobsCsv::new();
        for row in &rows {
            row.jobs.iter().for_each(|(job, record)| jobs.add(&row.case, &row.policy, job, record));
        }
        files::replace(path, &jobs.bytes())?;
    }
    write_page(args, &[(scenario, &rows)])?;
    match args.json {
        true => print_json(&Results { scenario: name, rows: rows.iter().map(Line::of).collect() })?,
        false => print(&shown(args, scenario, &rows))?,
    }
    judged(args, &rows)
}

/// Every benchmark, with its own cases and policies.
fn run_all(args: &Args) -> Result<(), Failure> {
    if let Some(flag) =
        [("case", &args.cases), ("policy", &args.policies)].iter().find(|flag| !flag.1.is_empty())
    {
        return Err(Failure::request(
            format_args!("--{} means something else in every benchmark", flag.0),
            "name one benchmark with it",
        ));
    }
    if args.jobs_csv.is_some() {
        return Err(Failure::request("--jobs-csv is about one benchmark", "name one with it"));
    }
    let mut all = vec![];
    for scenario in SCENARIOS {
        all.push((scenario, rows(args, scenario)?));
    }
    let parts: Vec<_> = all.iter().map(|(scenario, rows)| (*scenario, &rows[..])).collect();
    write_page(args, &parts)?;
    if args.json {
        let results = parts.iter().map(|(scenario, rows)| Results {
            scenario: scenario.name,
            rows: rows.iter().map(Line::of).collect(),
        });
        print_json(&results.collect::<Vec<_>>())?;
    } else {
        let texts: Vec<String> = parts.iter().map(|(scenario, rows)| shown(args, scenario, rows)).collect();
        print(&texts.join("\n"))?;
    }
    let rows: Vec<Row> = all.into_iter().flat_map(|(_, rows)| rows).collect();
    judged(args, &rows)
}

/// The page of `--markdown`.
fn write_page(args: &Args, parts: &[(&Scenario, &[Row])]) -> Result<(), Failure> {
    let Some(path) = &args.markdown else { return Ok(()) };
    let name = args.scenario.as_deref().unwrap_or_default();
    let mut text = format!(
        "# Benchmarks\n\nWritten by `consort bench {name} --markdown {}`, version {}. Times are CPU time of one thread on the\n\
         machine that ran it, reading of input not counted. A ratio is ours to the anchor's; what others published is in\n\
         `anchor`. Rows over several seeds are means.\n",
        path.display(),
        env!("CARGO_PKG_VERSION")
    );
    for (scenario, rows) in parts {
        text += &format!("\n## {}\n\n{}.\n\n", scenario.name, scenario.about);
        text += &shown::table(rows).markdown();
        for row in *rows {
            let misses = row.misses.iter();
            misses.for_each(|miss| text += &format!("\nMissed: {} {}: {miss}.\n", row.case, row.policy));
        }
    }
    files::replace(path, text.as_bytes())
}

fn rows(args: &Args, scenario: &Scenario) -> Result<Vec<Row>, Failure> {
    let name = scenario.name;
    let all_cases: Vec<&str> = scenario.cases.iter().chain(scenario.more_cases).copied().collect();
    known(&format!("case of {name}"), &args.cases, &all_cases)?;
    known(&format!("policy in {name}"), &args.policies, scenario.policies)?;
    let data = if scenario.needs_data || args.data.is_some() { data(args)? } else { PathBuf::new() };
    for path in args.jobs_csv.iter().chain(&args.markdown) {
        files::folder_of(path)?;
    }
    let request = Request {
        scenario: name.into(),
        cases: args.cases.clone(),
        policies: args.policies.clone(),
        seeds: args.seeds.clone(),
        data,
    };
    let progress = Progress::start();
    bench::run(&request, &mut |what, done, of| progress.at(what, done, of)).map_err(failure)
}

/// Whether all bars are met, if that was asked.
fn judged(args: &Args, rows: &[Row]) -> Result<(), Failure> {
    let missing = rows.iter().filter(|row| !row.misses.is_empty()).count() as u64;
    if args.check && missing > 0 {
        let miss = if missing == 1 { "misses its" } else { "miss their" };
        let (missing, all) = (thousands(missing), counted(rows.len() as u64, "row"));
        return Err(Failure::Failed(format!(
            "{missing} of {all} {miss} bar; {}",
            match args.json {
                true => "`misses` says which",
                false => "the lines above say which",
            }
        )));
    }
    Ok(())
}

fn known(what: &str, wanted: &[String], known: &[&str]) -> Result<(), Failure> {
    match wanted.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) if !known.is_empty() => Err(names::unknown(what, name, known.iter().copied())),
        _ => Ok(()),
    }
}

fn data(args: &Args) -> Result<PathBuf, Failure> {
    match &args.data {
        Some(folder) if folder.is_dir() => Ok(folder.clone()),
        Some(folder) => Err(Failure::request(
            format_args!("{}: there is no such folder", folder.display()),
            "name the folder with the benchmark data",
        )),
        None => Err(Failure::request(
            "benchmarks read public data that is not part of Consort",
            "name its folder with --data DIR or in CONSORT_BENCH_DATA",
        )),
    }
}

fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Unknown(sentence) => Failure::Request(sentence),
        BenchError::Data(error) => inputs::malformed(error),
        BenchError::Broken(sentence) => Failure::Failed(format!("the benchmark broke: {sentence}")),
    }
}

// -- for scripts

#[derive(Serialize)]
struct Results<'a> {
    scenario: &'a str,
    rows: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    case: &'a str,
    policy: &'a str,
    seed: u64,
    metrics: Metrics,
    anchor: Option<Beside<'a>>,
    /// Whether there is a bar that it could miss.
    checked: bool,
    misses: &'a [String],
}

/// What every run has, and what only this benchmark has.
#[derive(Serialize)]
struct Metrics {
    #[serde(flatten)]
    figures: Figures,
    #[serde(flatten)]
    more: BTreeMap<&'static str, f64>,
}

#[derive(Serialize)]
struct Beside<'a> {
    who: &'a str,
    metric: &'a str,
    value: f64,
}

impl<'a> Line<'a> {
    fn of(row: &'a Row) -> Self {
        let beside =
            |anchor: &'a Anchor| Beside { who: &anchor.who, metric: &anchor.metric, value: anchor.value };
        Self {
            case: &row.case,
            policy: &row.policy,
            seed: row.seed,
            metrics: Metrics { figures: Figures::of(&row.report), more: more(row) },
            anchor: row.anchor.as_ref().map(beside),
            checked: is_checked(row),
            misses: &row.misses,
        }
    }
}

/// Figures that only this benchmark has; what a report has too is told there.
fn more(row: &Row) -> BTreeMap<&'static str, f64> {
    let own = |name: &str| Figures::of(&row.report).get(name).is_none();
    row.more.iter().copied().filter(|(name, _)| own(name)).collect()
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    cases: &'static [&'static str],
    more_cases: &'static [&'static str],
    policies: &'static [&'static str],
}

// -- for people

fn list(as_json: bool) -> Result<(), Failure> {
    if as_json {
        let listed = SCENARIOS.iter().map(|scenario| Listed {
            name: scenario.name,
            about: scenario.about,
            cases: scenario.cases,
            more_cases: scenario.more_cases,
            policies: scenario.policies,
        });
        return print_json(&listed.collect::<Vec<_>>());
    }
    if SCENARIOS.is_empty() {
        return print("There is no benchmark in this version.\n");
    }
    let screen = Screen::here();
    let mut text = String::new();
    for scenario in SCENARIOS {
        text += &format!("{}  {}\n", screen.bold(scenario.name), scenario.about);
        let more = match scenario.more_cases {
            [] => String::new(),
            more => format!("; also {}", more.join(", ")),
        };
        text += &format!("  cases     {}{more}\n", scenario.cases.join(", "));
        text += &format!("  policies  {}\n\n", scenario.policies.join(", "));
    }
    text += &format!("{}  {}\n", screen.bold(live::NAME), live::ABOUT);
    text += &format!("  cases     {}\n\n", live::CASES.join(", "));
    text += &format!("Run one:  consort bench {} --data DIR\n", SCENARIOS[0].name);
    print(&text)
}

fn shown(args: &Args, scenario: &Scenario, rows: &[Row]) -> String {
    let screen = Screen::here();
    let mut text = format!("{}: {}\n\n", screen.bold(scenario.name), scenario.about);
    text += &shown::table(rows).show(&screen);
    if args.check {
        text.push('\n');
        for row in rows {
            for miss in &row.misses {
                text += &format!("missed  {} {}: {miss}\n", row.case, row.policy);
            }
        }
        if rows.iter().all(|row| row.misses.is_empty()) {
            text += &all_met(rows);
        }
    }
    text
}

/// What it means that no bar is missed.
fn all_met(rows: &[Row]) -> String {
    let bars = rows.iter().filter(|row| is_checked(row)).count();
    match bars {
        0 => "No bar for these rows: nothing was checked.\n".into(),
        bars if bars == rows.len() => "Every bar is met.\n".into(),
        bars => {
            let (have, bars) = (if bars == 1 { "has" } else { "have" }, thousands(bars as u64));
            format!("{bars} of {} {have} a bar; all are met.\n", counted(rows.len() as u64, "row"))
        }
    }
}

/// Whether there is a bar that a row could miss.
fn is_checked(row: &Row) -> bool {
    row.anchor.is_some() || row.is_barred || !row.misses.is_empty()
}
