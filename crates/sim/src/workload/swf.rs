//! The Standard Workload Format: logs and models of parallel machines, one job a line.
//!
//! ```swf
//! ; MaxNodes: 64
//! ; MaxProcs: 128
//! 1   0  5 3600 8 -1 -1 8 7200 -1 1 3 1 -1 1 -1 -1 -1
//! 2  60 -1  120 4 -1 -1 4   -1 -1 0 5 1 -1 1 -1  1 30
//! ```
//! Eighteen fields with blanks between them, -1 where something is not known; times in seconds, which may have
//! decimals. A line that begins with `;` is a comment, and those at the top describe the machine.
//!
//! | field | becomes |
//! |---|---|
//! | 1 job number | the name |
//! | 2 submit time | when it arrives, as written |
//! | 4 run time | its length |
//! | 8 requested processors, or else 5 allocated | so many single devices of any kind, as one gang |
//! | 9 requested time | the estimate; it kills nobody, because logs are full of jobs that ran longer |
//! | 12 user | tenant `u3` |
//! | 15 queue | queue `q1` |
//! | 17 preceding job | waits until that one has ended |
//!
//! Left out, and counted: parts of jobs that were interrupted (status 2, 3 and 4; the whole job has a line of its
//! own), jobs cancelled before they started (status 5, no run time), and lines without a run time or a processor. A
//! think time (18) cannot be kept, nor can a wait for a job that is left out: both are counted in the notes. Memory,
//! CPU time, group, executable and partition are read over.
//!
//! As a cluster, the comments `MaxNodes` and `MaxProcs` become so many nodes that share so many processors evenly.

use super::assemble::{Assembly, Wait};
use super::left_out::LeftOut;
use super::lines::{Between, Line, Lines};
use super::read_error::{InFile, Place, ReadError};
use super::value::{self, Expected};
use super::{Cluster, Submission, Truth, Workload, limits};
use consort_types::{Condition, DeviceGroup, Host, JobSpec, KindSpec, NodeSpec, Shape, Span, Time};
use std::collections::HashMap;
use std::sync::Arc;

/// What the devices of such a machine are called.
const PROCESSOR: &str = "processor";
const FIELDS: usize = 18;

/// Reads a log or a model. `file` is what errors call it.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Workload, ReadError> {
    jobs(bytes).in_file(file)
}

/// Reads the machine that the comments at the top describe. `file` is what errors call it.
pub fn parse_cluster(file: &str, bytes: &[u8]) -> Result<Cluster, ReadError> {
    cluster(bytes).in_file(file)
}

fn jobs(bytes: &[u8]) -> Result<Workload, ReadError> {
    let mut lines = Lines::of(bytes, Between::Blanks, Some(b';'));
    let (mut assembly, mut left) = (Assembly::new(), LeftOut::of("lines"));
    // When each job that is kept arrives. Looked up, never iterated.
    let mut kept: HashMap<u64, Time> = HashMap::new();
    while let Some(line) = lines.next()? {
        if line.len() != FIELDS {
            return Err(line.miscounted("the 18 of the Standard Workload Format"));
        }
        left.see();
        let row = Row::of(&line)?;
        if let Some(reason) = row.cannot_run() {
            left.leave(reason);
            continue;
        }
        let place = line.place(16);
        let waits = match row.preceding {
            None => vec![],
            Some(other) if kept.get(&other).is_some_and(|at| *at <= row.submit) => {
                if row.think.is_some_and(|think| think > Span::ZERO) {
                    left.lose("the think time");
                }
                vec![Wait { name: other.to_string(), when: Condition::Ended, place }]
            }
            Some(_) => {
                left.lose("the wait for a job that is left out or comes later");
                vec![]
            }
        };
        kept.insert(row.number, row.submit);
        assembly.add(row.submission(), waits).map_err(|message| line.place(0).fail(message))?;
    }
    let mut workload = assembly.finish().map_err(|(place, message): (Place, _)| place.fail(message))?;
    workload.notes = left.notes();
    Ok(workload)
}

/// What is used of one line.
struct Row {
    number: u64,
    submit: Time,
    run: Option<Span>,
    processors: u32,
    requested_time: Option<Span>,
    status: Option<u64>,
    user: Option<u64>,
    queue: Option<u64>,
    preceding: Option<u64>,
    think: Option<Span>,
}

impl Row {
    fn of(line: &Line<'_>) -> Result<Self, ReadError> {
        let (allocated, requested) = (
            line.need(4, "allocated processors", known(processors))?,
            line.need(7, "requested processors", known(processors))?,
        );
        let requested = requested.filter(|count| *count > 0);
        Ok(Self {
            number: line.need(0, "job number", number)?,
            submit: line.need(1, "submit time", value::instant)?,
            run: line.need(3, "run time", known(value::span))?,
            processors: requested.or(allocated).unwrap_or(0),
            requested_time: line.need(8, "requested time", known(value::span))?,
            status: line.need(10, "status", known(number))?,
            user: line.need(11, "user", known(number))?,
            queue: line.need(14, "queue", known(number))?,
            preceding: line.need(16, "preceding job", known(number))?,
            think: line.need(17, "think time", known(value::span))?,
        })
    }

    fn cannot_run(&self) -> Option<&'static str> {
        match (self.status, self.run) {
            (Some(2..=4), _) => Some("part of a job that was interrupted"),
            (Some(5), None | Some(Span::ZERO)) => Some("cancelled before it started"),
            (_, None) => Some("no run time is known"),
            _ if self.processors == 0 => Some("no processors requested"),
            _ => None,
        }
    }

    fn submission(&self) -> Submission {
        let label = self.number.to_string();
        let mut spec = JobSpec::gang(label.as_str(), self.processors, Shape::any());
        if let Some(user) = self.user {
            spec.tenant = format!("u{user}");
        }
        if let Some(queue) = self.queue {
            spec.queue = format!("q{queue}");
        }
        spec.estimate = self.requested_time;
        let truth = Truth::runs(self.run.unwrap_or(Span::ZERO));
        Submission { label, at: self.submit, spec: Arc::new(spec), after: vec![], truth }
    }
}

/// What a field says, or nothing when it says -1.
fn known<T>(
    parse: impl FnOnce(&str) -> Result<T, Expected>,
) -> impl FnOnce(&str) -> Result<Option<T>, Expected> {
    |text| match text {
        "-1" | "-1.0" | "-1.00" => Ok(None),
        _ => parse(text).map(Some).map_err(|expected| format!("{expected}, or -1 when it is not known")),
    }
}

fn number(text: &str) -> Result<u64, Expected> {
    text.parse().map_err(|_| "a whole number that is not negative".into())
}

fn processors(text: &str) -> Result<u32, Expected> {
    value::count(text, 0, limits::WIDTH)
}

fn cluster(bytes: &[u8]) -> Result<Cluster, ReadError> {
    let (mut nodes, mut processors) = (None, None);
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let Some(comment) = line.trim_ascii().strip_prefix(b";") else {
            if line.trim_ascii().is_empty() { continue } else { break }
        };
        let comment = String::from_utf8_lossy(comment);
        let Some((name, text)) = comment.split_once(':') else { continue };
        let found = match name.trim() {
            "MaxNodes" => &mut nodes,
            "MaxProcs" => &mut processors,
            _ => continue,
        };
        // A remark may follow the number.
        let text = text.split_ascii_whitespace().next().unwrap_or("");
        let number = value::width(text).map_err(|expected| {
            Place { line: index as u64 + 1, column: 1 }.fail(value::complaint(name.trim(), text, &expected))
        })?;
        *found = Some(number);
    }
    let missing = "missing comment `MaxProcs` or `MaxNodes` at the top";
    let processors = processors.or(nodes).ok_or_else(|| Place { line: 1, column: 1 }.fail(missing))?;
    // A machine of which only the processors are known is one node for each: nothing else would be safe to say.
    let nodes = nodes.unwrap_or(processors).min(processors);
    let node = |index: u32| NodeSpec {
        name: format!("n{}", index + 1),
        domains: vec![],
        devices: vec![DeviceGroup {
            kind: PROCESSOR.into(),
            count: processors / nodes + u32::from(index < processors % nodes),
            island: 0,
        }],
        features: vec![],
        host: Host::NONE,
    };
    Ok(Cluster {
        kinds: vec![KindSpec::named(PROCESSOR)],
        nodes: (0..nodes).map(node).collect(),
        ..Cluster::default()
    })
}

#[cfg(test)]
mod tests;
