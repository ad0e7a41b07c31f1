//! The workloads of Gavel, and those of Shockwave, which have two fields more: one job a line, tabs between the fields.
//!
//! | Gavel | Shockwave | field | becomes |
//! |---|---|---|---|
//! | 1 | 1 | job type, like `ResNet-18 (batch size 64)` | the name of the job |
//! | 2 to 5 | 2 to 5 | command, folder, name of the option for steps, whether data is needed | read over |
//! | 6 | 6 | total steps | the length, where there is no duration |
//! | 7 | 7 | scale factor | so many single devices of any kind, as one gang |
//! | | 8 | mode: `static`, `accordion` or `gns` | a batch size that changes is not kept, and counted |
//! | 8 | 9 | priority weight | not kept, and counted where it is not 1 |
//! | 9 | 10 | SLO, -1 for none | a deadline so many lengths after the submission |
//! | | 11 | duration in seconds | the length |
//! | 10 | 12 | arrival in seconds | when it arrives |
//!
//! There is no header. Jobs are called by the number of their line, from 0 on, as Gavel calls them. Gavel's own lines
//! say how many steps a job does and not how long it takes. So a table of throughputs must lie beside such a file (or
//! one or two folders above, as Gavel keeps it): `simulation_throughputs.json`. A job is then as long as its steps
//! take alone on `v100`, at its scale factor, with its devices side by side. That other kinds are slower is not told
//! by this length. Shockwave's durations are measured in the same way, as if the batch size that a job begins with were
//! kept to its end. A job whose throughput is 0 cannot run on that kind: it is left out, and counted.

use super::assemble::Assembly;
use super::left_out::LeftOut;
use super::lines::{Between, Line, Lines};
use super::read_error::{InFile, ReadError};
use super::value::{self, Expected};
use super::{Submission, Truth, Workload};
use consort_types::{JobSpec, Shape, Span};
use std::sync::Arc;

mod throughputs;
pub use throughputs::Throughputs;

/// What a table of throughputs is called.
pub(super) const TABLE: &str = "simulation_throughputs.json";

/// Reads a workload. `file` is what errors call it. Throughputs are needed where the lines have no durations.
pub fn parse(file: &str, bytes: &[u8], throughputs: Option<&Throughputs>) -> Result<Workload, ReadError> {
    jobs(bytes, throughputs).in_file(file)
}

/// Whether the first line has no duration, so that throughputs are needed.
pub(super) fn needs_throughputs(bytes: &[u8]) -> bool {
    let first = Lines::of(bytes, Between::Tabs, None).next();
    first.is_ok_and(|line| line.is_some_and(|line| line.len() == 10))
}

fn jobs(bytes: &[u8], throughputs: Option<&Throughputs>) -> Result<Workload, ReadError> {
    let mut lines = Lines::of(bytes, Between::Tabs, None);
    let (mut assembly, mut left) = (Assembly::<()>::new(), LeftOut::of("lines"));
    let mut number = 0u64;
    while let Some(line) = lines.next()? {
        left.see();
        let job = match line.len() {
            10 => Row { line: &line, weight: 7, slo: 8, arrival: 9, duration: None },
            12 => Row { line: &line, weight: 8, slo: 9, arrival: 11, duration: Some(10) },
            _ => return Err(line.miscounted("10 as Gavel writes them, or 12 as Shockwave does")),
        };
        match job.submission(number, throughputs, &mut left)? {
            Some(submission) => {
                assembly.add(submission, vec![]).map_err(|message| line.place(0).fail(message))?;
            }
            None => left.leave("the throughput of its type on v100 is 0"),
        }
        number += 1;
    }
    let workload = assembly.finish().expect("nobody waits for anybody");
    Ok(Workload { notes: left.notes(), ..workload })
}

/// A line, and where its fields stand.
struct Row<'a> {
    line: &'a Line<'a>,
    weight: usize,
    slo: usize,
    arrival: usize,
    duration: Option<usize>,
}

impl Row<'_> {
    /// One job, or none when it could not run.
    fn submission(
        &self,
        number: u64,
        throughputs: Option<&Throughputs>,
        left: &mut LeftOut,
    ) -> Result<Option<Submission>, ReadError> {
        let line = self.line;
        let name = line.need(0, "job type", value::name)?;
        let width = line.need(6, "scale factor", value::width)?;
        let at = line.need(self.arrival, "arrival", value::instant)?;
        let length = match self.duration {
            Some(index) => line.need(index, "duration", value::span)?,
            None => match self.length(&name, width, throughputs)? {
                Some(length) => length,
                None => return Ok(None),
            },
        };
        let slo = line.need(self.slo, "SLO", decimal)?;
        if line.need(self.weight, "priority weight", decimal)? != 1.0 {
            left.lose("the priority weight");
        }
        if self.duration.is_some() && line.need(7, "mode", mode)? {
            left.lose("the batch size that changes while it runs");
        }
        let mut spec = JobSpec::gang(name, width, Shape::any());
        if slo > 0.0 {
            let after = seconds(slo * length.as_seconds()).unwrap_or(Span::CENTURY);
            spec.deadline = Some(at + after);
        }
        let (spec, truth) = (Arc::new(spec), Truth::runs(length));
        Ok(Some(Submission { label: number.to_string(), at, spec, after: vec![], truth }))
    }

    /// How long its steps take on the kind that is measured by; none when they cannot run there.
    fn length(
        &self,
        name: &str,
        width: u32,
        throughputs: Option<&Throughputs>,
    ) -> Result<Option<Span>, ReadError> {
        let steps = self.line.need(5, "total steps", decimal)?;
        let place = self.line.place(5);
        let Some(throughputs) = throughputs else {
            let message = format!(
                "the line has steps and no duration, expected a table of throughputs, {TABLE}, beside the file"
            );
            return Err(place.fail(message));
        };
        let Some(throughput) = throughputs.of(name, width) else {
            let (name, message) = (value::quoted(name), "expected it in the table of throughputs");
            return Err(self.line.place(0).fail(format!("{name} at scale factor {width}, {message}")));
        };
        if throughput <= 0.0 {
            return Ok(None);
        }
        let long = "the steps take more than 100 years, or a negative time";
        seconds(steps / throughput).map(Some).ok_or_else(|| place.fail(long))
    }
}

/// Seconds as a span, if they are between nothing and a century.
fn seconds(seconds: f64) -> Option<Span> {
    let ns = (seconds * 1e9).round();
    (0.0..=Span::CENTURY.0 as f64).contains(&ns).then_some(Span(ns as i64))
}

fn decimal(text: &str) -> Result<f64, Expected> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("a number".into()),
    }
}

/// Whether the batch size changes.
fn mode(text: &str) -> Result<bool, Expected> {
    match text {
        "static" => Ok(false),
        "accordion" | "gns" => Ok(true),
        _ => Err("static, accordion or gns".into()),
    }
}

#[cfg(test)]
mod tests;
