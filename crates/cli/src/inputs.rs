//! Files that are read: a cluster and a workload, checked before anything runs or is written.

use crate::failure::{Failure, note};
use crate::names;
use consort_sched::{Scheduler, stock};
use consort_sim::workload::{self, Cluster, DEFAULT, ReadError, Submission, Workload};
use consort_types::{Capabilities, Time};
use std::fs::{self, File};
use std::path::Path;

/// A cluster that the scheduler accepts.
pub fn cluster(path: &Path) -> Result<Cluster, Failure> {
    readable_or_folder(path)?;
    let cluster = workload::read_cluster(path).map_err(malformed)?;
    check(path, &cluster, None)?;
    Ok(cluster)
}

/// A workload whose tenants and queues the cluster, read from `declared_in`, accepts.
pub fn workload(path: &Path, declared_in: &Path, cluster: &Cluster) -> Result<Workload, Failure> {
    readable_or_folder(path)?;
    let workload = workload::read_workload(path).map_err(malformed)?;
    for text in &workload.notes {
        note(&format!("consort: {}: {text}", path.display()));
    }
    declared(path, declared_in, cluster, &workload)?;
    check(path, cluster, Some(&workload))?;
    if workload.submissions.is_empty() {
        note(&format!("consort: {}: the file has no jobs, so there is nothing to measure", path.display()));
    }
    Ok(workload)
}

/// Refuses jobs that name an undeclared tenant or queue if the cluster declares any: most likely the name is misspelled.
fn declared(path: &Path, by: &Path, cluster: &Cluster, workload: &Workload) -> Result<(), Failure> {
    let tenants: Vec<&str> = cluster.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    let queues: Vec<&str> = cluster.queues.iter().map(|queue| queue.name.as_str()).collect();
    let known = |name: &str, all: &[&str]| name == DEFAULT || all.is_empty() || all.contains(&name);
    for Submission { label, spec, .. } in &workload.submissions {
        for (what, name, all) in [("tenant", &spec.tenant, &tenants), ("queue", &spec.queue, &queues)] {
            if !known(name, all) {
                return Err(Failure::request(
                    format_args!(
                        "{}: job {label} uses {what} `{name}`, which {} does not declare",
                        path.display(),
                        by.display()
                    ),
                    names::meant(name, all, "declared:"),
                ));
            }
        }
    }
    Ok(())
}

/// A file's content is not what it should be: the request was wrong.
pub fn malformed(error: ReadError) -> Failure {
    Failure::Request(match error.message.contains("expected") || error.message.contains("; ") {
        true => error.to_string(),
        false => format!("{error}; check the file"),
    })
}

/// A folder may stand for the files of a published log that it holds; whether it does is for the reader to say.
fn readable_or_folder(path: &Path) -> Result<(), Failure> {
    if path.is_dir() { Ok(()) } else { readable(path) }
}

/// Whether a file can be read at all, in words of our own.
pub fn readable(path: &Path) -> Result<(), Failure> {
    let fault = |error: std::io::Error| Failure::file(path, "read", &error);
    let found = fs::metadata(path).map_err(fault)?;
    if found.is_dir() {
        return Err(Failure::request(format_args!("{}: is a folder", path.display()), "name a file"));
    }
    // A pipe is left alone: opening it twice would lose what it holds.
    if found.is_file() { File::open(path).map(drop).map_err(fault) } else { Ok(()) }
}

/// Offers everything that is set up to a scheduler of its own, which is then thrown away: what would be refused later
/// is refused now, with the name of the file.
fn check(path: &Path, cluster: &Cluster, workload: Option<&Workload>) -> Result<(), Failure> {
    let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
    let more = workload.map(|workload| workload.undeclared(cluster)).unwrap_or_default();
    for input in cluster.inputs().into_iter().chain(more) {
        let event = scheduler
            .accept(Time::ZERO, input)
            .map_err(|refusal| Failure::Request(format!("{}: {refusal}", path.display())))?;
        scheduler.apply(&event);
    }
    Ok(())
}
