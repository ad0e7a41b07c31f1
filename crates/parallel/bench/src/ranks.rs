//! `ranks`: the order of hosts in a ring, beside exhaustive search.

use crate::{Progress, Row, Scenario};
use consort_types::file::ReadError;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario =
    Scenario { name: "ranks", about: "the order of hosts in a ring, beside exhaustive search", cases, run };

fn cases(_data: &Path) -> Result<Vec<String>, ReadError> {
    Ok(vec![])
}

fn run(_data: &Path, _cases: &[String], _hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    Ok(vec![])
}
