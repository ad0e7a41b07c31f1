//! Reads a journal without changing a byte of it, and says whether anything that was acknowledged is missing.
//!
//! The judgement comes before the first write, because SQLite's next write would overwrite the damaged part of the
//! write-ahead log, and a refusal must leave everything as it was found.

use super::acknowledged;
use super::identity::Identity;
use super::snapshot::Found;
use super::{snapshot, tables};
use crate::fault::Fault;
use consort_sched::{Policy, Scheduler};
use consort_types::{Capabilities, Time};
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
    /// Whether there is a snapshot of this layout, and of this journal.
    pub has_snapshot: bool,
    /// Which journal this is, where the database says so.
    pub identity: Option<Identity>,
    /// The state of the snapshot, where it knows more than the journal: only for telling what is lost.
    pub ahead: Option<Box<Scheduler>>,
    /// Why the snapshot cannot be one of this journal.
    foreign: Option<String>,
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
        identity: None,
        ahead: None,
        foreign: None,
    };
    let folder = path.parent().unwrap_or(path);
    let mut whose = None;
    let saved = match snapshot::read(folder) {
        Found::Saved(saved, identity) => {
            whose = identity;
            Some(saved)
        }
        Found::Nothing => None,
        Found::Damaged(why) => {
            let note = format!("the snapshot was not used, the whole journal is replayed: {why}");
            reading.notes.push(note);
            None
        }
        Found::Newer(layout) => return Err(snapshot::newer(folder, layout)),
    };
    reading.saved = saved.as_ref().map_or(0, |saved| saved.seen());
    match tables::look(path).and_then(|connection| {
        let last = connection.as_ref().map_or(Ok(0), tables::last_position)?;
        let identity = connection.as_ref().map_or(Ok(None), tables::identity)?;
        Ok((connection, last, identity))
    }) {
        Ok((connection, last, identity)) => {
            (reading.connection, reading.last, reading.identity) = (connection, last, identity);
        }
        Err(tables::Unreadable::Damaged(why)) => reading.damage = Some(why),
        Err(other) => return Err(other.into_fault(path)),
    }
    if let Some(ahead) = saved.as_ref().filter(|saved| saved.seen() > reading.last) {
        let ahead = Scheduler::restore(policy.clone(), capabilities, (**ahead).clone());
        reading.ahead = Some(Box::new(ahead));
    }
    // One without an identity was written before there was any, and is renewed.
    if let (Some(saved), Some(_), Some(connection)) = (saved, whose, &reading.connection) {
        reading.has_snapshot = true;
        let at = tables::time_of(connection, saved.seen()).unwrap_or(None);
        if whose != reading.identity && reading.last > 0 {
            reading.foreign = Some("is of another journal".into());
        } else if at.is_some_and(|at| at != saved.now()) {
            reading.foreign = Some(format!("does not fit event {}", saved.seen()));
        } else if at.is_some() {
            reading.scheduler = Scheduler::restore(policy.clone(), capabilities, *saved);
        }
    }
    let from = reading.kept();
    let since = if from == 0 { Time(i64::MIN) } else { reading.scheduler.view().now() };
    if let Some(connection) = &reading.connection {
        reading.torn = tables::each_event(connection, from, since, |_, event| {
            reading.scheduler.apply(&event);
            reading.scheduler.forget_outboxes();
        })?;
    }
    reading.replayed = reading.kept() - from;
    Ok(reading)
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
        if let Some(how) = self.mismatch(found) {
            return Some(how);
        }
        if let (Some(torn), behind @ 1..) = (&self.torn, self.last.saturating_sub(kept + 1)) {
            let event = kept + 1;
            return Some(format!(
                "event {event} of the journal {torn}, and {behind} events behind it would be lost with it"
            ));
        }
        let known = match found {
            acknowledged::Found::Upto(position, _) => position.max(self.saved),
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
            acknowledged::Found::Upto(..) => return None,
            acknowledged::Found::Nothing if self.last == 0 => {
                let trace = trace(path.parent().unwrap_or(path))?; // without any it is a new journal
                let files = format!("{} and {} are missing", path.display(), acknowledged::FILE);
                return Some(format!("{files}, although consort was here: there is {trace}"));
            }
            acknowledged::Found::Nothing => "is missing or empty",
            acknowledged::Found::Damaged => "is damaged",
        };
        Some(format!("{} {how}, so whether the journal is whole is unknown", acknowledged::FILE))
    }

    /// Which file is not of this journal, if any. A database without events is not compared: it may be new.
    fn mismatch(&self, found: acknowledged::Found) -> Option<String> {
        if let acknowledged::Found::Upto(_, whose @ Some(_)) = found
            && self.last > 0
            && whose != self.identity
        {
            return Some(format!("{} is of another journal than the events", acknowledged::FILE));
        }
        self.foreign.as_ref().map(|how| format!("the snapshot {how}"))
    }
}

/// Something in a data directory that is there only after a journal was.
fn trace(folder: &Path) -> Option<String> {
    let is_file = |name: &&str| folder.join(name).symlink_metadata().is_ok();
    if let Some(file) = ["inventory.json", "slurm.json", "snapshot"].into_iter().find(is_file) {
        return Some(file.into());
    }
    let is_ours = |name: &str| name.contains('#') || name.parse::<u64>().is_ok();
    ["run", "records", "logs"].iter().find_map(|place| {
        let entries = std::fs::read_dir(folder.join(place)).ok()?;
        let mut names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.find(|name| is_ours(name)).map(|name| format!("{place}/{name}"))
    })
}
