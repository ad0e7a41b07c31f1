//! `consort bench`: public benchmarks, compared with published figures on the same input.

mod live;
mod outcome;
mod planned;
mod simulated;

use crate::failure::Failure;
use crate::numbers::{counted, thousands};
use crate::screen::{Screen, print, print_json};
use crate::{files, names};
use consort_sched::Registry;
use outcome::Outcome;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  consort bench                                        list the benchmarks
  consort bench jct-philly --data DIR                  all public cases
  consort bench jct-philly --case half --policy fifo --policy srtf --json
  consort bench jct-philly --check                     exit 1 if a bar is missed
  consort bench plan-scale --case 1000                 CPU time of a decision; needs no data
  consort bench dag-list --case classic.fft_8          planners against known answers
  consort bench all --markdown docs/benchmarks.md      everything, as a page
  consort bench live --case submit,life                the daemon on this machine

The data is not part of Consort: name its folder with --data or in
CONSORT_BENCH_DATA.";

/// Run a public benchmark and compare the result with published figures
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Benchmark to run; without it, all are listed
    scenario: Option<String>,
    /// Case to run; repeat for more [default: the public ones]
    #[arg(long = "case", value_name = "C", value_delimiter = ',', requires = "scenario")]
    cases: Vec<String>,
    /// Policy to run; repeat for more. jct-philly, jct-itp and tiresias accept any that `consort policies` lists
    /// [default: all with published results]
    #[arg(long = "policy", value_name = "P", value_delimiter = ',', requires = "scenario")]
    policies: Vec<String>,
    /// Seed, for benchmarks with random input; repeat for more [default: those of the benchmark]
    #[arg(long = "seed", value_name = "N", value_delimiter = ',', requires = "scenario",
        value_parser = crate::numbers::seed, allow_hyphen_values = true)]
    seeds: Vec<u64>,
    /// Folder with the benchmark data
    #[arg(long, value_name = "DIR", env = "CONSORT_BENCH_DATA", hide_env_values = true)]
    data: Option<PathBuf>,
    /// Check every row against its bar; exit 1 if one is missed
    #[arg(long, requires = "scenario")]
    check: bool,
    /// Also write every job of every row to this CSV file
    #[arg(long, value_name = "FILE", requires = "scenario")]
    jobs_csv: Option<PathBuf>,
    /// Also write the tables to this Markdown file
    #[arg(long, value_name = "FILE", requires = "scenario")]
    markdown: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// All of them, one after the other.
const ALL: &str = "all";

/// A benchmark, whichever room it is of.
#[derive(Clone, Copy)]
enum Benchmark {
    /// The scheduler in a simulated world.
    Simulated(&'static consort_sim::bench::Scenario),
    /// A planner inside one job.
    Planned(&'static consort_parallel_bench::Scenario),
}

impl Benchmark {
    /// In the order in which they are listed.
    fn all() -> impl Iterator<Item = Benchmark> {
        let simulated = consort_sim::bench::SCENARIOS.iter().map(Benchmark::Simulated);
        simulated.chain(consort_parallel_bench::SCENARIOS.iter().map(Benchmark::Planned))
    }

    fn name(self) -> &'static str {
        match self {
            Benchmark::Simulated(scenario) => scenario.name,
            Benchmark::Planned(scenario) => scenario.name,
        }
    }

    fn about(self) -> &'static str {
        match self {
            Benchmark::Simulated(scenario) => scenario.about,
            Benchmark::Planned(scenario) => scenario.about,
        }
    }

    fn run(self, args: &Args, policies: &Registry) -> Result<Outcome, Failure> {
        for path in args.jobs_csv.iter().chain(&args.markdown) {
            files::folder_of(path)?;
        }
        match self {
            Benchmark::Simulated(scenario) => simulated::run(args, policies, scenario),
            Benchmark::Planned(scenario) => planned::run(args, scenario),
        }
    }
}

/// The command.
pub fn run(args: &Args, policies: &Registry) -> Result<(), Failure> {
    let Some(name) = &args.scenario else { return list(args) };
    if name == live::NAME {
        return live::run(&args.cases, args.check, args.json);
    }
    if name == ALL {
        return run_all(args, policies);
    }
    let benchmark = Benchmark::all().find(|benchmark| benchmark.name() == name).ok_or_else(|| {
        names::unknown("benchmark", name, Benchmark::all().map(Benchmark::name).chain([live::NAME]))
    })?;
    let outcome = benchmark.run(args, policies)?;
    if let (Some(path), Some(jobs)) = (&args.jobs_csv, &outcome.jobs) {
        files::replace(path, jobs)?;
    }
    let outcomes = [outcome];
    write_page(args, &outcomes)?;
    match args.json {
        true => print_json(&outcomes[0])?,
        false => print(&shown(args, &outcomes[0]))?,
    }
    judged(args, &outcomes)
}

/// Every benchmark, with its own cases and policies.
fn run_all(args: &Args, policies: &Registry) -> Result<(), Failure> {
    if let Some(flag) =
        [("case", &args.cases), ("policy", &args.policies)].iter().find(|flag| !flag.1.is_empty())
    {
        return Err(Failure::request(
            format_args!("--{} cannot be used with all benchmarks: each has its own", flag.0),
            "name one benchmark",
        ));
    }
    if args.jobs_csv.is_some() {
        return Err(Failure::request("--jobs-csv cannot be used with all benchmarks", "name one benchmark"));
    }
    let outcomes =
        Benchmark::all().map(|benchmark| benchmark.run(args, policies)).collect::<Result<Vec<_>, _>>()?;
    write_page(args, &outcomes)?;
    match args.json {
        true => print_json(&outcomes)?,
        false => {
            let texts: Vec<String> = outcomes.iter().map(|outcome| shown(args, outcome)).collect();
            print(&texts.join("\n"))?;
        }
    }
    judged(args, &outcomes)
}

/// The page of `--markdown`.
fn write_page(args: &Args, outcomes: &[Outcome]) -> Result<(), Failure> {
    let Some(path) = &args.markdown else { return Ok(()) };
    let name = args.scenario.as_deref().unwrap_or_default();
    let mut text = format!(
        "# Benchmarks\n\nWritten by `consort bench {name} --markdown {}`, version {}. Times are CPU time of one thread on the\n\
         machine that ran it, without reading of input. `anchor` is the published figure, `ratio` is ours divided by it. Rows\n\
         over several seeds are means.\n",
        path.display(),
        env!("CARGO_PKG_VERSION")
    );
    for outcome in outcomes {
        text += &format!("\n## {}\n\n{}.\n\n", outcome.scenario, outcome.about);
        text += &outcome.table.markdown();
        for row in &outcome.rows {
            let misses = row.misses.iter();
            misses.for_each(|miss| text += &format!("\nMissed: {} {}: {miss}.\n", row.case, row.policy));
        }
    }
    files::replace(path, text.as_bytes())
}

/// Whether all bars are met, if that was asked.
fn judged(args: &Args, outcomes: &[Outcome]) -> Result<(), Failure> {
    let rows = || outcomes.iter().flat_map(|outcome| &outcome.rows);
    let missing = rows().filter(|row| !row.misses.is_empty()).count() as u64;
    if args.check && missing > 0 {
        let miss = if missing == 1 { "misses its" } else { "miss their" };
        let (missing, all) = (thousands(missing), counted(rows().count() as u64, "row"));
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

/// The folder with the data, which must be there.
fn data(args: &Args) -> Result<&Path, Failure> {
    match &args.data {
        Some(folder) if folder.is_dir() => Ok(folder),
        Some(folder) => Err(Failure::request(
            format_args!("{}: no such folder", folder.display()),
            "name the folder with the benchmark data",
        )),
        None => Err(Failure::request(
            "this benchmark needs public data that is not part of Consort",
            "name its folder with --data DIR or in CONSORT_BENCH_DATA",
        )),
    }
}

// -- what there is

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    /// Known without the data.
    cases: Vec<String>,
    more_cases: &'static [&'static str],
    policies: &'static [&'static str],
}

impl Listed {
    /// Cases of planners are named by the data, and listed where that is given.
    fn of(benchmark: Benchmark, data: Option<&Path>) -> Self {
        let (name, about) = (benchmark.name(), benchmark.about());
        match benchmark {
            Benchmark::Simulated(scenario) => {
                let cases = scenario.cases.iter().map(|case| case.to_string()).collect();
                Listed { name, about, cases, more_cases: scenario.more_cases, policies: scenario.policies }
            }
            Benchmark::Planned(scenario) => {
                let cases = data.and_then(|data| (scenario.cases)(data).ok()).unwrap_or_default();
                Listed { name, about, cases, more_cases: &[], policies: &[] }
            }
        }
    }
}

fn list(args: &Args) -> Result<(), Failure> {
    let data = args.data.as_deref().filter(|folder| folder.is_dir());
    let listed: Vec<Listed> = Benchmark::all().map(|benchmark| Listed::of(benchmark, data)).collect();
    if args.json {
        return print_json(&listed);
    }
    let screen = Screen::here();
    let mut text = String::new();
    for Listed { name, about, cases, more_cases, policies } in &listed {
        text += &format!("{}  {about}\n", screen.bold(name));
        let few: Vec<&str> = cases.iter().take(SHOWN_CASES).map(String::as_str).collect();
        text += &match (cases.len(), more_cases) {
            (0, _) => "  cases     named by the data\n".into(),
            (all, []) if all > few.len() => {
                format!("  cases     {}, ... ({} in the data)\n", few.join(", "), thousands(all as u64))
            }
            (_, []) => format!("  cases     {}\n", cases.join(", ")),
            (_, more) => format!("  cases     {}; also {}\n", cases.join(", "), more.join(", ")),
        };
        if !policies.is_empty() {
            text += &format!("  policies  {}\n", policies.join(", "));
        }
        text.push('\n');
    }
    text += &format!("{}  {}\n", screen.bold(live::NAME), live::ABOUT);
    text += &format!("  cases     {}\n\n", live::CASES.join(", "));
    text += &format!("Run one:  consort bench {} --data DIR\n", listed[0].name);
    print(&text)
}

/// How many cases are named if there are many.
const SHOWN_CASES: usize = 10;

// -- for people

fn shown(args: &Args, outcome: &Outcome) -> String {
    let screen = Screen::here();
    let mut text = format!("{}: {}\n\n", screen.bold(outcome.scenario), outcome.about);
    text += &outcome.table.show(&screen);
    if args.check {
        text.push('\n');
        for row in &outcome.rows {
            for miss in &row.misses {
                text += &format!("missed  {} {}: {miss}\n", row.case, row.policy);
            }
        }
        if outcome.rows.iter().all(|row| row.misses.is_empty()) {
            text += &outcome.all_met();
        }
    }
    text
}
