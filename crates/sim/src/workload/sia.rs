//! The workloads of Pollux and Sia, and the table of Philly jobs that they were drawn from.
//!
//! ```csv
//! name,time,application,num_replicas,batch_size,duration
//! cifar10-0,107,cifar10,6,2048,1800
//! bert-1,110.5,bert,2,24,600.5
//! ```
//! `time` is the submission and `duration` the length, in seconds. `num_replicas` single devices of any kind start
//! together. The batch size, and the `category` that later files have, are read over. In place of the duration there
//! may be `gpu_time`, in seconds of one device.
//!
//! The files as published have neither: there the length of a job follows from measured profiles of its application,
//! from its batch size and from where it runs. Such a file is refused in one sentence. Whoever knows lengths adds a
//! column.
//!
//! The other table has the columns `timestamp,duration,num_gpus,gpu_time,cluster` and one row for each job of Philly.
//! Jobs are called by the number of their row, from 0 on; the cluster is the queue, and times count from the first
//! submission.
//!
//! Left out, and counted: rows of either table that ask for no device.

use super::assemble::Assembly;
use super::left_out::LeftOut;
use super::moment::{from_the_first, moment};
use super::read_error::{InFile, ReadError};
use super::table::{Column, Table};
use super::{DEFAULT, Submission, Truth, Workload, limits, value};
use consort_types::{JobSpec, Shape, Span};
use std::sync::Arc;

const JOBS: [&str; 8] =
    ["name", "time", "application", "num_replicas", "batch_size", "duration", "gpu_time", "category"];
const POOL: [&str; 5] = ["timestamp", "duration", "num_gpus", "gpu_time", "cluster"];

/// Whether a header is that of a workload.
pub(super) fn is_job_table(header: &[String]) -> bool {
    JOBS[..4].iter().all(|name| header.iter().any(|column| column == name))
}

/// Whether a header is that of the table of Philly jobs.
pub(super) fn is_pool(header: &[String]) -> bool {
    header == POOL
}

/// Reads a workload. `file` is what errors call it.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Workload, ReadError> {
    jobs(bytes).in_file(file)
}

/// Reads the table of Philly jobs. `file` is what errors call it.
pub fn parse_pool(file: &str, bytes: &[u8]) -> Result<Workload, ReadError> {
    pool(bytes).in_file(file)
}

fn jobs(bytes: &[u8]) -> Result<Workload, ReadError> {
    let mut table = Table::open(bytes, &JOBS, &JOBS[..4])?;
    let [name, time, application, replicas, _, duration, gpu_time, _] = JOBS.map(|name| table.column(name));
    if !duration.is_there() && !gpu_time.is_there() {
        let message = "missing column `duration` or `gpu_time`: run times cannot be derived, since profiles of \
                       applications are not read";
        return Err(table.place_of(name).fail(message));
    }
    let (mut assembly, mut left) = (Assembly::<()>::new(), LeftOut::of("rows"));
    while table.next()? {
        left.see();
        let count = table.need(replicas, width)?;
        if count == 0 {
            left.leave("no devices requested");
            continue;
        }
        let label = table.need(name, value::name)?;
        let spec = JobSpec::gang(table.need(application, value::name)?, count, Shape::any());
        let truth = Truth::runs(length(&table, duration, gpu_time, count)?);
        let at = table.need(time, value::instant)?;
        let submission = Submission { label, at, spec: Arc::new(spec), after: vec![], truth };
        assembly.add(submission, vec![]).map_err(|message| table.place_of(name).fail(message))?;
    }
    Ok(Workload { notes: left.notes(), ..assembly.finish().expect("nobody waits for anybody") })
}

/// The duration of a row, or its device time spread over its devices.
fn length(table: &Table<'_>, duration: Column, gpu_time: Column, devices: u32) -> Result<Span, ReadError> {
    match table.read(duration, value::span)? {
        Some(length) => Ok(length),
        None if gpu_time.is_there() => Ok(Span(table.need(gpu_time, value::span)?.0 / i64::from(devices))),
        None => table.need(duration, value::span),
    }
}

fn pool(bytes: &[u8]) -> Result<Workload, ReadError> {
    let mut table = Table::open(bytes, &POOL, &POOL)?;
    let [timestamp, duration, gpus, _, cluster] = POOL.map(|name| table.column(name));
    let (mut assembly, mut left) = (Assembly::<()>::new(), LeftOut::of("rows"));
    let mut number = 0u64;
    while table.next()? {
        left.see();
        let label = number.to_string();
        number += 1;
        let count = table.need(gpus, width)?;
        if count == 0 {
            left.leave("no devices requested");
            continue;
        }
        let mut spec = JobSpec::gang(label.as_str(), count, Shape::any());
        spec.queue = table.read(cluster, value::name)?.unwrap_or_else(|| DEFAULT.into());
        let truth = Truth::runs(table.need(duration, value::span)?);
        let at = table.need(timestamp, moment)?;
        let submission = Submission { label, at, spec: Arc::new(spec), after: vec![], truth };
        assembly.add(submission, vec![]).map_err(|message| table.place_of(timestamp).fail(message))?;
    }
    let workload = assembly.finish().expect("nobody waits for anybody");
    Ok(Workload { notes: left.notes(), ..from_the_first(workload) })
}

fn width(text: &str) -> Result<u32, value::Expected> {
    value::count(text, 0, limits::WIDTH)
}

#[cfg(test)]
mod tests;
