//! How many steps a second each type of job does, as Gavel measured it.
//!
//! ```json
//! {"v100": {"('LM (batch size 10)', 1)": {"null": 50.0, "('ResNet-18 (batch size 16)', 1)": [20.0, 10.0]}},
//!  "k80": {}}
//! ```
//! For each kind of device, each type and scale factor: steps of the whole job when it runs alone (`null`), and pairs
//! of steps when it shares its devices with another, which are read over.

use crate::workload::read_error::{Place, ReadError};
use crate::workload::table::without_mark;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The kind that lengths are measured by.
const KIND: &str = "v100";

/// Steps a second of jobs that run alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughputs {
    alone: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "null")]
    alone: f64,
}

impl Throughputs {
    /// Reads a table. `file` is what errors call it.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let kinds: Result<BTreeMap<String, BTreeMap<String, Entry>>, _> =
            serde_json::from_slice(without_mark(bytes));
        let mut kinds = kinds.map_err(|error| {
            let place = Place { line: error.line() as u64, column: error.column() as u64 };
            let message = "is not a table of throughputs, expected steps a second by kind, type and `null`";
            ReadError { file: file.into(), ..place.fail(message) }
        })?;
        let Some(entries) = kinds.remove(KIND) else {
            return Err(ReadError::whole(file, format!("missing kind `{KIND}`")));
        };
        Ok(Self { alone: entries.into_iter().map(|(key, entry)| (key, entry.alone)).collect() })
    }

    /// Steps a second of this type of job on so many devices; none when the table does not know.
    pub fn of(&self, job_type: &str, devices: u32) -> Option<f64> {
        self.alone.get(&format!("('{job_type}', {devices})")).copied()
    }
}
