//! The Philly clusters, as Microsoft publishes them: `cluster_job_log` (JSON) and `cluster_machine_list` (CSV).
//!
//! ```json
//! [{"status": "Pass", "vc": "ee9e8c", "jobid": "application_1", "user": "ce2f4c",
//!   "submitted_time": "2017-10-07 01:11:39",
//!   "attempts": [
//!     {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:09",
//!      "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}]},
//!     {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-07 02:13:30",
//!      "detail": [{"ip": "m12", "gpus": ["gpu6", "gpu7"]}]}]}]
//! ```
//! A job is a gang of as many single devices, of any kind, as its last attempt had. Its length is the time that its
//! attempts took together: what failed and was tried again is work that the cluster did, and is not failed anew. An
//! attempt without a start or an end is a slip of the log and counts nothing. The user becomes the tenant, the virtual
//! cluster the queue. Times count from the first submission; how a job ended is read over.
//!
//! Left out, and counted: jobs without an attempt, jobs whose last attempt has no end (the log was taken while they
//! ran), jobs none of whose attempts has a start and an end after it, and jobs without a device.
//!
//! The machines are a table with or without its header, `machineId, number of GPUs, single GPU mem`. Their kinds are
//! not published, so machines are told apart by the memory of their devices: `gpu-24GB`.

use super::assemble::Assembly;
use super::left_out::LeftOut;
use super::moment::{from_the_first, maybe, moment};
use super::read_error::{InFile, Place, ReadError};
use super::table::{Table, without_mark};
use super::{Cluster, Submission, Truth, Workload, limits, value};
use consort_types::{DeviceGroup, Host, JobSpec, KindSpec, NodeSpec, Shape, Span, Time};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const MACHINES: [&str; 3] = ["machineId", "number of GPUs", "single GPU mem"];

/// Whether a header is that of the machine list.
pub(super) fn is_machine_list(header: &[String]) -> bool {
    header == MACHINES
}

/// Reads a job log. `file` is what errors call it.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Workload, ReadError> {
    jobs(bytes).in_file(file)
}

/// Reads a list of machines. `file` is what errors call it.
pub fn parse_cluster(file: &str, bytes: &[u8]) -> Result<Cluster, ReadError> {
    machines(bytes).in_file(file)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    #[serde(rename = "status")]
    _status: IgnoredAny,
    #[serde(deserialize_with = "name")]
    vc: String,
    #[serde(deserialize_with = "name")]
    jobid: String,
    attempts: Vec<Attempt>,
    #[serde(deserialize_with = "date")]
    submitted_time: Time,
    #[serde(deserialize_with = "name")]
    user: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attempt {
    #[serde(default, deserialize_with = "maybe_date")]
    start_time: Option<Time>,
    #[serde(default, deserialize_with = "maybe_date")]
    end_time: Option<Time>,
    detail: Vec<Detail>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Detail {
    #[serde(rename = "ip")]
    _ip: IgnoredAny,
    /// Only their number matters, and so nothing is kept of them.
    gpus: Vec<IgnoredAny>,
}

fn jobs(bytes: &[u8]) -> Result<Workload, ReadError> {
    let jobs: Vec<Job> = serde_json::from_slice(without_mark(bytes)).map_err(|error| unreadable(&error))?;
    let (mut assembly, mut left) = (Assembly::<()>::new(), LeftOut::of("jobs"));
    for job in jobs {
        left.see();
        let (gpus, length) = match job.work() {
            Ok(work) => work,
            Err(reason) => {
                left.leave(reason);
                continue;
            }
        };
        let mut spec = JobSpec::gang(job.jobid.as_str(), gpus, Shape::any());
        (spec.tenant, spec.queue) = (job.user, job.vc);
        let (at, spec, truth) = (job.submitted_time, Arc::new(spec), Truth::runs(length));
        let submission = Submission { label: job.jobid, at, spec, after: vec![], truth };
        assembly.add(submission, vec![]).map_err(|message| Place::default().fail(message))?;
    }
    let workload = assembly.finish().expect("nobody waits for anybody");
    Ok(Workload { notes: left.notes(), ..from_the_first(workload) })
}

impl Job {
    /// How many devices it had and for how long, or why it is left out.
    fn work(&self) -> Result<(u32, Span), &'static str> {
        let last = self.attempts.last().ok_or("never started")?;
        if last.end_time.is_none() {
            return Err("the last attempt has no end");
        }
        let taken = |attempt: &Attempt| match (attempt.start_time, attempt.end_time) {
            (Some(start), Some(end)) if end >= start => Some((end - start).0),
            _ => None,
        };
        let spans: Vec<i64> = self.attempts.iter().filter_map(taken).collect();
        let gpus: usize = last.detail.iter().map(|detail| detail.gpus.len()).sum();
        let gpus = u32::try_from(gpus).ok().filter(|gpus| *gpus <= limits::WIDTH);
        match (spans.is_empty(), gpus) {
            (true, _) => Err("no attempt has a start and an end after it"),
            (false, Some(0)) => Err("no device is named"),
            (false, None) => Err("more than 1,000,000 devices are named"),
            (false, Some(gpus)) => {
                let total = spans.iter().fold(0i64, |total, span| total.saturating_add(*span));
                Ok((gpus, Span(total).min(Span::CENTURY)))
            }
        }
    }
}

/// The words of the JSON reader, in our sentence.
fn unreadable(error: &serde_json::Error) -> ReadError {
    let place = Place { line: error.line() as u64, column: error.column() as u64 };
    let whole = error.to_string();
    let words = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(words, _)| words);
    // It quotes what it found in full, however long that is.
    let words: String = words.chars().take(300).flat_map(char::escape_debug).collect();
    if let Some(field) = words.strip_prefix("missing field ") {
        return place.fail(format!("missing field {field} of a job or attempt"));
    }
    if let Some(field) = words.strip_prefix("duplicate field ") {
        return place.fail(format!("duplicate field {field}"));
    }
    match error.is_data() {
        true => place.fail(words),
        false => place.fail(format!("is not JSON ({words}), expected a list of jobs")),
    }
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    value::name(&text).map_err(|expected| complaint(&text, &expected))
}

fn date<'de, D: Deserializer<'de>>(from: D) -> Result<Time, D::Error> {
    let text = String::deserialize(from)?;
    moment(&text).map_err(|expected| complaint(&text, &expected))
}

fn maybe_date<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Time>, D::Error> {
    let text = Option::<String>::deserialize(from)?.unwrap_or_default();
    maybe(moment)(&text).map_err(|expected| complaint(&text, &expected))
}

fn complaint<E: Error>(found: &str, expected: &str) -> E {
    E::custom(format!("a value is {}, expected {expected}", value::quoted(found)))
}

fn machines(bytes: &[u8]) -> Result<Cluster, ReadError> {
    let mut table = Table::open_named(bytes, &MACHINES)?;
    let [id, gpus, memory] = MACHINES.map(|name| table.column(name));
    let (mut nodes, mut kinds, mut seen, mut devices) = (vec![], BTreeMap::new(), BTreeSet::new(), 0);
    while table.next()? {
        let name = table.need(id, value::name)?;
        let count = table.need(gpus, value::width)?;
        let memory_bytes = table.need(memory, value::memory)?;
        let kind = format!("gpu-{}", table.text(memory)?.unwrap_or_default().replace(' ', ""));
        if !seen.insert(name.clone()) {
            return Err(table.complain(id, "a name that no earlier machine has"));
        }
        devices += u64::from(count);
        if devices > limits::DEVICES {
            let message = "the devices up to here are more than 1,000,000";
            return Err(table.place_of(gpus).fail(message));
        }
        kinds.entry(kind.clone()).or_insert(memory_bytes);
        let devices = vec![DeviceGroup { kind, count, island: 0 }];
        nodes.push(NodeSpec { name, domains: vec![], devices, features: vec![], host: Host::NONE });
    }
    let kind = |(name, memory_bytes): (String, u64)| KindSpec { memory_bytes, ..KindSpec::named(name) };
    Ok(Cluster { kinds: kinds.into_iter().map(kind).collect(), nodes, ..Cluster::default() })
}

#[cfg(test)]
mod tests;
