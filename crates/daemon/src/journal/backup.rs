//! A consistent copy of a journal that may be in use, in one file; and the way back into an empty data directory.
//!
//! Promises: a backup holds every event that was acknowledged before it began, and each of them was read and compared
//! with its checksum, as was what every job runs and how it ended. A restored directory opens like any other, and starts
//! nothing by itself: what had not ended at the last event of the backup may have ended since, so it is paused.
//! Never: blocks the daemon; the copy is one read transaction of a second connection.

use super::acknowledged::{self, Acknowledged, Found};
use super::identity::Identity;
use super::{FILE, Journal, REMEDY, recover, tables};
use crate::fault::Fault;
use crate::folder::{Folder, write_private};
use consort_agent::owned;
use consort_sched::stock;
use consort_types::{Capabilities, Time};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

/// What a data directory holds beside the journal that the next daemon needs.
const BESIDE: [&str; 3] = ["devices.yaml", "inventory.json", "slurm.json"];

/// The folder inside a data directory in which a restore makes everything ready.
const RESTORING: &str = "restoring";

/// Only in a backup: where it ends, and the files beside the journal.
const TABLES: &str = "
    CREATE TABLE backup(position INTEGER NOT NULL);
    CREATE TABLE backup_file(name TEXT PRIMARY KEY, body TEXT NOT NULL);
";

/// A backup that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The position of its last event.
    pub position: u64,
    /// The length of the file.
    pub bytes: u64,
}

/// A data directory that was filled from a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The position of the last event of the backup.
    pub position: u64,
    /// Jobs that had not ended then; all of them are paused now.
    pub living: u64,
    /// What users should know.
    pub notes: Vec<String>,
}

/// Told the position of each event that was checked, and how many there are.
pub type Seen<'a> = dyn FnMut(u64, u64) + 'a;

/// Copies the journal of a data directory, in use or not, into a new file.
pub fn backup(folder: &Path, file: &Path, seen: &mut Seen<'_>) -> Result<Backup, Fault> {
    if fs::symlink_metadata(file).is_ok() {
        return Err(Fault::request(format!("{} already exists", file.display()), "give another name"));
    }
    if !folder.is_dir() {
        return Err(Fault::request(
            format!("{}: no such data directory", folder.display()),
            "name the data directory of a daemon: --data-dir DIR",
        ));
    }
    let acknowledged = match acknowledged::read(folder)? {
        Found::Upto(position, identity) => (position, identity),
        _ => return Err(not_whole(folder, format!("{} is missing or damaged", acknowledged::FILE))),
    };
    let partial = beside(file, ".partial");
    let _ = fs::remove_file(&partial);
    let written = write(folder, &partial, acknowledged, seen);
    let renamed = written.and_then(|position| {
        let put = || -> std::io::Result<u64> {
            let copy = fs::File::open(&partial)?;
            copy.sync_all()?;
            fs::hard_link(&partial, file)?; // unlike a rename, never in the place of another file
            fs::remove_file(&partial)?;
            Ok(copy.metadata()?.len())
        };
        Ok(Backup { position, bytes: put().map_err(|error| Fault::at(file, &error))? })
    });
    if renamed.is_err() {
        let _ = fs::remove_file(&partial);
    }
    renamed
}

fn write(
    folder: &Path,
    partial: &Path,
    (acknowledged, whose): (u64, Option<Identity>),
    seen: &mut Seen<'_>,
) -> Result<u64, Fault> {
    let path = folder.join(FILE);
    let name = partial
        .to_str()
        .ok_or_else(|| Fault::request(format!("{} is not UTF-8", partial.display()), "give another name"))?;
    let source = tables::Shelf::open(&path)?;
    // Made here, so that only its owner can read it; SQLite fills an empty file.
    drop(owned::open(partial, OpenOptions::new().write(true).create_new(true))?);
    source.copy_into(name)?;
    let copy = Connection::open(partial)?;
    let position = tables::last_position(&copy)?;
    if whose.is_some() && whose != tables::identity(&copy)? {
        return Err(not_whole(folder, format!("{} is of another journal", acknowledged::FILE)));
    }
    let mut checked = 0;
    let torn = tables::each_event(&copy, 0, Time(i64::MIN), |at, _| {
        checked = at;
        seen(at, position);
    })?;
    if let Some(torn) = torn {
        return Err(not_whole(folder, format!("event {} of the journal {torn}", checked + 1)));
    }
    if position < acknowledged {
        let what =
            format!("it ends with event {position}, but events up to {acknowledged} were acknowledged");
        return Err(not_whole(folder, what));
    }
    tables::Shelf::open(partial)?.check_jobs().map_err(|fault| not_whole(folder, fault.to_string()))?;
    copy.execute_batch(TABLES)?;
    copy.execute("INSERT INTO backup VALUES (?1)", [position as i64])?;
    for name in BESIDE {
        let path = folder.join(name);
        if let Some(bytes) = crate::folder::read(&path)? {
            let text = crate::folder::text(&path, bytes)?;
            copy.execute("INSERT INTO backup_file VALUES (?1, ?2)", params![name, text])?;
        }
    }
    copy.close().map_err(|(_, error)| Fault::from(error))?;
    Ok(position)
}

fn not_whole(folder: &Path, what: String) -> Fault {
    Fault::new(format!("the journal in {} is incomplete: {what}", folder.display()), REMEDY)
}

/// Fills an empty data directory from a backup. Everything is made ready in a folder inside, and the journal is moved into
/// place last: a crash on the way leaves a directory that no daemon takes for a new one.
pub fn restore(file: &Path, folder: &Folder, seen: &mut Seen<'_>) -> Result<Restored, Fault> {
    let entries = fs::read_dir(folder.path()).map_err(|error| Fault::at(folder.path(), &error))?;
    if let Some(entry) = entries.flatten().find(|entry| entry.file_name() != "lock") {
        let what = format!("{} is not empty: {}", folder.path().display(), entry.file_name().display());
        return Err(Fault::request(what, "restore into a new directory: --data-dir DIR"));
    }
    let inside = folder.inside(RESTORING)?;
    let restored = fill(file, &inside, seen).and_then(|restored| {
        let last = inside.join(FILE);
        let moved = || -> std::io::Result<()> {
            for entry in fs::read_dir(&inside)?.flatten().filter(|entry| entry.path() != last) {
                fs::rename(entry.path(), folder.path().join(entry.file_name()))?;
            }
            fs::rename(&last, folder.path().join(FILE))?;
            fs::File::open(folder.path())?.sync_all()
        };
        moved().map_err(|error| Fault::at(folder.path(), &error))?;
        Ok(restored)
    });
    let _ = fs::remove_dir_all(&inside); // empty, or of no use
    restored
}

/// Refuses a data directory that a restore was about to fill when it was interrupted. A folder without anything left in it
/// says that all was moved.
pub(super) fn require_finished(folder: &Path) -> Result<(), Fault> {
    let inside = folder.join(RESTORING);
    if inside.symlink_metadata().is_err() || (folder.join(FILE).exists() && fs::remove_dir(&inside).is_ok()) {
        return Ok(());
    }
    Err(Fault::new(
        format!("`consort restore` into {} was interrupted", folder.display()),
        "remove that directory and restore the backup again",
    ))
}

fn fill(file: &Path, inside: &Path, seen: &mut Seen<'_>) -> Result<Restored, Fault> {
    let path = inside.join(FILE);
    let mut from = owned::open_named(file)?;
    let mut to = owned::open(&path, OpenOptions::new().write(true).create_new(true))?;
    std::io::copy(&mut from, &mut to).map_err(|error| Fault::at(&path, &error))?;
    drop(to);
    let no_backup = |why: String| {
        Fault::request(format!("{} is not a complete backup: {why}", file.display()), "give another file")
    };
    let copy = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let position = copy.query_row("SELECT position FROM backup", [], |row| row.get::<_, i64>(0)).optional();
    let position = position.map_err(|error| no_backup(error.to_string()))?;
    let position = position.ok_or_else(|| no_backup("it has no position".into()))? as u64;
    let mut checked = 0;
    let torn = tables::each_event(&copy, 0, Time(i64::MIN), |at, _| {
        checked = at;
        seen(at, position);
    });
    match torn {
        Ok(None) if checked == position => {}
        Ok(None) => return Err(no_backup(format!("it ends with event {checked} and not {position}"))),
        Ok(Some(torn)) => return Err(no_backup(format!("event {} {torn}", checked + 1))),
        Err(fault) => return Err(no_backup(fault.what)),
    }
    put_beside(&copy, inside)?;
    // From here on it is another journal than the one that was copied.
    copy.execute_batch("DROP TABLE backup; DROP TABLE backup_file; DROP TABLE IF EXISTS identity;")?;
    copy.close().map_err(|(_, error)| Fault::from(error))?;
    drop(Acknowledged::begin(inside, position, Identity::draw()?)?);
    let reading = recover::read(&path, &stock::standard().policy(), Capabilities::default())?;
    let living = reading.scheduler.view().living_count() as u64;
    let why = format!("the journal was restored from a backup that ends with event {position}");
    let (journal, recovered) = Journal::go_on(inside, reading, Some(&why))?;
    journal.close()?;
    let mut notes = recovered.notes;
    notes.extend(super::uncertain::note(inside, &recovered.scheduler));
    Ok(Restored { position, living, notes })
}

fn put_beside(copy: &Connection, inside: &Path) -> Result<(), Fault> {
    let mut statement = copy.prepare("SELECT name, body FROM backup_file")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, body): (String, String) = (row.get(0)?, row.get(1)?);
        // Names come from a file that anybody may have written.
        if BESIDE.contains(&name.as_str()) {
            write_private(&inside.join(name), &body)?;
        }
    }
    Ok(())
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    file.with_file_name(name)
}
