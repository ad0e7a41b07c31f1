//! What came out of a benchmark: rows for scripts and a table for people, whichever room it is of.

use crate::figures::Figures;
use crate::numbers::{counted, thousands};
use crate::table::Table;
use serde::Serialize;
use std::collections::BTreeMap;

/// One benchmark, run.
#[derive(Serialize)]
pub struct Outcome {
    /// Its name.
    pub scenario: &'static str,
    /// One line about it.
    #[serde(skip)]
    pub about: &'static str,
    /// For scripts.
    pub rows: Vec<Line>,
    /// For people.
    #[serde(skip)]
    pub table: Table,
    /// Every job, as a table for other programs, where there are jobs.
    #[serde(skip)]
    pub jobs: Option<Vec<u8>>,
}

/// One row.
#[derive(Serialize)]
pub struct Line {
    pub case: String,
    pub policy: String,
    pub seed: u64,
    pub metrics: Metrics,
    pub anchor: Option<Beside>,
    /// Whether there is a bar that it could miss.
    pub checked: bool,
    pub misses: Vec<String>,
}

/// What every run has, and what only this benchmark has.
#[derive(Serialize)]
pub struct Metrics {
    #[serde(flatten)]
    pub figures: Option<Figures>,
    #[serde(flatten)]
    pub more: BTreeMap<&'static str, f64>,
}

/// A published figure.
#[derive(Serialize)]
pub struct Beside {
    pub who: String,
    pub metric: String,
    pub value: f64,
}

impl Outcome {
    /// What it means that no bar is missed.
    pub fn all_met(&self) -> String {
        let bars = self.rows.iter().filter(|row| row.checked).count();
        match bars {
            0 => "No bar for these rows: nothing was checked.\n".into(),
            bars if bars == self.rows.len() => "Every bar is met.\n".into(),
            bars => {
                let (have, bars) = (if bars == 1 { "has" } else { "have" }, thousands(bars as u64));
                format!("{bars} of {} {have} a bar; all are met.\n", counted(self.rows.len() as u64, "row"))
            }
        }
    }
}
