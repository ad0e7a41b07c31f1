//! `schedules`: pipeline schedules, simulated, beside an exact reference.

use crate::{Progress, Row, Scenario};
use consort_types::file::ReadError;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario = Scenario {
    name: "schedules",
    about: "pipeline schedules, simulated, beside an exact reference",
    cases,
    run,
};

fn cases(_data: &Path) -> Result<Vec<String>, ReadError> {
    Ok(vec![])
}

fn run(_data: &Path, _cases: &[String], _hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    Ok(vec![])
}
