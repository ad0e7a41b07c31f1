//! The job and cluster tables of the Tiresias simulator.
//!
//! Jobs have a number of devices, a submission and a duration in whole seconds; the iterations and the name of the
//! network are kept for those who model speed. The cluster is so many switches of so many like nodes. Processors
//! and memory of the nodes are read over: nothing here is scheduled by them.

use super::assemble::table;
use super::read_error::{InFile, ReadError};
use super::table::Table;
use super::{Cluster, Submission, Truth, Workload, limits, read, value};
use consort_types::{DeviceGroup, JobSpec, KindSpec, LevelSpec, NodeSpec, Settings, Shape, Span, Time};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

const JOBS: [&str; 7] =
    ["job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration", "interval"];
const CLUSTER: [&str; 5] =
    ["num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node", "mem_p_node"];

/// One row of a job table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TiresiasJob {
    /// Unique in the table.
    pub id: u64,
    /// How many devices.
    pub gpus: u32,
    /// When it was submitted.
    pub submit_s: i64,
    /// How long it runs on all its devices.
    pub duration_s: i64,
    /// How many iterations that is.
    pub iterations: u64,
    /// The network that is trained; empty when the table does not say.
    pub network: String,
}

/// Whether a header is that of a job table.
pub(super) fn is_job_table(header: &[String]) -> bool {
    ["num_gpu", "submit_time", "duration"].iter().all(|name| header.iter().any(|column| column == name))
}

/// Reads a job table from a file, plain or packed with gzip.
pub fn read_jobs(path: impl AsRef<Path>) -> Result<Vec<TiresiasJob>, ReadError> {
    let (file, bytes) = read::bytes(path.as_ref())?;
    parse_jobs(&file, &bytes)
}

/// Reads a job table. `file` is what errors call it.
pub fn parse_jobs(file: &str, bytes: &[u8]) -> Result<Vec<TiresiasJob>, ReadError> {
    jobs(bytes).in_file(file)
}

/// Reads a cluster table, whose devices are all of one kind. `file` is what errors call it.
pub fn parse_cluster(file: &str, bytes: &[u8], kind: &str) -> Result<Cluster, ReadError> {
    cluster(bytes, kind).in_file(file)
}

fn jobs(bytes: &[u8]) -> Result<Vec<TiresiasJob>, ReadError> {
    let mut table = Table::open(bytes, &JOBS, &["job_id", "num_gpu", "submit_time", "duration"])?;
    let [id, gpus, submit_s, iterations, network, duration_s, _] = JOBS.map(|name| table.column(name));
    let number = |text: &str| text.parse().map_err(|_| "a whole number that is not negative".to_string());
    let (mut jobs, mut seen) = (vec![], HashSet::new());
    while table.next()? {
        let job = TiresiasJob {
            id: table.need(id, number)?,
            gpus: table.need(gpus, value::width)?,
            submit_s: table.need(submit_s, value::positive_seconds)?,
            duration_s: table.need(duration_s, value::positive_seconds)?,
            iterations: table.read(iterations, number)?.unwrap_or(0),
            network: table.read(network, value::name)?.unwrap_or_default(),
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

fn cluster(bytes: &[u8], kind: &str) -> Result<Cluster, ReadError> {
    let mut table = Table::open(bytes, &CLUSTER, &CLUSTER[..3])?;
    let [switches, nodes, gpus, ..] = CLUSTER.map(|name| table.column(name));
    if !table.next()? {
        return Err(table.place_of(switches).fail("missing row after the header"));
    }
    let (switches, nodes_each) = (table.need(switches, value::width)?, table.need(nodes, value::width)?);
    let count = table.need(gpus, value::width)?;
    let devices = u128::from(switches) * u128::from(nodes_each) * u128::from(count);
    if devices > u128::from(limits::DEVICES) {
        return Err(table.place_of(gpus).fail("the devices of the cluster are more than 1,000,000"));
    }
    if table.next()? {
        return Err(table
            .place_of(table.column("num_switch"))
            .fail("is a second row, expected a single one"));
    }
    let node = |index: u32| NodeSpec {
        name: format!("n{}", index + 1),
        domains: vec![format!("s{}", index / nodes_each + 1)],
        devices: vec![DeviceGroup { kind: kind.into(), count, island: 0 }],
        features: vec![],
        host: consort_types::Host::NONE,
    };
    Ok(Cluster {
        settings: Settings {
            levels: vec![LevelSpec { name: "switch".into(), link: None }],
            ..Settings::default()
        },
        kinds: vec![KindSpec::named(kind)],
        nodes: (0..switches * nodes_each).map(node).collect(),
        ..Cluster::default()
    })
}

/// One row as a gang of single devices of one kind; an empty `kind` accepts any.
pub fn to_submission(job: &TiresiasJob, kind: &str) -> Submission {
    let shape = if kind.is_empty() { Shape::any() } else { Shape::of(kind) };
    let spec = Arc::new(JobSpec::gang(job.id.to_string(), job.gpus, shape));
    let truth = Truth::runs(Span::seconds(job.duration_s));
    Submission { label: job.id.to_string(), at: Time::seconds(job.submit_s), spec, after: vec![], truth }
}

/// All rows as a workload.
pub fn to_workload(jobs: &[TiresiasJob], kind: &str) -> Workload {
    table(jobs.iter().map(|job| to_submission(job, kind)))
}

#[cfg(test)]
mod tests;
