//! What to do when a loss is accepted: keep the damaged files, and carry over what can still be read.
//!
//! Events are carried over in order up to the first that cannot be read, and with them what their jobs run. The jobs
//! that ended are told again by replaying. The damaged file is kept.

use super::acknowledged::FILE;
use super::{history, tables};
use crate::fault::Fault;
use consort_sched::{Scheduler, stock};
use consort_types::{Capabilities, JobId, Time};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};
use std::fs;
use std::path::{Path, PathBuf};

/// The name of the file that is being filled.
const FILLED: &str = "journal.salvaged";

/// Keeps all files of a journal of which something is lost, and leaves in its place what can be read. A snapshot is never
/// part of that: it may know events that the journal no longer has. Says what became of it.
pub(super) fn set_aside(path: &Path, is_whole: bool) -> Result<(String, PathBuf), Fault> {
    let aside = aside(path);
    let told = match is_whole {
        true => {
            for suffix in ["", "-wal"] {
                copy(&with_suffix(path, suffix), &with_suffix(&aside, suffix))?;
            }
            format!("the files as they were found are kept as {}", name(&aside))
        }
        false => carry_over(path, &aside)?,
    };
    copy(&path.with_file_name(FILE), &with_suffix(&aside, ".acknowledged"))?;
    rename(&path.with_file_name("snapshot"), &with_suffix(&aside, ".snapshot"))?;
    sync(path.parent().unwrap_or(path))?;
    Ok((told, aside))
}

/// Keeps the output of jobs that the journal no longer knows beside the damaged files: the jobs that are submitted next get
/// their numbers, and would write into the same files.
pub(super) fn set_logs_aside(path: &Path, aside: &Path, next: JobId) -> Result<(), Fault> {
    let logs = path.with_file_name("logs");
    if !fs::symlink_metadata(&logs).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    let entries = fs::read_dir(&logs).map_err(|error| Fault::at(&logs, &error))?;
    let is_unknown = |job: &fs::DirEntry| {
        job.file_name().to_str().and_then(|name| name.parse().ok()).is_some_and(|id| JobId(id) >= next)
    };
    let kept = with_suffix(aside, ".logs");
    for job in entries.flatten().filter(is_unknown) {
        fs::create_dir_all(&kept).map_err(|error| Fault::at(&kept, &error))?;
        rename(&job.path(), &kept.join(job.file_name()))?;
    }
    Ok(())
}

/// Fills a new file from the damaged one, then lets the two change places. A crash on the way leaves the damaged file
/// where it was, or [`finish`] puts the new one in its place.
fn carry_over(path: &Path, aside: &Path) -> Result<String, Fault> {
    let filled = path.with_file_name(FILLED);
    remove(&filled, &["", "-wal", "-shm", "-journal"])?;
    let new = tables::open(&filled).map_err(|error| error.into_fault(&filled))?;
    let (mut events, mut works) = (0, 0);
    // One that is no database at all gives nothing. SQLite would remove the log beside an empty one.
    if fs::metadata(path).is_ok_and(|file| file.len() > 0)
        && let Ok(old) = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    {
        old.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        events = carry_events(&old, &new)?;
        works = carry(&old, &new, "work", Some(events))?;
        carry(&old, &new, "environment", None)?;
        carry(&old, &new, "lost", Some(events))?;
    }
    tell_endings_again(&new)?;
    new.pragma_update(None, "journal_mode", "delete")?; // one file, whole
    drop(new);
    for suffix in ["", "-wal", "-shm"] {
        rename(&with_suffix(path, suffix), &with_suffix(aside, suffix))?;
    }
    finish(path)?;
    Ok(format!(
        "{events} events and what {works} jobs run were carried over, the damaged file is kept as {}",
        name(aside)
    ))
}

/// Puts a filled file in the place of one that is gone. A log that lies there belonged to the one that is gone.
pub(super) fn finish(path: &Path) -> Result<(), Fault> {
    let filled = path.with_file_name(FILLED);
    if path.exists() || !filled.exists() {
        return Ok(());
    }
    remove(path, &["-wal", "-shm"])?;
    rename(&filled, path)?;
    sync(path.parent().unwrap_or(path))
}

fn sync(folder: &Path) -> Result<(), Fault> {
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| Fault::at(folder, &error))
}

/// Copies a file, if it is there, and waits for the disk.
fn copy(from: &Path, to: &Path) -> Result<(), Fault> {
    match fs::copy(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        copied => copied.and_then(|_| fs::File::open(to)?.sync_all()).map_err(|error| Fault::at(to, &error)),
    }
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

fn remove(path: &Path, suffixes: &[&str]) -> Result<(), Fault> {
    for suffix in suffixes {
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
    let free = |number: &u32| {
        let path = path.with_file_name(format!("journal.damaged-{number}"));
        ["", "-wal", ".acknowledged", ".snapshot", ".logs"]
            .iter()
            .all(|suffix| !with_suffix(&path, suffix).exists())
    };
    let number = (1..).find(free).expect("there is always another number");
    path.with_file_name(format!("journal.damaged-{number}"))
}

fn carry_events(old: &Connection, new: &Connection) -> Result<u64, Fault> {
    let transaction = new.unchecked_transaction()?;
    let mut last = 0;
    {
        let mut insert = transaction.prepare("INSERT INTO event VALUES (?1, ?2, ?3)")?;
        let _ = tables::each_event(old, 0, Time(i64::MIN), |position, event| {
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
fn carry(old: &Connection, new: &Connection, table: &str, upto: Option<u64>) -> Result<u64, Fault> {
    let transaction = new.unchecked_transaction()?;
    let mut copied = 0;
    {
        let behind = upto.map_or(String::new(), |upto| format!(" WHERE position <= {upto}"));
        let Ok(mut statement) = old.prepare(&format!("SELECT * FROM {table}{behind}")) else { return Ok(0) };
        // An older version of the tables has fewer columns.
        let width = statement.column_count();
        let (columns, holes) = (statement.column_names().join(", "), vec!["?"; width].join(", "));
        let mut insert =
            transaction.prepare(&format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({holes})"))?;
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
    tables::each_event(new, 0, Time(i64::MIN), |_, event| {
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
