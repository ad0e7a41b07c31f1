//! Public benchmarks, each beside what others measured on the same input.

use crate::report::{Record, Report};
use crate::workload::ReadError;
use std::path::PathBuf;

/// What to run.
pub struct Request {
    /// Which benchmark.
    pub scenario: String,
    /// Which of its cases; the public ones when empty.
    pub cases: Vec<String>,
    /// Which policies; all that it knows when empty.
    pub policies: Vec<String>,
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
    /// Policies it knows.
    pub policies: &'static [&'static str],
}

/// Why a benchmark cannot be run.
#[derive(Debug)]
pub enum BenchError {
    /// Something was named that does not exist.
    Unknown(String),
    /// The data cannot be read.
    Data(ReadError),
    /// The run itself broke.
    Broken(String),
}

/// All benchmarks.
pub const SCENARIOS: &[Scenario] = &[];

/// Runs one; `progress` hears what is being run, how many jobs have ended, and of how many.
pub fn run(_request: &Request, _progress: &mut dyn FnMut(&str, u64, u64)) -> Result<Vec<Row>, BenchError> {
    Ok(vec![])
}
