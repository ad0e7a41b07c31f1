//! `schedules`: pipeline schedules, simulated, beside an exact reference.

use crate::{Anchor, Progress, Row, Scenario, data};
use consort_parallel::pipeline::schedule::{Pipe, Played, Refusal, Schedule, Times, bound, order, play};
use consort_types::file::ReadError;
use serde::Deserialize;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario = Scenario {
    name: "schedules",
    about: "pipeline schedules, simulated, beside an exact reference",
    cases,
    run,
};

/// One case of the data. Times are those of a whole device: where it holds several parts, each takes its share.
#[derive(Clone, Deserialize)]
struct Case {
    schedule: String,
    p: usize,
    m: usize,
    v: u32,
    #[serde(rename = "tF")]
    forward_s: f64,
    #[serde(rename = "tB")]
    backward_s: f64,
    #[serde(rename = "tW")]
    weight_s: f64,
    comm: f64,
    makespan: Option<f64>,
    bubble: Option<f64>,
    formula_bubble: Option<f64>,
}

impl Case {
    fn name(&self) -> String {
        let Case { schedule, p, m, v, forward_s, backward_s, weight_s, comm, .. } = self;
        format!("{schedule}-p{p}-m{m}-v{v}-{forward_s}/{backward_s}/{weight_s}-c{comm}")
    }

    fn schedule(&self) -> Option<Schedule> {
        Some(match self.schedule.as_str() {
            "gpipe" => Schedule::GPipe,
            "1f1b" => Schedule::OneForwardOneBackward,
            "interleaved_1f1b" => Schedule::Interleaved { chunks: self.v },
            "zb_h1" => Schedule::ZeroBubbleH1,
            "zb_h2" => Schedule::ZeroBubbleH2,
            "zb_v" => Schedule::ZeroBubbleV,
            _ => return None,
        })
    }

    fn pipe(&self, chunks: usize) -> Pipe {
        let share = chunks.max(1) as f64;
        let times = Times {
            forward_s: self.forward_s / share,
            backward_s: self.backward_s / share,
            weight_s: self.weight_s / share,
        };
        Pipe::even(self.p, self.m, chunks, times, self.comm)
    }
}

fn read(data: &Path) -> Result<Vec<(String, Case)>, ReadError> {
    let cases: Vec<Case> = data::json(&data.join("algorithms/pipeline_schedules/pipeline_schedules.json"))?;
    Ok(cases.into_iter().map(|case| (case.name(), case)).collect())
}

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    Ok(read(data)?.into_iter().map(|(name, _)| name).collect())
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let all = read(data)?;
    let mut rows = vec![];
    for name in cases {
        hear(name, rows.len() as u64, cases.len() as u64);
        rows.extend(all.iter().find(|(known, _)| known == name).map(|(name, case)| row(name, case)));
    }
    Ok(rows)
}

fn row(name: &str, case: &Case) -> Row {
    let Some(schedule) = case.schedule() else {
        let misses = vec![format!("the schedule {} is not known", case.schedule)];
        return Row { case: name.to_string(), misses, ..Row::default() };
    };
    let pipe = case.pipe(schedule.chunks());
    let (played, cpu_ms): (Result<Played, Refusal>, f64) =
        data::timed(|| play(&order(schedule, &pipe)?, &pipe));
    let played = match played {
        Ok(played) => played,
        Err(refusal) => {
            return Row { case: name.to_string(), misses: vec![refusal.to_string()], ..Row::default() };
        }
    };
    let bound = bound(&pipe);
    let compared = [
        ("makespan", played.makespan_s, case.makespan),
        ("bubble", played.bubble_s, case.bubble),
        ("bubble by formula", played.bubble_s, case.formula_bubble),
    ];
    Row {
        case: name.to_string(),
        figures: vec![
            ("objective", played.makespan_s),
            ("bound", bound),
            ("gap_pct", (played.makespan_s - bound) / bound * 100.0),
            ("cpu_ms", cpu_ms),
            ("bubble", played.bubble_s),
        ],
        anchor: case.makespan.map(|value| Anchor { who: "reference", metric: "objective", value }),
        misses: compared
            .into_iter()
            .filter_map(|(what, found, expected)| miss(what, found, expected?))
            .collect(),
        is_barred: false,
    }
}

fn miss(what: &str, found: f64, expected: f64) -> Option<String> {
    let is_near = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    (!is_near).then(|| format!("{what} is {found}, expected {expected}"))
}
