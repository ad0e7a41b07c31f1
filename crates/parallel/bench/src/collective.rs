//! `collective`: cost of collectives, and the bound of the fabric.
//!
//! Closed forms beside public cases (`flat-`, `hier-`), the narrowest cut beside sets that somebody tried out
//! (`bound-`), figures of NCCL's tuner beside those it was published with (`nccl-constants`), and two generated fabrics
//! that show what a cut costs (`scale-`).
//!
//! The public cases choose the chunks of a pipelined tree in a window beside the best; that figure is compared as it is
//! (`tree_pipelined`), and the plan's own, which is never slower, stands beside it (`tree_best`).

mod closed;
mod cuts;
mod tuner;

use crate::{Progress, Row, Scenario, data};
use consort_types::file::ReadError;
use std::path::{Path, PathBuf};

/// The benchmark.
pub const SCENARIO: Scenario =
    Scenario { name: "collective", about: "cost of collectives, and the bound of the fabric", cases, run };

/// One case, read.
enum Case {
    Flat(closed::Flat),
    Hosts(closed::Hosts),
    Cut(cuts::Public),
    Scale(cuts::Scale),
    Tuner(tuner::Published),
}

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    Ok(all(data)?.into_iter().map(|(name, _)| name).collect())
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let mut rows = vec![];
    for (name, case) in all(data)? {
        if !cases.contains(&name) {
            continue;
        }
        hear(&name, rows.len() as u64, cases.len() as u64);
        let row = match case {
            Case::Flat(flat) => flat.row(),
            Case::Hosts(hosts) => hosts.row(),
            Case::Cut(cut) => cut.row(),
            Case::Scale(scale) => scale.row(),
            Case::Tuner(published) => published.row(),
        };
        rows.push(Row { case: name, ..row });
    }
    Ok(rows)
}

/// Every case with a name of its own.
fn all(data: &Path) -> Result<Vec<(String, Case)>, ReadError> {
    let folder = data.join("algorithms/collectives");
    let file = |name: &str| -> Option<PathBuf> { Some(folder.join(name)).filter(|path| path.exists()) };
    let mut found: Vec<(String, Case)> = vec![];
    // The closed forms are the heart of it: without them there is nothing to measure.
    let closed: closed::Cases = data::json(&folder.join("collective_alpha_beta.json"))?;
    found.extend(closed.flat.into_iter().map(|flat| (flat.name(), Case::Flat(flat))));
    found.extend(closed.hierarchical.into_iter().map(|hosts| (hosts.name(), Case::Hosts(hosts))));
    if let Some(path) = file("allgather_optimal_bound.json") {
        let cuts: Vec<cuts::Public> = data::json(&path)?;
        found.extend(cuts.into_iter().map(|cut| (format!("bound-{}", cut.name), Case::Cut(cut))));
    }
    if let Some(path) = file("nccl_tuner_constants.json") {
        found.push(("nccl-constants".into(), Case::Tuner(data::json(&path)?)));
    }
    found.extend(cuts::Scale::ALL.map(|scale| (scale.name().into(), Case::Scale(scale))));
    number(&mut found);
    Ok(found)
}

/// Cases that would have the same name are numbered from the second on.
fn number(cases: &mut [(String, Case)]) {
    let mut seen = std::collections::BTreeMap::new();
    for (name, _) in cases {
        let count: &mut u32 = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *name = format!("{name}-{count}");
        }
    }
}

/// A miss where a figure is not the known one, to nine digits.
fn compare(misses: &mut Vec<String>, name: &str, found: f64, known: Option<f64>) {
    if let Some(known) = known.filter(|known| (found - known).abs() > 1e-9 * known.abs()) {
        misses.push(format!("{name} is {found:e}, known is {known:e}"));
    }
}

/// The figures that every row has.
fn figures(objective: f64, bound: f64, cpu_ms: f64) -> Vec<(&'static str, f64)> {
    let gap_pct = 100.0 * (objective - bound).abs() / bound;
    vec![("objective", objective), ("bound", bound), ("gap_pct", gap_pct), ("cpu_ms", cpu_ms)]
}
