//! What others measured: reference rows, and how close is close enough.

use super::{Anchor, BenchError};
use crate::report::Report;
use crate::workload::ReadError;
use std::path::Path;

/// One row of a reference file for the Helios replays.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub case: String,
    pub group: String,
    pub policy: String,
    pub avg_jct_s: f64,
    pub avg_queue_s: f64,
    pub p99_jct_s: f64,
    pub makespan_s: f64,
    pub preemptions: f64,
}

/// Reads a reference file; none at all is fine, since further cases have none.
pub(super) fn read(path: &Path) -> Result<Vec<Reference>, BenchError> {
    if !path.exists() {
        return Ok(vec![]);
    }
    let fail = |line: u64, message: String| {
        BenchError::Data(ReadError { file: path.display().to_string(), line, column: 0, message })
    };
    let mut reader = csv::Reader::from_path(path).map_err(|error| fail(0, error.to_string()))?;
    let headers = reader.headers().map_err(|error| fail(1, error.to_string()))?.clone();
    let mut rows = vec![];
    for (index, row) in reader.records().enumerate() {
        let line = index as u64 + 2;
        let row = row.map_err(|error| fail(line, error.to_string()))?;
        let text = |name: &str| {
            let position = headers.iter().position(|header| header == name);
            position
                .and_then(|position| row.get(position))
                .ok_or_else(|| fail(line, format!("expected a column {name}")))
        };
        let number = |name: &str| {
            text(name)?.parse::<f64>().map_err(|_| fail(line, format!("expected a number in column {name}")))
        };
        rows.push(Reference {
            case: text("case")?.into(),
            group: text("group")?.into(),
            policy: text("policy")?.into(),
            avg_jct_s: number("avg_jct_s")?,
            avg_queue_s: number("avg_queue_s")?,
            p99_jct_s: number("p99_jct_s")?,
            makespan_s: number("makespan_s")?,
            preemptions: number("preemptions")?,
        });
    }
    Ok(rows)
}

impl Reference {
    pub fn anchor(&self) -> Anchor {
        Anchor { who: "reference".into(), metric: "avg_jct_s".into(), value: self.avg_jct_s }
    }

    /// Where a report differs: means to 0.01 s, the rest exactly. The reference's percentiles over several clusters
    /// together are interpolated, ours are not, so they are compared for single clusters only.
    pub fn misses(&self, report: &Report) -> Vec<String> {
        let mut pairs = vec![
            ("avg_jct_s", report.avg_jct_s, self.avg_jct_s, 0.01),
            ("avg_queue_s", report.avg_queue_s, self.avg_queue_s, 0.01),
            ("makespan_s", report.makespan_s, self.makespan_s, 0.0),
            ("preemptions", report.preemptions as f64, self.preemptions, 0.0),
        ];
        if self.group != "all" {
            pairs.push(("p99_jct_s", report.p99_jct_s, self.p99_jct_s, 0.0));
        }
        let off = pairs.into_iter().filter(|(_, ours, theirs, slack)| (ours - theirs).abs() > slack + 1e-9);
        off.map(|(metric, ours, theirs, _)| {
            format!("{}: {metric} is {ours}, the reference has {theirs}", self.group)
        })
        .collect()
    }
}
