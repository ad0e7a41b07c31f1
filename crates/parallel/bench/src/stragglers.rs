//! `stragglers`: backup workers and local steps, compared with exact expectations.
//!
//! Expectations are closed forms, so only rounding is forgiven; the best number of workers not to wait for, and numbers
//! of local rounds, are whole and must be the same.

use crate::{Anchor, Progress, Row, Scenario, data};
use consort_parallel::straggler::backup::{self, Times};
use consort_parallel::sync::local::{self, Loss};
use consort_types::file::ReadError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario = Scenario {
    name: "stragglers",
    about: "backup workers and local steps, compared with exact expectations",
    cases,
    run,
};

/// What rounding may do, as a part of the value.
const TOLERANCE: f64 = 1e-12;

#[derive(Deserialize)]
struct Backups {
    #[serde(default)]
    cases: Vec<Case>,
    #[serde(default, rename = "best_b_maximising_useful_grad_rate")]
    best: BTreeMap<String, Best>,
}

#[derive(Deserialize)]
struct Case {
    dist: String,
    total: u32,
    backup: u32,
    expected_step: Option<f64>,
    useful_per_time: Option<f64>,
}

#[derive(Deserialize)]
struct Best {
    best_backup: Option<u32>,
    useful_per_time: Option<f64>,
}

#[derive(Deserialize)]
struct Local {
    #[serde(rename = "F0")]
    first: f64,
    tau0: u64,
    #[serde(rename = "F")]
    now: f64,
    tau_basic: Option<u64>,
    tau_lr_eta_half: Option<u64>,
}

struct Known {
    name: String,
    what: What,
}

enum What {
    Expect(Case),
    Best { dist: String, workers: u32, best: Best },
    Local(Local),
}

fn read(data: &Path) -> Result<Vec<Known>, ReadError> {
    let folder = data.join("algorithms/straggler");
    let backups: Backups = data::json(&folder.join("backup_workers.json"))?;
    let locals: Vec<Local> = data::json(&folder.join("adacomm.json"))?;
    // The table of best numbers does not say how times vary: as in the cases beside it.
    let dist = backups.cases.first().map_or("shifted_exp(shift=1,mean=0.5)".into(), |case| case.dist.clone());
    let expects = backups.cases.into_iter().map(|case| Known {
        name: format!("backup-{}-of-{}", case.backup, case.total),
        what: What::Expect(case),
    });
    let mut bests: Vec<(u32, Best)> =
        backups.best.into_iter().filter_map(|(workers, best)| Some((workers.parse().ok()?, best))).collect();
    bests.sort_by_key(|(workers, _)| *workers);
    let bests = bests.into_iter().map(|(workers, best)| Known {
        name: format!("best-of-{workers}"),
        what: What::Best { dist: dist.clone(), workers, best },
    });
    let locals = locals.into_iter().map(|case| Known {
        name: format!("local-{}-{}-{}", case.first, case.tau0, case.now),
        what: What::Local(case),
    });
    Ok(expects.chain(bests).chain(locals).collect())
}

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    Ok(read(data)?.into_iter().map(|known| known.name).collect())
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let wanted: Vec<Known> = read(data)?.into_iter().filter(|known| cases.contains(&known.name)).collect();
    let mut rows = vec![];
    for known in &wanted {
        hear(&known.name, rows.len() as u64, wanted.len() as u64);
        let row = match &known.what {
            What::Expect(case) => expect(case),
            What::Best { dist, workers, best } => most(dist, *workers, best),
            What::Local(case) => rounds(case),
        };
        let refused = |refusal| Row { misses: vec![format!("was refused: {refusal}")], ..Row::default() };
        rows.push(Row { case: known.name.clone(), is_barred: true, ..row.unwrap_or_else(refused) });
    }
    Ok(rows)
}

/// `shifted_exp(shift=1,mean=0.5)`.
fn times(dist: &str) -> Result<Times<'static>, String> {
    let inside = dist.strip_prefix("shifted_exp(").and_then(|rest| rest.strip_suffix(')'));
    let figure = |name: &str| {
        let parts = inside?.split(',');
        parts
            .filter_map(|part| part.split_once('='))
            .find(|(key, _)| key.trim() == name)?
            .1
            .trim()
            .parse()
            .ok()
    };
    match (figure("shift"), figure("mean")) {
        (Some(shift), Some(mean)) => Ok(Times::ShiftedExponential { shift, mean }),
        _ => Err(format!("unknown distribution `{dist}`")),
    }
}

/// The expectation is no less than this: of every run of numbers, the mean of inverses is at least the inverse of the
/// mean. Each run is twice as long as the one before.
fn least(times: Times<'_>, workers: u32, late: u32) -> f64 {
    let (mut from, mut sum) = (late + 1, 0.0);
    while from <= workers {
        let to = (2 * from - 1).min(workers);
        sum += 2.0 * f64::from(to - from + 1) / f64::from(from + to);
        from = to + 1;
    }
    match times {
        Times::ShiftedExponential { shift, mean } => shift + mean * sum,
        _ => f64::NAN,
    }
}

fn figures(objective: f64, bound: f64, cpu_ms: f64) -> Vec<(&'static str, f64)> {
    let gap_pct = 100.0 * (objective - bound).abs() / bound;
    vec![("objective", objective), ("bound", bound), ("gap_pct", gap_pct), ("cpu_ms", cpu_ms)]
}

fn compare(misses: &mut Vec<String>, what: &str, found: f64, expected: Option<f64>) {
    if let Some(expected) = expected
        && (found - expected).abs() > TOLERANCE * expected.abs()
    {
        misses.push(format!("{what} is {found}, expected {expected}"));
    }
}

fn expect(case: &Case) -> Result<Row, String> {
    let times = times(&case.dist)?;
    let (found, cpu_ms) = data::timed(|| backup::expect(times, case.total, case.backup));
    let found = found.map_err(|refusal| refusal.to_string())?;
    let mut misses = vec![];
    compare(&mut misses, "the expected round", found.round_s, case.expected_step);
    compare(&mut misses, "the useful rate", found.rate, case.useful_per_time);
    let mut figures = figures(found.round_s, least(times, case.total, case.backup), cpu_ms);
    figures.push(("rate", found.rate));
    let anchor = case.expected_step.map(|value| Anchor { who: "exact", metric: "objective", value });
    Ok(Row { figures, anchor, misses, ..Row::default() })
}

fn most(dist: &str, workers: u32, best: &Best) -> Result<Row, String> {
    let times = times(dist)?;
    let (found, cpu_ms) = data::timed(|| backup::best(times, workers));
    let found = found.map_err(|refusal| refusal.to_string())?;
    let mut misses = vec![];
    if let Some(expected) = best.best_backup
        && expected != found.backup
    {
        misses.push(format!("it is best not to wait for {}, expected {expected}", found.backup));
    }
    compare(&mut misses, "the useful rate", found.rate, best.useful_per_time);
    let rate = |late| f64::from(workers - late) / least(times, workers, late);
    let bound = (0..workers).map(rate).fold(0.0, f64::max);
    let mut figures = figures(found.rate, bound, cpu_ms);
    figures.push(("backup", f64::from(found.backup)));
    let anchor = best.useful_per_time.map(|value| Anchor { who: "exact", metric: "objective", value });
    Ok(Row { figures, anchor, misses, ..Row::default() })
}

fn rounds(case: &Local) -> Result<Row, String> {
    let loss = |rate| Loss { first: case.first, now: case.now, first_rounds: case.tau0, rate };
    let (found, cpu_ms) = data::timed(|| (local::rounds(&loss(1.0)), local::rounds(&loss(0.5))));
    let (whole, halved) =
        (found.0.map_err(|refusal| refusal.to_string())?, found.1.map_err(|refusal| refusal.to_string())?);
    let bound = local::unrounded(&loss(1.0)).map_err(|refusal| refusal.to_string())?;
    let mut misses = vec![];
    for (what, found, expected) in [
        ("the number of local rounds", whole, case.tau_basic),
        ("the number at half the learning rate", halved, case.tau_lr_eta_half),
    ] {
        if expected.is_some_and(|expected| expected != found) {
            misses.push(format!("{what} is {found}, expected {}", expected.unwrap_or_default()));
        }
    }
    let mut figures = figures(whole as f64, bound, cpu_ms);
    figures.push(("at_half_rate", halved as f64));
    let anchor =
        case.tau_basic.map(|value| Anchor { who: "exact", metric: "objective", value: value as f64 });
    Ok(Row { figures, anchor, misses, ..Row::default() })
}
