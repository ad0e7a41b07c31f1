//! The job list: what a person writes to describe a workload in full.
//!
//! ```yaml
//! # The common case: 8 members of one device each, all together, for an hour.
//! - {name: a, at: 0s, devices: 8, kind: h200, run: 1h}
//! # Elastic: any number from 2 to 8; `run` is the time at 8. Either kind will do.
//! - {name: b, at: 10m, devices: 2-8, kind: [h200, mi300x], run: 3h, estimate: 2h, deadline: +6h}
//! # Half a device, with 40 GiB of its memory.
//! - {name: c, devices: 1, share: 0.5, memory: 40GiB, run: 20m, qos: best-effort}
//! # 4 workers with 2 devices each, all inside one island.
//! - {name: d, workers: 4, devices_per_worker: 2, kind: h200, within: nvlink, run: 2h}
//! # A bag of 100 tasks of 5 minutes each, and a service of 3 replicas that never end.
//! - {name: e, tasks: 100, devices: 1, run: 5m}
//! - {name: f, replicas: 3, devices: 1, kind: h200}
//! # The first two attempts fail half-way; three retries are allowed.
//! - {name: g, devices: 1, run: 1h, failures: 2, retries: 3, backoff: 30s}
//! # Waits for others, which must be submitted earlier.
//! - {name: h, at: 1h, devices: 1, run: 1m, after: [a, {job: g, when: ended}]}
//! # Everything else: stages of roles of shapes.
//! - name: i
//!   at: 2h
//!   tenant: red
//!   queue: urgent
//!   priority: 5
//!   qos: guaranteed
//!   time_limit: 8h
//!   restart_cost: 30s
//!   stages:
//!     - {name: prepare, tasks: 10, devices: 1, kind: cpu, run: 10m}
//!     - name: train
//!       after: prepare
//!       run: 5h
//!       roles:
//!         - name: worker
//!           count: 4-8
//!           shapes: [{kind: h200, devices: 2, within: node}, {kind: mi300x, devices: 1, memory: 100GiB}]
//!         - {name: server, count: 2, kind: cpu}
//! ```
//! Only `name` is always needed, and `run` except for a service. `at` is 0s and `devices` 1 unless given. Of a role,
//! `count` says how many members and `devices` how many each of them has. `at` and `deadline` count from the start
//! of the simulation; a deadline with a plus sign counts from the submission.
//!
//! This module checks what can be seen in the file alone; whether a job fits a cluster is for others to say.

use super::assemble::{Assembly, Wait};
use super::read_error::{InFile, Place, ReadError};
use super::yaml::{self, Fields, Node, Value};
use super::{DEFAULT, Submission, Truth, Workload, value};
use consort_types::file::fields;
use consort_types::file::stages::Stage;
use consort_types::{Condition, JobSpec, Shape, Span, StageSpec, Time};
use std::sync::Arc;

mod body;

/// Fields of a job that are not about what it runs on.
const JOB: [&str; fields::count(fields::JOB, fields::LIST)] = fields::names(fields::JOB, fields::LIST);

/// Reads a job list. `file` is what errors call it.
pub fn parse(file: &str, text: &str) -> Result<Workload, ReadError> {
    jobs(text).in_file(file)
}

fn jobs(text: &str) -> Result<Workload, ReadError> {
    let known: Vec<&str> = JOB.into_iter().chain(body::FIELDS).collect();
    let mut assembly = Assembly::new();
    let root = yaml::parse(text, "a list of jobs")?;
    let Value::List(nodes) = root.value else {
        return Err(root.place.fail("is not a list, expected a list of jobs"));
    };
    for node in nodes {
        job(node.fields("a job", &known)?, &mut assembly)?;
    }
    assembly.finish().map_err(|(place, message)| place.fail(message))
}

fn job(mut fields: Fields, assembly: &mut Assembly<Place>) -> Result<(), ReadError> {
    let named = fields.need("name")?;
    let name = named.read("name", value::name)?;
    let at = fields.read("at", value::instant)?.unwrap_or(Time::ZERO);
    // Everything that is not given keeps the plainest setting.
    let mut spec = JobSpec::gang(name.as_str(), 1, Shape::any());
    spec.tenant = fields.read("tenant", value::name)?.unwrap_or_else(|| DEFAULT.into());
    spec.queue = fields.read("queue", value::name)?.unwrap_or_else(|| DEFAULT.into());
    spec.priority = fields.read("priority", value::priority)?.unwrap_or(spec.priority);
    spec.qos = fields.read("qos", value::qos)?.unwrap_or(spec.qos);
    spec.deadline = fields.read("deadline", |text| value::deadline(text, at))?;
    spec.estimate = fields.read("estimate", value::span)?;
    spec.time_limit = fields.read("time_limit", value::span)?;
    spec.restart_cost = fields.read("restart_cost", value::span)?.unwrap_or(spec.restart_cost);
    spec.retries = fields.read("retries", value::retries)?.unwrap_or(spec.retries);
    spec.backoff = fields.read("backoff", value::span)?.unwrap_or(spec.backoff);
    let failures = fields.read("failures", value::retries)?.unwrap_or(0);
    let waits = fields.take("after").map_or(Ok(vec![]), waits)?;
    let (stages, lengths) = match fields.take("stages") {
        Some(node) => {
            fields.refuse_beside("stages", &body::FIELDS)?;
            stages(node)?
        }
        None => {
            let body = body::read(&mut fields)?;
            let stage = StageSpec::new("main", body.form, body.roles);
            (vec![stage], vec![body.length])
        }
    };
    spec.stages = stages;
    let truth = Truth { lengths, failures, ..Truth::default() };
    let submission = Submission { label: name, at, spec: Arc::new(spec), after: vec![], truth };
    assembly.add(submission, waits).map_err(|message| named.place.fail(message))
}

/// `a`, or `[a, {job: b, when: ended}]`.
fn waits(node: Node) -> Result<Vec<Wait<Place>>, ReadError> {
    let items = match node.value {
        Value::Map(_) => vec![node],
        _ => node.one_or_more("after")?,
    };
    let wait = |node: Node| {
        if let Value::Text(_) = node.value {
            let name = node.read("after", value::name)?;
            return Ok(Wait { name, when: Condition::Succeeded, place: node.place });
        }
        let mut fields = node.fields("`after`", &["job", "when"])?;
        let job = fields.need("job")?;
        let when = fields.read("when", value::condition)?.unwrap_or_default();
        Ok(Wait { name: job.read("job", value::name)?, when, place: job.place })
    };
    items.into_iter().map(wait).collect()
}

/// The stages of a job and their true lengths.
fn stages(node: Node) -> Result<(Vec<StageSpec>, Vec<Span>), ReadError> {
    let read = consort_types::file::stages::read(node, &body::FIELDS, body::read)?;
    let stage = |stage: Stage<body::Body>| {
        let Stage { name, after, body } = stage;
        (StageSpec { after, ..StageSpec::new(name, body.form, body.roles) }, body.length)
    };
    Ok(read.into_iter().map(stage).unzip())
}

#[cfg(test)]
mod tests;
