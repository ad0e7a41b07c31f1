//! `pipe`: PipeDream's optimizer, reproduced exactly and fast, and compared with our own planner.
//!
//! Known answers are the optimizer's own: `algorithms/pipedream/expected.json` in full, and the table beside
//! `pipeline-profiles`, which is rounded. Every profile is also cut for machines for which nobody waited for an answer;
//! where a network has too many states, its layers are grouped, and the row says into how many groups.

mod found;
mod full;

use crate::{Anchor, Progress, Row, Scenario, data};
use consort_parallel::Answer;
use consort_parallel::pipeline::pipedream::{Partition, Refusal, Request, grouped, partition};
use consort_types::file::ReadError;
use found::Case;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario = Scenario {
    name: "pipe",
    about: "PipeDream's optimizer, reproduced exactly and fast, and compared with our own planner",
    cases,
    run,
};

/// The row about all of the others, when they all run.
const ALL: &str = "all";
/// Milliseconds that no case may take.
const WORST_MS: f64 = 1000.0;
/// Milliseconds that half of the cases may not take.
const MEDIAN_MS: f64 = 100.0;

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    let found = found::cases(data)?;
    Ok(found.into_iter().map(|case| case.name).collect())
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let known = found::cases(data)?;
    let is_all = known.iter().all(|case| cases.contains(&case.name));
    let wanted: Vec<&Case> = known.iter().filter(|case| cases.contains(&case.name)).collect();
    let mut rows = vec![];
    for case in &wanted {
        hear(&case.name, rows.len() as u64, wanted.len() as u64);
        rows.push(row(case)?);
    }
    if is_all && !rows.is_empty() {
        rows.push(all(&rows));
    }
    Ok(rows)
}

fn row(case: &Case) -> Result<Row, ReadError> {
    let layers = found::layers(&case.profile)?;
    let request = Request {
        layers: &layers,
        levels: case.levels.clone(),
        straight: case.straight,
        memory_bytes: case.memory_bytes,
        activation_ratio: case.activation_ratio,
        fewer_machines: case.fewer_machines,
    };
    let (answer, cpu_ms) = data::timed(|| plan(&request));
    let mut row = Row { case: case.name.clone(), is_barred: true, ..Row::default() };
    if cpu_ms > WORST_MS {
        row.late.push(format!("{cpu_ms:.0} ms of CPU, expected at most {WORST_MS:.0}"));
    }
    match answer {
        Ok((answer, groups)) => {
            row.figures = vec![
                ("objective", answer.objective),
                ("bound", answer.bound),
                ("gap_pct", answer.gap() * 100.0),
                ("cpu_ms", cpu_ms),
                ("speedup_vs_dp", answer.plan.data_parallel_s / answer.objective),
            ];
            row.figures.extend(groups.map(|groups| ("groups", groups as f64)));
            row.misses.extend(case.differs(&answer));
            full::beside(&mut row, &layers, &case.levels, Some(&answer.plan));
        }
        Err(refusal) => {
            row.figures = vec![("cpu_ms", cpu_ms)];
            full::beside(&mut row, &layers, &case.levels, None);
            // Where the reference has no answer either, there may be none.
            if case.expected_s.is_some() {
                row.misses.push(format!("refused: {refusal}"));
            }
        }
    }
    row.anchor = case.expected_s.map(|value| Anchor { who: "PipeDream", metric: "objective", value });
    Ok(row)
}

/// The partition, and into how many groups the layers were put where there are too many states without.
fn plan(request: &Request) -> Result<(Answer<Partition>, Option<usize>), Refusal> {
    match partition(request) {
        Err(Refusal::TooManyStates { .. }) => {
            let groups = grouped(request.layers)?;
            let mut answer = partition(&Request { layers: &groups.layers, ..request.clone() })?;
            // Stages name groups: from here on they name the layers in them.
            for stage in &mut answer.plan.stages {
                stage.layers = groups.spread(&stage.layers);
            }
            Ok((answer, Some(groups.members.len())))
        }
        answer => answer.map(|answer| (answer, None)),
    }
}

/// How long they took together.
fn all(rows: &[Row]) -> Row {
    let figure = |row: &Row| row.figures.iter().find(|(name, _)| *name == "cpu_ms").map(|(_, value)| *value);
    let mut times: Vec<f64> = rows.iter().filter_map(figure).collect();
    times.sort_by(f64::total_cmp);
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    let slow = median > MEDIAN_MS;
    Row {
        case: ALL.into(),
        figures: vec![("cpu_ms_median", median), ("cpu_ms_worst", worst)],
        late: slow
            .then(|| format!("{median:.0} ms of CPU in the median, expected at most {MEDIAN_MS:.0}"))
            .into_iter()
            .collect(),
        is_barred: true,
        ..Row::default()
    }
}
