//! Jobs whose end is unknown because the events behind some position are gone: they are paused, and stay so until
//! their owner decides.
//!
//! A job that had not ended at the last event that survived may have ended since, so starting it again could run it
//! twice. `journal.uncertain` remembers which jobs were paused for this reason, because an event does not say why. It
//! only supplies words: without it the jobs are as paused as before.

use super::{Batch, NotCommitted, tables};
use crate::fault::Fault;
use crate::folder::write_private;
use consort_sched::Scheduler;
use consort_types::{Actor, Event, Input, JobId};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name of the file.
const FILE: &str = "journal.uncertain";
/// Job numbers that a note lists.
const LISTED: usize = 10;

/// Jobs that were paused, and why.
#[derive(Default, Serialize, Deserialize)]
struct Uncertain {
    why: String,
    jobs: Vec<JobId>,
}

/// Pauses every job that has not ended, durably.
pub(super) fn pause_all(
    folder: &Path,
    connection: &mut Connection,
    scheduler: &mut Scheduler,
    why: &str,
) -> Result<(), Fault> {
    let last = scheduler.view().seen();
    let living: Vec<JobId> = scheduler.view().jobs().map(|job| job.id()).collect();
    let mut batch = Batch::default();
    let mut jobs = vec![];
    for job in living {
        // Refused for jobs that are paused or ending: neither starts anything.
        if let Ok(event) = scheduler.accept(scheduler.view().now(), Input::Pause(job)) {
            scheduler.apply(&event);
            scheduler.forget_outboxes();
            batch.events.push(Event { actor: Some(Actor::Scheduler), ..event });
            jobs.push(job);
        }
    }
    if jobs.is_empty() {
        return Ok(());
    }
    jobs.extend(read(folder).jobs);
    jobs.sort_unstable();
    jobs.dedup();
    let text = serde_json::to_string(&Uncertain { why: why.into(), jobs }).expect("plain data");
    write_private(&folder.join(FILE), &text)?;
    tables::commit(connection, last, &batch).map_err(|error| match error {
        NotCommitted::Broken(fault) => fault,
        NotCommitted::Full => {
            Fault::new("the disk of the journal is full", "free some space, then start again")
        }
    })
}

/// What users should know of jobs that are still paused for this reason.
pub(super) fn note(folder: &Path, scheduler: &Scheduler) -> Option<String> {
    let Uncertain { why, jobs } = read(folder);
    let view = scheduler.view();
    let is_paused = |job: &JobId| view.job(*job).is_some_and(|job| job.is_paused());
    let paused: Vec<String> = jobs.into_iter().filter(is_paused).map(|job| job.0.to_string()).collect();
    if paused.is_empty() {
        let _ = std::fs::remove_file(folder.join(FILE)); // usually there is none
        return None;
    }
    let (count, listed) = (paused.len(), paused[..paused.len().min(LISTED)].join(", "));
    let more = if count > LISTED { format!(" and {} more", count - LISTED) } else { String::new() };
    let (jobs, are) = if count == 1 { ("job", "is") } else { ("jobs", "are") };
    Some(format!(
        "{jobs} {listed}{more} {are} paused, because {why}, and may have run to the end since: look at the results, \
         then `consort resume JOB` to run again or `consort cancel JOB`"
    ))
}

fn read(folder: &Path) -> Uncertain {
    let text = crate::folder::read(&folder.join(FILE)).unwrap_or(None).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
