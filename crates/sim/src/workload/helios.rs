//! The job tables of the Philly and ITP clusters, as the Helios line of work replays them.
//!
//! Both are tables of jobs that belong to a group (a virtual cluster, or a cluster), beside a small table that says
//! how many nodes each group has. Times are whole seconds after an origin of the table's own; in the Philly table
//! the first submissions lie before it. Estimates come from an error model and may be negative: the rows keep them
//! as they are, because the published policies sort by them.
//!
//! This module reads and converts; which jobs are replayed, and by what rules, is for the benchmark to say.

use super::assemble::table;
use super::read_error::{InFile, ReadError};
use super::table::Table;
use super::{DEFAULT, Submission, Truth, Workload, limits, read, value};
use consort_types::{JobSpec, Shape, Span, Time};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

const KNOWN: [&str; 11] = [
    "job_id",
    "submit_s",
    "duration_s",
    "gpus",
    "vc",
    "cluster",
    "est_s",
    "model",
    "batch_size",
    "iters",
    "deadline_s",
];
const NEEDED: [&str; 5] = ["job_id", "submit_s", "duration_s", "gpus", "est_s"];

/// One row of a job table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeliosJob {
    /// Unique in the table.
    pub id: u64,
    /// The virtual cluster or cluster it belongs to.
    pub group: String,
    /// When it was submitted; may be negative.
    pub submit_s: i64,
    /// How long it runs on all its devices.
    pub duration_s: i64,
    /// How many devices.
    pub gpus: u32,
    /// How long it was said to run; may be negative.
    pub est_s: i64,
    /// When it should have ended, in the same seconds as `submit_s`.
    pub deadline_s: Option<i64>,
}

/// One row of a table of groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeliosGroup {
    /// The name that jobs use.
    pub name: String,
    /// How many nodes it has.
    pub nodes: u32,
    /// How many devices each node has.
    pub gpus_per_node: u32,
}

/// Whether a header is that of a job table.
pub(super) fn is_job_table(header: &[String]) -> bool {
    let has = |name: &str| header.iter().any(|column| column == name);
    has("submit_s") && has("duration_s") && (has("vc") || has("cluster"))
}

/// Reads a job table from a file, plain or packed with gzip.
pub fn read_jobs(path: impl AsRef<Path>) -> Result<Vec<HeliosJob>, ReadError> {
    let (file, bytes) = read::bytes(path.as_ref())?;
    parse_jobs(&file, &bytes)
}

/// Reads a table of groups from a file, plain or packed with gzip.
pub fn read_groups(path: impl AsRef<Path>) -> Result<Vec<HeliosGroup>, ReadError> {
    let (file, bytes) = read::bytes(path.as_ref())?;
    parse_groups(&file, &bytes)
}

/// Reads a job table. `file` is what errors call it.
pub fn parse_jobs(file: &str, bytes: &[u8]) -> Result<Vec<HeliosJob>, ReadError> {
    jobs(bytes).in_file(file)
}

/// Reads a table of groups. `file` is what errors call it.
pub fn parse_groups(file: &str, bytes: &[u8]) -> Result<Vec<HeliosGroup>, ReadError> {
    groups(bytes).in_file(file)
}

fn jobs(bytes: &[u8]) -> Result<Vec<HeliosJob>, ReadError> {
    let mut table = Table::open(bytes, &KNOWN, &NEEDED)?;
    let [id, submit_s, duration_s, gpus, est_s] = NEEDED.map(|name| table.column(name));
    let deadline_s = table.column("deadline_s");
    let group = match table.column("vc") {
        vc if vc.is_there() => vc,
        _ => table.column("cluster"),
    };
    if !group.is_there() {
        return Err(table.place_of(id).fail("missing column `vc` or `cluster`"));
    }
    let (mut jobs, mut seen) = (vec![], HashSet::new());
    while table.next()? {
        let job = HeliosJob {
            id: table.need(id, number)?,
            group: table.need(group, value::name)?,
            submit_s: table.need(submit_s, value::seconds)?,
            duration_s: table.need(duration_s, value::positive_seconds)?,
            gpus: table.need(gpus, value::width)?,
            est_s: table.need(est_s, whole)?,
            deadline_s: table.read(deadline_s, value::seconds)?,
        };
        if !seen.insert(job.id) {
            return Err(table.complain(id, "a number that no earlier job has"));
        }
        if jobs.len() == limits::JOBS {
            return Err(table.place_of(id).fail("is beyond the limit of 5,000,000 jobs"));
        }
        jobs.push(job);
    }
    Ok(jobs)
}

fn groups(bytes: &[u8]) -> Result<Vec<HeliosGroup>, ReadError> {
    let mut table =
        Table::open(bytes, &["vc", "cluster", "nodes", "gpus_per_node"], &["nodes", "gpus_per_node"])?;
    let [nodes, gpus_per_node] = ["nodes", "gpus_per_node"].map(|name| table.column(name));
    let name = match table.column("vc") {
        vc if vc.is_there() => vc,
        _ => table.column("cluster"),
    };
    if !name.is_there() {
        return Err(table.place_of(nodes).fail("missing column `vc` or `cluster`"));
    }
    let (mut groups, mut seen, mut devices) = (vec![], HashSet::new(), 0u64);
    while table.next()? {
        let group = HeliosGroup {
            name: table.need(name, value::name)?,
            nodes: table.need(nodes, value::width)?,
            gpus_per_node: table.need(gpus_per_node, value::width)?,
        };
        if !seen.insert(group.name.clone()) {
            return Err(table.complain(name, "a name that no earlier group has"));
        }
        devices = devices.saturating_add(u64::from(group.nodes) * u64::from(group.gpus_per_node));
        if devices > limits::DEVICES {
            return Err(table.place_of(nodes).fail("the devices up to here are more than 1,000,000"));
        }
        groups.push(group);
    }
    Ok(groups)
}

fn number(text: &str) -> Result<u64, value::Expected> {
    text.parse().map_err(|_| "a whole number that is not negative".into())
}

/// Estimates are kept as they are, however wild: 100 times too long is one of the errors that are modelled.
fn whole(text: &str) -> Result<i64, value::Expected> {
    text.parse().map_err(|_| "whole seconds, which may be negative".into())
}

/// One row as a gang of single devices of one kind; an empty `kind` accepts any. The group becomes the tenant. An
/// estimate below one second counts as one second, since a job cannot be said to need less than no time.
pub fn to_submission(job: &HeliosJob, kind: &str) -> Submission {
    let shape = if kind.is_empty() { Shape::any() } else { Shape::of(kind) };
    let mut spec = JobSpec::gang(job.id.to_string(), job.gpus, shape);
    spec.tenant = job.group.clone();
    spec.queue = DEFAULT.into();
    spec.estimate = Some(Span::seconds(job.est_s.max(1)).min(Span::CENTURY));
    spec.deadline = job.deadline_s.map(Time::seconds);
    spec.restart_cost = Span::seconds(restart_cost_s(job.gpus));
    let truth = Truth::runs(Span::seconds(job.duration_s));
    let at = Time::seconds(job.submit_s);
    Submission { label: job.id.to_string(), at, spec: Arc::new(spec), after: vec![], truth }
}

/// What a preempted job pays when it starts again, by its width.
pub fn restart_cost_s(gpus: u32) -> i64 {
    match gpus {
        0 | 1 => 7,
        2..=8 => 30,
        _ => 60,
    }
}

/// All rows as a workload.
pub fn to_workload(jobs: &[HeliosJob], kind: &str) -> Workload {
    table(jobs.iter().map(|job| to_submission(job, kind)))
}

#[cfg(test)]
mod tests;
