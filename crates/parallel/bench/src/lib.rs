//! Planners beside known answers: public inputs, what others found on them, and what it cost.
//!
//! One file for each benchmark. Cases are named as in the data and found there, so that further data is measured
//! without a change here. Every row has the objective, the bound, the gap between them, and the CPU time of the planner
//! alone: reading is not counted. What differs from a known answer is a miss, in words,
//! and so is what takes longer than its bar.

mod collective;
mod compression;
mod dag_list;
mod data;
mod pipe;
mod placement;
mod ranks;
mod schedules;
mod split;
mod stragglers;

use consort_types::file::ReadError;
use std::path::Path;

/// One line of the result.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// As the data calls it.
    pub case: String,
    /// Figures in the order in which they are shown: `objective`, `bound`, `gap_pct`, `cpu_ms`, and what only this
    /// benchmark has.
    pub figures: Vec<(&'static str, f64)>,
    /// What somebody else found.
    pub anchor: Option<Anchor>,
    /// Known answers and bars it misses, in words; empty when all is well.
    pub misses: Vec<String>,
    /// Bars of time it misses, in words. Apart from the others, because they depend on the machine: benchmarks judge
    /// them, tests do not.
    pub late: Vec<String>,
    /// Whether there is a bar that it could miss, beside the anchor.
    pub is_barred: bool,
}

/// Somebody else's figure for one of ours.
#[derive(Clone, Debug)]
pub struct Anchor {
    /// Whose.
    pub who: &'static str,
    /// Our name of the figure.
    pub metric: &'static str,
    /// The figure.
    pub value: f64,
}

/// A benchmark.
pub struct Scenario {
    /// What people type.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its cases, in the order of the data.
    pub cases: Cases,
    /// Runs these cases, and nothing else: see [`Scenario::run`].
    run: Run,
}

/// The row about all the others.
const ALL: &str = "all";

impl Scenario {
    /// Runs these cases. Where they are all there are, a last row tells of the gaps between plans and bounds.
    pub fn run(&self, data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
        let mut rows = (self.run)(data, cases, hear)?;
        if cases.len() < 2 || cases.len() < (self.cases)(data)?.len() {
            return Ok(rows);
        }
        let gaps = gaps(&rows);
        if gaps.is_empty() {
            return Ok(rows);
        }
        match rows.iter_mut().find(|row| row.case == ALL) {
            Some(all) => all.figures.extend(gaps),
            None => rows.push(Row { case: ALL.into(), figures: gaps, ..Row::default() }),
        }
        Ok(rows)
    }
}

/// How far plans may be from the best: median, nine of ten, the worst, and how many are known to be the best.
fn gaps(rows: &[Row]) -> Vec<(&'static str, f64)> {
    let gap = |row: &Row| row.figures.iter().find(|(name, _)| *name == "gap_pct").map(|&(_, value)| value);
    let mut gaps: Vec<f64> = rows.iter().filter(|row| row.case != ALL).filter_map(gap).collect();
    gaps.sort_by(f64::total_cmp);
    let Some(last) = gaps.len().checked_sub(1) else { return vec![] };
    let at = |share: f64| gaps[(share * last as f64).round() as usize];
    let best = gaps.iter().filter(|gap| **gap < 1e-7).count();
    vec![
        ("gap_pct_p50", at(0.5)),
        ("gap_pct_p90", at(0.9)),
        ("gap_pct_max", at(1.0)),
        ("proven_best", best as f64),
        ("plans", gaps.len() as f64),
    ]
}

/// The cases that the data has.
pub type Cases = fn(&Path) -> Result<Vec<String>, ReadError>;

/// The rows of some cases.
pub type Run = fn(&Path, &[String], &mut Progress<'_>) -> Result<Vec<Row>, ReadError>;

/// Hears what is being run, how many rows are done, and of how many.
pub type Progress<'a> = dyn FnMut(&str, u64, u64) + 'a;

/// All benchmarks.
pub const SCENARIOS: &[Scenario] = &[
    dag_list::SCENARIO,
    pipe::SCENARIO,
    placement::SCENARIO,
    schedules::SCENARIO,
    collective::SCENARIO,
    ranks::SCENARIO,
    split::SCENARIO,
    stragglers::SCENARIO,
    compression::SCENARIO,
];
