//! What to do when the file itself is damaged: put it aside, and carry over what can still be read.
//!
//! Events are carried over in order up to the first that cannot be read, and with them what their jobs run. The jobs
//! that ended are told again by replaying. The damaged file is kept.

use super::{history, tables};
use crate::fault::Fault;
use consort_sched::{Scheduler, stock};
use consort_types::Capabilities;
use rusqlite::{Connection, OpenFlags, params};
use std::fs;
use std::path::Path;

/// The name of the file that is being filled.
const FILLED: &str = "journal.salvaged";

/// Fills a new file from the damaged one, then lets the two change places. Says what became of it. A crash on the way
/// leaves the damaged file where it was, or [`finish`] puts the new one in its place.
pub(super) fn salvage(path: &Path) -> Result<String, Fault> {
    let filled = path.with_file_name(FILLED);
    remove(&filled)?;
    let new = tables::open(&filled).map_err(|error| error.into_fault(&filled))?;
    let (mut events, mut works) = (0, 0);
    // Opened for writing, because its log must be taken in; one that is no database at all gives nothing.
    if let Ok(old) = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
        events = carry_events(&old, &new)?;
        works = carry(&old, &new, "work", 4, Some(events))?;
        carry(&old, &new, "environment", 2, None)?;
    }
    tell_endings_again(&new)?;
    new.pragma_update(None, "journal_mode", "delete")?; // one file, whole
    drop(new);
    let aside = aside(path);
    for suffix in ["", "-wal", "-shm"] {
        rename(&with_suffix(path, suffix), &with_suffix(&aside, suffix))?;
    }
    finish(path)?;
    Ok(format!(
        "{events} events and what {works} jobs run were carried over, the damaged file is kept as {}",
        name(&aside)
    ))
}

/// Puts a filled file in the place of one that is gone.
pub(super) fn finish(path: &Path) -> Result<(), Fault> {
    let filled = path.with_file_name(FILLED);
    if path.exists() || !filled.exists() {
        return Ok(());
    }
    rename(&filled, path)?;
    let folder = path.parent().unwrap_or(path);
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| Fault::at(folder, &error))
}

/// A file that lies beside another, as SQLite names it.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> std::path::PathBuf {
    path.with_file_name(format!("{}{suffix}", name(path)))
}

fn rename(from: &Path, to: &Path) -> Result<(), Fault> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Fault::at(from, &error)),
        _ => Ok(()),
    }
}

fn remove(path: &Path) -> Result<(), Fault> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let path = with_suffix(path, suffix);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Fault::at(&path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn aside(path: &Path) -> std::path::PathBuf {
    let free = |number: &u32| !path.with_file_name(format!("journal.damaged-{number}")).exists();
    let number = (1..).find(free).expect("there is always another number");
    path.with_file_name(format!("journal.damaged-{number}"))
}

fn carry_events(old: &Connection, new: &Connection) -> Result<u64, Fault> {
    let transaction = new.unchecked_transaction()?;
    let mut last = 0;
    {
        let mut insert = transaction.prepare("INSERT INTO event VALUES (?1, ?2, ?3)")?;
        let _ = tables::each_event(old, 0, |position, event| {
            let body = super::bytes::write(&event);
            if position == last + 1
                && insert.execute(params![position as i64, crc32fast::hash(&body), body]).is_ok()
            {
                last = position;
            }
        });
    }
    transaction.commit()?;
    Ok(last)
}

/// Copies the rows of a table as far as they can be read.
fn carry(
    old: &Connection,
    new: &Connection,
    table: &str,
    width: usize,
    upto: Option<u64>,
) -> Result<u64, Fault> {
    let transaction = new.unchecked_transaction()?;
    let mut copied = 0;
    {
        let holes = vec!["?"; width].join(", ");
        let mut insert = transaction.prepare(&format!("INSERT OR IGNORE INTO {table} VALUES ({holes})"))?;
        let behind = upto.map_or(String::new(), |upto| format!(" WHERE position <= {upto}"));
        let Ok(mut statement) = old.prepare(&format!("SELECT * FROM {table}{behind}")) else { return Ok(0) };
        let Ok(mut rows) = statement.query([]) else { return Ok(0) };
        while let Ok(Some(row)) = rows.next() {
            let values: Result<Vec<rusqlite::types::Value>, _> =
                (0..width).map(|column| row.get(column)).collect();
            let Ok(values) = values else { break };
            copied += insert.execute(rusqlite::params_from_iter(values))? as u64;
        }
    }
    transaction.commit()?;
    Ok(copied)
}

fn tell_endings_again(new: &Connection) -> Result<(), Fault> {
    let mut scheduler = Scheduler::new(stock::standard().policy(), Capabilities::default());
    let mut records = vec![];
    tables::each_event(new, 0, |_, event| {
        scheduler.apply(&event);
        records.extend(scheduler.take_ended().iter().map(history::Record::of));
        scheduler.forget_outboxes();
    })?;
    let transaction = new.unchecked_transaction()?;
    for record in records {
        tables::keep(&transaction, &record)?;
    }
    transaction.commit()?;
    Ok(())
}
