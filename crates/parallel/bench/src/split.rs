//! `split`: a batch over heterogeneous devices, compared with the optimum.
//!
//! The optimum is known exactly, so nothing but the same number will do.

use crate::{Anchor, Progress, Row, Scenario, data};
use consort_parallel::split::{self, Device, Idle, Request};
use consort_types::file::ReadError;
use serde::Deserialize;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario = Scenario {
    name: "split",
    about: "a batch over heterogeneous devices, compared with the optimum",
    cases,
    run,
};

/// One split takes no longer than this.
const BAR_MS: f64 = 10.0;

#[derive(Deserialize)]
struct Case {
    id: serde_json::Value,
    global_batch: u64,
    devices: Vec<Line>,
    optimal_step_time: Option<f64>,
    #[serde(rename = "max_per_device_at_T")]
    most: Option<Vec<u64>>,
    even_split_time: Option<f64>,
    even_split_feasible: Option<bool>,
}

#[derive(Deserialize)]
struct Line {
    fixed: f64,
    per_sample: f64,
    max_batch: u64,
}

fn read(data: &Path) -> Result<Vec<Case>, ReadError> {
    data::json(&data.join("algorithms/weighted_batch/weighted_batch.json"))
}

fn name(case: &Case) -> String {
    match &case.id {
        serde_json::Value::String(name) => name.clone(),
        other => other.to_string(),
    }
}

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    Ok(read(data)?.iter().map(name).collect())
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let wanted: Vec<Case> = read(data)?.into_iter().filter(|case| cases.contains(&name(case))).collect();
    let mut rows = vec![];
    for case in &wanted {
        hear(&name(case), rows.len() as u64, wanted.len() as u64);
        rows.push(row(case));
    }
    Ok(rows)
}

fn row(case: &Case) -> Row {
    let device = |(index, line): (usize, &Line)| Device {
        max_batch: Some(line.max_batch),
        ..Device::new(&format!("d{index}"), line.fixed, line.per_sample)
    };
    let request = Request {
        batch: case.global_batch,
        devices: case.devices.iter().enumerate().map(device).collect(),
        idle: Idle::Freely,
        accumulate: 1,
        tail: false,
        previous: None,
    };
    let (answer, cpu_ms) = data::timed(|| split::plan(&request));
    let anchor = case.optimal_step_time.map(|value| Anchor { who: "exact", metric: "objective", value });
    let answer = match answer {
        Ok(answer) => answer,
        Err(refusal) => {
            let misses = vec![format!("was refused: {refusal}")];
            return Row { case: name(case), anchor, misses, is_barred: true, ..Row::default() };
        }
    };
    let figures = vec![
        ("objective", answer.objective),
        ("bound", answer.bound),
        ("gap_pct", 100.0 * answer.gap()),
        ("cpu_ms", cpu_ms),
        ("even", answer.plan.even.step_s),
    ];
    let mut misses = compare(case, &answer.plan);
    if answer.bound > answer.objective {
        misses.push(format!("the bound {} is above the objective {}", answer.bound, answer.objective));
    }
    let mut late = vec![];
    if cpu_ms > BAR_MS {
        late.push(format!("took {cpu_ms:.1} ms, the bar is {BAR_MS} ms"));
    }
    Row { case: name(case), figures, anchor, misses, late, is_barred: true }
}

fn compare(case: &Case, plan: &split::Plan) -> Vec<String> {
    let mut misses = vec![];
    let sum: u64 = plan.parts.iter().map(|part| part.batch).sum();
    if sum != case.global_batch {
        misses.push(format!("the parts add up to {sum}, the batch has {}", case.global_batch));
    }
    if let Some(part) = plan.parts.iter().find(|part| part.batch > part.most) {
        misses.push(format!("{} has {} samples and may have {}", part.device, part.batch, part.most));
    }
    if let Some(time) = case.optimal_step_time
        && plan.step_s != time
    {
        misses.push(format!("the slowest takes {}, the optimum is {time}", plan.step_s));
    }
    let most: Vec<u64> = plan.parts.iter().map(|part| part.most).collect();
    if let Some(wanted) = &case.most
        && *wanted != most
    {
        misses.push(format!("the most of each is {most:?}, expected {wanted:?}"));
    }
    if let Some(time) = case.even_split_time
        && plan.even.step_s != time
    {
        misses.push(format!("the even split takes {}, expected {time}", plan.even.step_s));
    }
    if let Some(fits) = case.even_split_feasible
        && plan.even.fits != fits
    {
        misses.push(format!("whether the even split fits is {}, expected {fits}", plan.even.fits));
    }
    misses
}
