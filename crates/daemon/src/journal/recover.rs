//! Reads a journal without changing a byte of it, and says whether anything that was acknowledged is missing.
//!
//! The judgement comes before the first write, because SQLite's next write would overwrite the damaged part of the
//! write-ahead log, and a refusal must leave everything as it was found.

use super::acknowledged;
use super::snapshot::Found;
use super::{snapshot, tables};
use crate::fault::Fault;
use consort_sched::{Policy, Scheduler};
use consort_types::Capabilities;
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;

/// What a journal holds.
pub(super) struct Reading {
    /// None where there is no file, or an empty one, or one that is no database.
    pub connection: Option<Connection>,
    /// The state after the last event that can be read.
    pub scheduler: Scheduler,
    /// Events that were replayed on top of a snapshot.
    pub replayed: u64,
    /// What users should know.
    pub notes: Vec<String>,
    /// Why the file is no whole database.
    pub damage: Option<String>,
    /// Why the events end before the table does.
    pub torn: Option<tables::Torn>,
    /// The position of the last row, whole or not.
    last: u64,
    /// The position of the snapshot, where it can be read.
    saved: u64,
    /// Whether there is a snapshot of this layout.
    pub has_snapshot: bool,
}

/// Rebuilds the state: a snapshot if it fits, and the events after it.
pub(super) fn read(
    path: &Path,
    policy: &Arc<dyn Policy>,
    capabilities: Capabilities,
) -> Result<Reading, Fault> {
    let mut reading = Reading {
        connection: None,
        scheduler: Scheduler::new(policy.clone(), capabilities),
        replayed: 0,
        notes: vec![],
        damage: None,
        torn: None,
        last: 0,
        saved: 0,
        has_snapshot: false,
    };
    let folder = path.parent().unwrap_or(path);
    let saved = match snapshot::read(folder) {
        Found::Saved(saved) => Some(saved),
        Found::Nothing => None,
        Found::Damaged(why) => {
            let note = format!("the snapshot was not used, the whole journal is replayed: {why}");
            reading.notes.push(note);
            None
        }
        Found::Newer(layout) => return Err(snapshot::newer(folder, layout)),
    };
    reading.has_snapshot = saved.is_some();
    reading.saved = saved.as_ref().map_or(0, |saved| saved.seen());
    match tables::look(path).and_then(|connection| {
        let last = connection.as_ref().map_or(Ok(0), tables::last_position)?;
        Ok((connection, last))
    }) {
        Ok((connection, last)) => (reading.connection, reading.last) = (connection, last),
        Err(tables::Unreadable::Damaged(why)) => reading.damage = Some(why),
        Err(other) => return Err(other.into_fault(path)),
    }
    if let Some(saved) = saved.filter(|saved| saved.seen() <= reading.last) {
        reading.scheduler = Scheduler::restore(policy.clone(), capabilities, *saved);
    }
    let from = reading.kept();
    if let Some(connection) = &reading.connection {
        reading.torn = tables::each_event(connection, from, |_, event| {
            reading.scheduler.apply(&event);
            reading.scheduler.forget_outboxes();
        })?;
    }
    reading.replayed = reading.kept() - from;
    Ok(reading)
}

/// What a data directory without a journal still has of jobs.
fn left_of_jobs(folder: &Path) -> Option<String> {
    let has_entries = |name: &&str| folder.join(name).read_dir().is_ok_and(|mut all| all.next().is_some());
    let snapshot = Some("snapshot").filter(|name| folder.join(name).exists());
    let left = ["records", "logs"].into_iter().find(has_entries).or(snapshot);
    left.map(|name| folder.join(name).display().to_string())
}

impl Reading {
    /// The position of the last event that can be read.
    pub fn kept(&self) -> u64 {
        self.scheduler.view().seen()
    }

    /// What is lost or may be, if anything. A torn last event that nobody was told of is not.
    pub fn loss(&self, found: acknowledged::Found, path: &Path) -> Option<String> {
        let kept = self.kept();
        if let Some(why) = &self.damage {
            return Some(format!("{} is damaged: {why}", path.display()));
        }
        if let (Some(torn), behind @ 1..) = (&self.torn, self.last.saturating_sub(kept + 1)) {
            let event = kept + 1;
            return Some(format!(
                "event {event} of the journal {torn}, and {behind} events behind it would be lost with it"
            ));
        }
        let known = match found {
            acknowledged::Found::Upto(position) => position.max(self.saved),
            _ => self.saved,
        };
        if known > kept {
            let what = match &self.torn {
                Some(torn) => format!("event {} of the journal {torn}", kept + 1),
                None if self.connection.is_none() => {
                    format!("{} is {}", path.display(), if path.exists() { "empty" } else { "missing" })
                }
                None => format!("the journal ends with event {kept}"),
            };
            let lost = known - kept;
            return Some(format!("{what}, but events up to {known} had been acknowledged: {lost} lost"));
        }
        let how = match found {
            acknowledged::Found::Upto(_) => return None,
            acknowledged::Found::Nothing if self.last == 0 => {
                // A new journal, unless something is left of the jobs of an old one.
                let left = left_of_jobs(path.parent().unwrap_or(path))?;
                let (missing, mark) = (path.display(), acknowledged::FILE);
                return Some(format!(
                    "{missing} and {mark} are missing, but {left} is there: the journal was lost"
                ));
            }
            acknowledged::Found::Nothing => "is missing or empty",
            acknowledged::Found::Damaged => "is damaged",
        };
        Some(format!("{} {how}, so whether the journal is whole is unknown", acknowledged::FILE))
    }
}
