//! `dag-list`: HEFT, PEFT and our best on public task graphs, compared with the proven optimum.
//!
//! Bars: HEFT and PEFT are the reference's to a part in 1e9; our best is never longer than one device, never more than
//! 3 % above a proven optimum and 0.3 % on average; 1,000 tasks take 20 ms or less in all, small work 100 ms.

mod graphs;

use crate::data::timed;
use crate::{Anchor, Progress, Row, Scenario};
use consort_parallel::Answer;
use consort_parallel::dag::{self, Ask, Plan};
use consort_types::file::ReadError;
use graphs::{Expected, Graphs};
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario = Scenario {
    name: "dag-list",
    about: "HEFT, PEFT and our best on public task graphs, compared with the proven optimum",
    cases,
    run,
};

/// Most above a proven optimum, in percent: of one graph, and of all on average.
const OVER_MOST: f64 = 3.0;
const OVER_MEAN: f64 = 0.3;
/// Tasks from which on work is large, and the CPU time for large and for other work, in milliseconds.
const LARGE: usize = 1000;
const LARGE_MS: f64 = 20.0;
const OTHER_MS: f64 = 100.0;
/// How near HEFT and PEFT are to the reference, as a part.
const EXACT: f64 = 1e-9;

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    Ok(Graphs::read(data)?.works.into_iter().map(|(name, _)| name).collect())
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let graphs = Graphs::read(data)?;
    let (mut rows, mut overs) = (vec![], vec![]);
    for (done, name) in cases.iter().enumerate() {
        hear(name, done as u64, cases.len() as u64);
        let work = graphs.work(name)?;
        let (answer, cpu_ms) = timed(|| dag::plan(work, &Ask::default()));
        let expected = graphs.expected.get(name);
        let row = match answer {
            Ok(answer) => {
                overs.extend(optimum(expected).map(|optimum| over(answer.objective, optimum)));
                row(name, &answer, cpu_ms, work.tasks.len(), expected)
            }
            Err(refusal) => Row {
                case: name.clone(),
                misses: vec![format!("it is refused: {refusal}")],
                is_barred: true,
                ..Row::default()
            },
        };
        rows.push(row);
    }
    if graphs.works.iter().all(|(name, _)| cases.contains(name)) {
        rows.push(all(&overs, &graphs));
    }
    Ok(rows)
}

fn row(case: &str, answer: &Answer<Plan>, cpu_ms: f64, tasks: usize, expected: Option<&Expected>) -> Row {
    let plan = &answer.plan;
    let mut misses = vec![];
    let mut figures = vec![
        ("objective", answer.objective),
        ("bound", answer.bound),
        ("gap_pct", 100.0 * answer.gap()),
        ("cpu_ms", cpu_ms),
    ];
    figures.extend(plan.heft_s.map(|heft| ("heft", heft)));
    figures.extend(plan.peft_s.map(|peft| ("peft", peft)));
    figures.extend(plan.one_device.as_ref().map(|one| ("one_device", one.seconds)));
    if let Some(expected) = expected {
        let alone = plan.one_device.as_ref().map(|one| one.seconds);
        for (what, ours, theirs) in [
            ("HEFT", plan.heft_s, expected.heft),
            ("PEFT", plan.peft_s, expected.peft),
            ("one device", alone, expected.best_single_proc),
        ] {
            misses.extend(theirs.and_then(|theirs| differs(what, ours, theirs)));
        }
    }
    let optimum = optimum(expected);
    if let Some(optimum) = optimum {
        let over = over(answer.objective, optimum);
        figures.extend([("optimum", optimum), ("over_optimum_pct", over)]);
        if over > OVER_MOST {
            misses.push(format!("it is {over:.2} % above the optimum, and {OVER_MOST} % is the most"));
        }
    }
    if let Some(proven) = optimum.filter(|optimum| answer.bound > optimum * (1.0 + ROUNDED)) {
        misses.push(format!("the bound {} is above the optimum {proven}", answer.bound));
    }
    if let Some(one) = plan.one_device.as_ref().filter(|one| answer.objective > one.seconds) {
        misses.push(format!("it is longer than {} alone, which takes {}", one.device, one.seconds));
    }
    let mut late = vec![];
    let limit_ms = if tasks >= LARGE { LARGE_MS } else { OTHER_MS };
    if cpu_ms > limit_ms {
        late.push(format!("it takes {cpu_ms:.1} ms, and {limit_ms} ms is the most"));
    }
    let anchor = optimum.map(|value| Anchor { who: "CP-SAT, proven", metric: "objective", value });
    Row { case: case.into(), figures, anchor, misses, late, is_barred: true }
}

/// The reference rounds every time to 1e-5 of the length, so that a few of them add up to this.
const ROUNDED: f64 = 1e-3;

fn differs(what: &str, ours: Option<f64>, theirs: f64) -> Option<String> {
    match ours {
        Some(ours) if (ours - theirs).abs() <= EXACT * theirs.abs() => None,
        Some(ours) => Some(format!("{what} is {ours}, and the reference has {theirs}")),
        None => Some(format!("{what} found no plan, and the reference has {theirs}")),
    }
}

fn optimum(expected: Option<&Expected>) -> Option<f64> {
    let proof = expected?.cpsat.as_ref()?;
    (proof.status == "OPTIMAL").then_some(proof.makespan).flatten()
}

fn over(objective: f64, optimum: f64) -> f64 {
    100.0 * (objective / optimum - 1.0)
}

/// The summary.
fn all(overs: &[f64], graphs: &Graphs) -> Row {
    let mut figures = vec![];
    let mut misses = graphs.complaints.clone();
    if !overs.is_empty() {
        let mean = overs.iter().sum::<f64>() / overs.len() as f64;
        let most = overs.iter().copied().fold(f64::MIN, f64::max);
        figures.extend([
            ("optima", overs.len() as f64),
            ("over_optimum_pct_mean", mean),
            ("over_optimum_pct_max", most),
        ]);
        if mean > OVER_MEAN {
            misses.push(format!(
                "plans are {mean:.3} % above the optimum on average, and {OVER_MEAN} % is the most"
            ));
        }
    }
    Row { case: "all".into(), figures, misses, is_barred: true, ..Row::default() }
}
