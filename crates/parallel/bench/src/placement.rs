//! `placement`: operators of networks on accelerators, compared with the best contiguous split.
//!
//! Every plan is counted again here from the network itself, and so are the splits that the data lists with their
//! loads: what is compared is counted in the same way. A plan misses its bar when it is worse than the best contiguous
//! split, or, where nobody knows that one, worse than anything listed; when it took more than ten seconds; or when it
//! breaks a rule.

mod judge;
mod listed;

use crate::data::{text, timed};
use crate::{Anchor, Progress, Row, Scenario};
use consort_parallel::Answer;
use consort_parallel::placement::{Effort, Network, Plan, plan, read};
use consort_types::file::ReadError;
use listed::{Listed, Split};
use std::path::{Path, PathBuf};

/// The benchmark.
pub const SCENARIO: Scenario = Scenario {
    name: "placement",
    about: "operators of networks on accelerators, compared with the best contiguous split",
    cases,
    run,
};

/// Longer than this is a miss.
const MOST_MS: f64 = 10_000.0;
/// How far a figure may be off that was printed in full.
const FULL: f64 = 1e-6;
/// How far a figure may be off that was printed with six digits.
const SHORT: f64 = 5e-6;

fn folder(data: &Path) -> PathBuf {
    data.join("algorithms/dnn_partitioning")
}

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    let inputs = folder(data).join("throughput-inputs");
    let mut found = vec![];
    for group in listed::names(&inputs)? {
        for file in listed::names(&inputs.join(&group))? {
            found.extend(file.strip_suffix(".json").map(|case| format!("{group}/{case}")));
        }
    }
    Ok(found)
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let folder = folder(data);
    let answers = listed::answers(&folder.join("expected.json"))?;
    let mut rows = vec![];
    for case in cases {
        hear(case, rows.len() as u64, cases.len() as u64);
        let path = folder.join("throughput-inputs").join(format!("{case}.json"));
        let network =
            read(&text(&path)?).map_err(|error| ReadError { file: path.display().to_string(), ..error })?;
        let listed = answers.iter().find(|answer| answer.input.trim_end_matches(".json") == case);
        let expert = listed::expert(&folder.join("human-experts"), case)?;
        rows.push(row(case, &network, listed, expert.as_ref()));
    }
    Ok(rows)
}

fn row(case: &str, network: &Network, listed: Option<&Listed>, expert: Option<&Split>) -> Row {
    let (answer, cpu_ms) = timed(|| plan(network, Effort::default()));
    let mut row = Row { case: case.into(), is_barred: true, ..Row::default() };
    let answer = match answer {
        Ok(answer) => answer,
        Err(refusal) => {
            row.misses.push(format!("was refused: {refusal}"));
            return row;
        }
    };
    row.figures = vec![
        ("objective", answer.objective * 1e3),
        ("bound", answer.bound * 1e3),
        ("gap_pct", answer.gap() * 100.0),
        ("cpu_ms", cpu_ms),
    ];
    row.figures.extend(answer.plan.contiguous_s.map(|load| ("contiguous", load * 1e3)));
    row.anchor = listed.and_then(Listed::best).map(|(who, value)| Anchor { who, metric: "objective", value });
    row.misses.extend(judge::broken(network, &answer));
    if cpu_ms > MOST_MS {
        row.late.push(format!("took {:.1} s of CPU time, the bar is {} s", cpu_ms / 1e3, MOST_MS / 1e3));
    }
    if let Some(listed) = listed {
        row.misses.extend(compared(network, &answer, listed, expert));
    }
    row
}

fn compared(
    network: &Network,
    answer: &Answer<Plan>,
    listed: &Listed,
    expert: Option<&Split>,
) -> Vec<String> {
    let mut misses = vec![];
    let objective = answer.objective * 1e3;
    match (&listed.dp_contiguous_optimal, listed.best()) {
        (Some(best), _) if objective > best.max_load * (1.0 + FULL) => {
            misses.push(format!("{objective} is worse than the best contiguous split, {}", best.max_load));
        }
        (None, Some((who, value))) if objective > value * (1.0 + SHORT) => {
            misses.push(format!("{objective} is worse than {value} by {who}"));
        }
        _ => {}
    }
    if let Some(split) = &listed.dp_contiguous_optimal {
        let ours = answer.plan.contiguous_s.map(|load| load * 1e3);
        if let Some(ours) = ours.filter(|ours| *ours > split.max_load * (1.0 + FULL)) {
            misses.push(format!("our best contiguous split is {ours}, listed is {}", split.max_load));
        }
        misses.extend(judge::differing(network, split));
    }
    if let (Some(value), Some(split)) = (&listed.human_expert, expert) {
        let counted = judge::most(network, split);
        if counted.is_none_or(|counted| (counted / value.max_load - 1.0).abs() > SHORT) {
            misses.push(format!("we count {counted:?} for the expert's split, listed is {}", value.max_load));
        }
    }
    misses
}
