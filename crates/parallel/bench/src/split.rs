//! `split`: a batch over unlike devices, beside the optimum.

use crate::{Progress, Row, Scenario};
use consort_types::file::ReadError;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario =
    Scenario { name: "split", about: "a batch over unlike devices, beside the optimum", cases, run };

fn cases(_data: &Path) -> Result<Vec<String>, ReadError> {
    Ok(vec![])
}

fn run(_data: &Path, _cases: &[String], _hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    Ok(vec![])
}
