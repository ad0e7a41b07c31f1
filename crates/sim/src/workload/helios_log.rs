//! The job log of the Helios clusters, as S-Lab publishes it (`cluster_log.csv` of HeliosData).
//!
//! ```csv
//! job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
//! 1425511,uXBbc,vcJkd,4,16,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:05,2020-06-09 18:45:05,240,4
//! ```
//! One row for each job that Slurm saw. The user becomes the tenant and the virtual cluster the queue; `gpu_num` is
//! the number of single devices, of any kind, that start together. `duration` is how long it ran, `queue` how long it
//! waited, both in seconds. Times count from the first submission. How the job ended, processors and nodes are read
//! over, and so is what the log calls `jobname`.
//!
//! Left out, and counted: jobs that ask for no device (half of the log), and jobs that never started.

use super::assemble::Assembly;
use super::left_out::LeftOut;
use super::moment::{from_the_first, maybe, moment};
use super::read_error::{InFile, ReadError};
use super::table::Table;
use super::{Submission, Truth, Workload, limits, value};
use consort_types::{JobSpec, Shape, Span};
use std::sync::Arc;

const KNOWN: [&str; 13] = [
    "job_id",
    "user",
    "vc",
    "gpu_num",
    "submit_time",
    "duration",
    "start_time",
    "jobname",
    "cpu_num",
    "node_num",
    "state",
    "end_time",
    "queue",
];

/// Whether a header is that of this log.
pub(super) fn is_job_log(header: &[String]) -> bool {
    ["gpu_num", "submit_time", "duration"].iter().all(|name| header.iter().any(|column| column == name))
}

/// Reads a job log. `file` is what errors call it.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Workload, ReadError> {
    jobs(bytes).in_file(file)
}

fn jobs(bytes: &[u8]) -> Result<Workload, ReadError> {
    let mut table = Table::open(bytes, &KNOWN, &KNOWN[..6])?;
    let [id, user, vc, gpus, submit, duration, start, ..] = KNOWN.map(|name| table.column(name));
    let (mut assembly, mut left) = (Assembly::<()>::new(), LeftOut::of("rows"));
    while table.next()? {
        left.see();
        let label = table.need(id, value::name)?;
        let at = table.need(submit, moment)?;
        let gpus = table.need(gpus, |text| value::count(text, 0, limits::WIDTH))?;
        let length = table.need(duration, maybe(seconds))?;
        let started = !start.is_there() || table.need(start, maybe(moment))?.is_some();
        let (Some(length), true, true) = (length, started, gpus > 0) else {
            left.leave(if gpus == 0 { "no devices requested" } else { "never started" });
            continue;
        };
        let mut spec = JobSpec::gang(label.as_str(), gpus, Shape::any());
        spec.tenant = table.need(user, value::name)?;
        spec.queue = table.need(vc, value::name)?;
        let truth = Truth::runs(length);
        let submission = Submission { label, at, spec: Arc::new(spec), after: vec![], truth };
        assembly.add(submission, vec![]).map_err(|message| table.place_of(id).fail(message))?;
    }
    let workload = assembly.finish().expect("nobody waits for anybody");
    Ok(Workload { notes: left.notes(), ..from_the_first(workload) })
}

fn seconds(text: &str) -> Result<Span, value::Expected> {
    value::positive_seconds(text).map(Span::seconds)
}

#[cfg(test)]
mod tests;
