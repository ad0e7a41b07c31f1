//! Public benchmarks, each beside what others measured on the same input.
//!
//! Every row passes through accept, apply, plan and check of the shipped scheduler: there is no side door.

mod anchors;
mod helios;
mod openb;
mod scale;
mod tiresias;

use crate::report::{Record, Report};
use crate::run::RunError;
use crate::workload::ReadError;
use consort_sched::Registry;
use std::fmt;
use std::path::PathBuf;

pub use scale::count;

/// What to run.
pub struct Request {
    /// Which benchmark.
    pub scenario: String,
    /// Which of its cases; the public ones when empty.
    pub cases: Vec<String>,
    /// Which policies; all that it knows when empty.
    pub policies: Vec<String>,
    /// Policies that can be named beside those of the benchmark, where it takes any.
    pub known: Registry,
    /// Seeds, where chance matters; its own when empty.
    pub seeds: Vec<u64>,
    /// Where the benchmark data is.
    pub data: PathBuf,
}

/// One line of the result.
pub struct Row {
    /// The case.
    pub case: String,
    /// The policy.
    pub policy: String,
    /// The seed.
    pub seed: u64,
    /// The figures.
    pub report: Report,
    /// What somebody else measured.
    pub anchor: Option<Anchor>,
    /// Bars it misses, in words; empty when all is well.
    pub misses: Vec<String>,
    /// Every job, with the name it has in the source.
    pub jobs: Vec<(String, Record)>,
    /// Figures that only this benchmark has.
    pub more: Vec<(&'static str, f64)>,
    /// Whether there is a bar that it could miss, beside those of an anchor.
    pub is_barred: bool,
}

impl Row {
    /// One of the figures that only this benchmark has.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.more.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }
}

/// Somebody else's figure for one of our metrics.
pub struct Anchor {
    /// Whose.
    pub who: String,
    /// Our name of the metric.
    pub metric: String,
    /// The figure.
    pub value: f64,
}

/// A benchmark.
pub struct Scenario {
    /// What people type.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Cases that are run unless others are named.
    pub cases: &'static [&'static str],
    /// Further cases that can be named.
    pub more_cases: &'static [&'static str],
    /// Policies it knows: those of the peers it is compared with.
    pub policies: &'static [&'static str],
    /// Whether it also takes any policy of a registry. What a name means here comes first.
    pub takes_any: bool,
    /// Whether it reads public data.
    pub needs_data: bool,
}

impl Scenario {
    /// Names of all policies that it can run.
    pub fn names<'a>(&self, known: &'a Registry) -> Vec<&'a str> {
        let own = self.policies.iter().copied();
        let others = known.names().filter(|name| self.takes_any && !self.policies.contains(name));
        own.chain(others).collect()
    }

    /// Whether it can run this policy, which may have a placement behind its name.
    pub fn knows(&self, known: &Registry, policy: &str) -> bool {
        self.policies.contains(&policy) || (self.takes_any && known.find(policy).is_ok())
    }
}

/// Why a benchmark cannot be run.
#[derive(Debug)]
pub enum BenchError {
    /// Something was named that does not exist.
    Unknown(String),
    /// The data cannot be read.
    Data(ReadError),
    /// The run itself broke.
    Broken(RunError),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Unknown(sentence) => f.write_str(sentence),
            BenchError::Broken(error) => error.fmt(f),
            BenchError::Data(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<ReadError> for BenchError {
    fn from(error: ReadError) -> Self {
        BenchError::Data(error)
    }
}

/// All benchmarks.
pub const SCENARIOS: &[Scenario] =
    &[helios::PHILLY, helios::ITP, tiresias::TIRESIAS, openb::OPENB, scale::SCALE];

/// Hears what is being run, how many jobs have ended, and of how many.
pub type Progress<'a> = dyn FnMut(&str, u64, u64) + 'a;

/// Runs one.
pub fn run(request: &Request, progress: &mut Progress<'_>) -> Result<Vec<Row>, BenchError> {
    let names = || SCENARIOS.iter().map(|scenario| scenario.name).collect::<Vec<_>>();
    let Some(scenario) = SCENARIOS.iter().find(|scenario| scenario.name == request.scenario) else {
        return Err(unknown("benchmark", &request.scenario, &names()));
    };
    let all: Vec<&str> = scenario.cases.iter().chain(scenario.more_cases).copied().collect();
    let cases = match request.cases.iter().find(|name| !all.contains(&name.as_str())) {
        Some(name) => return Err(unknown("case", name, &all)),
        None => chosen(&request.cases, scenario.cases),
    };
    let policies = match request.policies.iter().find(|name| !scenario.knows(&request.known, name)) {
        Some(name) => return Err(unknown("policy", name, &scenario.names(&request.known))),
        None => chosen(&request.policies, scenario.policies),
    };
    if let Some(seed) = request.seeds.first().filter(|_| scenario.name != "frag-openb") {
        let sentence = format!(
            "--seed {seed} cannot be used with {}, which has no randomness; leave it out",
            scenario.name
        );
        return Err(BenchError::Unknown(sentence));
    }
    match scenario.name {
        "frag-openb" => openb::run(&request.data, &cases, &policies, &request.seeds, progress),
        "plan-scale" => scale::run(&cases, progress),
        "tiresias" => tiresias::run((&request.data, &request.known), &cases, &policies, progress),
        name => helios::run(name, (&request.data, &request.known), &cases, &policies, progress),
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> BenchError {
    BenchError::Unknown(format!("unknown {what} `{name}`; available: {}", known.join(", ")))
}

/// What was asked for, or the default.
fn chosen(asked: &[String], default: &[&str]) -> Vec<String> {
    match asked {
        [] => default.iter().map(|name| name.to_string()).collect(),
        asked => asked.to_vec(),
    }
}
