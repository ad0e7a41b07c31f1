//! `schedules`: pipeline schedules, simulated and compared with an exact reference.
//!
//! Four sorts of rows. Those of the data, beside its makespan, bubble and formula. ZB-H2 and ZB-V for the same sizes,
//! which the data does not have, beside their formulas where these are exact. `unlike`: parts of seeded, unlike times,
//! where an order is fitted to them and may not be worse than the published one. `speed`: 64 devices and 512
//! microbatches, where playing the order alone is timed and barred. The bound is that of orders of the schedule's kind, in
//! its memory; `any_bound` holds for any schedule.

mod rows;

use crate::{Progress, Row, Scenario, data};
use consort_parallel::pipeline::schedule::{Pipe, Schedule, Times};
use consort_types::file::ReadError;
use serde::Deserialize;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario = Scenario {
    name: "schedules",
    about: "pipeline schedules, simulated and compared with an exact reference",
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

    fn times(&self, chunks: usize) -> Times {
        let share = chunks.max(1) as f64;
        Times {
            forward_s: self.forward_s / share,
            backward_s: self.backward_s / share,
            weight_s: self.weight_s / share,
        }
    }

    fn pipe(&self, chunks: usize) -> Pipe {
        Pipe::even(self.p, self.m, chunks, self.times(chunks), self.comm)
    }

    /// The same size and times without delay, for a schedule that the data does not have.
    fn with(&self, schedule: &str, chunks: u32) -> Case {
        Case {
            schedule: schedule.to_string(),
            v: chunks,
            comm: 0.0,
            makespan: None,
            bubble: None,
            formula_bubble: None,
            ..self.clone()
        }
    }
}

/// What a row is about.
enum Subject {
    Known(Case),
    Formula(Case),
    Unlike(Schedule),
    Speed(Schedule),
}

const EACH: [Schedule; 6] = [
    Schedule::GPipe,
    Schedule::OneForwardOneBackward,
    Schedule::Interleaved { chunks: 2 },
    Schedule::ZeroBubbleH1,
    Schedule::ZeroBubbleH2,
    Schedule::ZeroBubbleV,
];

fn subjects(data: &Path) -> Result<Vec<(String, Subject)>, ReadError> {
    let cases: Vec<Case> = data::json(&data.join("algorithms/pipeline_schedules/pipeline_schedules.json"))?;
    let formulas: Vec<Case> =
        cases.iter().flat_map(|case| [case.with("zb_h2", 1), case.with("zb_v", 2)]).collect();
    let mut all: Vec<(String, Subject)> = vec![];
    let known = cases.into_iter().map(|case| (case.name(), Subject::Known(case)));
    for (name, subject) in known.chain(formulas.into_iter().map(|case| (case.name(), Subject::Formula(case))))
    {
        let is_new = all.iter().all(|(other, _)| *other != name);
        match subject {
            Subject::Formula(_) if !is_new => (),
            subject if is_new => all.push((name, subject)),
            // The data says something twice: both are looked at.
            subject => all.push((format!("{name}#{}", all.len()), subject)),
        }
    }
    all.extend(EACH.map(|schedule| (format!("unlike-{schedule}-p8-m32"), Subject::Unlike(schedule))));
    all.extend(EACH.map(|schedule| (format!("speed-{schedule}-p64-m512"), Subject::Speed(schedule))));
    Ok(all)
}

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    Ok(subjects(data)?.into_iter().map(|(name, _)| name).collect())
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let all = subjects(data)?;
    let mut rows = vec![];
    for name in cases {
        hear(name, rows.len() as u64, cases.len() as u64);
        if let Some((_, subject)) = all.iter().find(|(known, _)| known == name) {
            let row = match subject {
                Subject::Known(case) | Subject::Formula(case) => rows::known(case),
                Subject::Unlike(schedule) => rows::unlike(*schedule),
                Subject::Speed(schedule) => rows::speed(*schedule),
            };
            rows.push(Row { case: name.clone(), ..row });
        }
    }
    Ok(rows)
}
