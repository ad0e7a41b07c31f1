//! The SQLite file: what is in it, and how it is asked.
//!
//! Write-ahead log, and every commit waits for the disk. Readers have connections of their own and never hold up the
//! loop. Events, what jobs run and jobs that ended carry a checksum each, because a disk may lie about what it kept.

use super::bytes::{self, Unreadable as Bytes};
use super::identity::Identity;
use super::{Batch, NotCommitted, extent, history};
use crate::crash;
use crate::fault::{FREE_SPACE, Fault, sqlite_remedy};
use consort_agent::owned;
use consort_sched::Scheduler;
use consort_types::{Actor, Digest, Event, Fact, Input, JobId, JobSpec, Time, Work};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

/// The version of the tables. In version 1 only events had checksums.
const FORMAT: i64 = 2;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS event(position INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, body BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS work(
        job INTEGER PRIMARY KEY, position INTEGER NOT NULL, environment INTEGER NOT NULL, body BLOB NOT NULL,
        checksum INTEGER);
    CREATE INDEX IF NOT EXISTS work_by_position ON work(position);
    CREATE TABLE IF NOT EXISTS environment(digest INTEGER PRIMARY KEY, body BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS history(
        job INTEGER PRIMARY KEY, name TEXT NOT NULL, tenant TEXT NOT NULL, queue TEXT NOT NULL, state TEXT NOT NULL,
        ended INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER);
    CREATE TABLE IF NOT EXISTS lost(
        job INTEGER NOT NULL, allocation TEXT NOT NULL, position INTEGER NOT NULL, bytes INTEGER NOT NULL,
        since INTEGER NOT NULL, PRIMARY KEY(job, allocation)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS identity(id BLOB NOT NULL);
";

/// From version 1 to 2. What was written without a checksum stays without one.
const CHECKSUMS: &str = "
    BEGIN;
    ALTER TABLE work ADD COLUMN checksum INTEGER;
    ALTER TABLE history ADD COLUMN checksum INTEGER;
    PRAGMA user_version = 2;
    COMMIT;
";

/// Why the file cannot be used.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// It is no longer a whole database.
    Damaged(String),
    /// Somebody newer made it.
    Newer(i64),
    /// Anything else: no permission, no disk.
    Other(rusqlite::Error),
    /// Something that was said already.
    Fault(Fault),
}

impl Unreadable {
    pub fn into_fault(self, path: &Path) -> Fault {
        match self {
            Unreadable::Damaged(why) => Fault::new(
                format!("{} is damaged: {why}", path.display()),
                "bring back a copy of the data directory",
            ),
            Unreadable::Newer(format) => Fault::new(
                format!("{} is of format {format}, and this program knows {FORMAT}", path.display()),
                "use the version of consort that wrote it, or another data directory",
            ),
            Unreadable::Fault(fault) => fault,
            // A disk without room for the log's index is told as a file that cannot be opened.
            Unreadable::Other(error) if is_full(path) => Fault::new(
                format!("{} cannot be opened, because its disk is full: {error}", path.display()),
                FREE_SPACE,
            ),
            Unreadable::Other(error) => {
                let what = format!("{} cannot be opened: {error}", path.display());
                Fault::new(what, sqlite_remedy(&error))
            }
        }
    }
}

/// Whether the disk has not even room for what SQLite needs to open a file.
fn is_full(path: &Path) -> bool {
    const NEEDED: u64 = 128 << 10;
    let folder = path.parent().unwrap_or(path);
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < NEEDED)
}

impl From<Fault> for Unreadable {
    fn from(fault: Fault) -> Self {
        Unreadable::Fault(fault)
    }
}

impl From<rusqlite::Error> for Unreadable {
    fn from(error: rusqlite::Error) -> Self {
        match is_damage(&error) {
            true => Unreadable::Damaged(error.to_string()),
            false => Unreadable::Other(error),
        }
    }
}

/// Whether the bytes of the file are to blame. SQLite's general error is among it: our questions are right, so the tables
/// are not what they were.
fn is_damage(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase | Unknown))
}

/// Opens the file for reading, and for [`prepare`] to make it writable: nothing is changed, also not by closing it.
/// None where there is no file or an empty one, because SQLite would remove the log beside an empty one.
pub(super) fn look(path: &Path) -> Result<Option<Connection>, Unreadable> {
    for name in ["", "-wal", "-shm", "-journal"] {
        owned::require_file(&super::salvage::with_suffix(path, name)).map_err(Fault::from)?;
    }
    if std::fs::metadata(path).map_or(0, |file| file.len()) == 0 {
        return Ok(None);
    }
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    let format = format(&connection)?;
    if format > FORMAT {
        return Err(Unreadable::Newer(format));
    }
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let (pages, page_bytes) = (number("PRAGMA page_count")? as u64, number("PRAGMA page_size")? as u64);
    let missing = extent::missing_page(path, pages, page_bytes).map_err(|error| Fault::at(path, &error))?;
    if let Some(page) = missing {
        return Err(Unreadable::Damaged(format!("it is cut short, page {page} of {pages} is missing")));
    }
    Ok(Some(connection))
}

/// Opens the file for writing, or makes it.
pub(super) fn open(path: &Path) -> Result<Connection, Unreadable> {
    for beside in ["-wal", "-shm", "-journal"] {
        owned::require_file(&super::salvage::with_suffix(path, beside)).map_err(Fault::from)?;
    }
    // Made here and not by SQLite, which would follow a link; those beside it then get the same mode.
    let file =
        owned::open(path, OpenOptions::new().read(true).write(true).create(true)).map_err(Fault::from)?;
    owned::close_to_others(&file).map_err(|error| Fault::at(path, &error))?;
    drop(file);
    let connection = Connection::open(path)?;
    prepare(&connection)?;
    Ok(connection)
}

/// Makes a connection ready for writing: the tables are there, and every commit waits for the disk.
pub(super) fn prepare(connection: &Connection) -> Result<(), Unreadable> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    if format(connection)? == 1 {
        connection.execute_batch(CHECKSUMS)?;
    }
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "user_version", FORMAT)?;
    Ok(())
}

fn format(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Moves everything from the write-ahead log into the file and empties the log.
pub(super) fn take_in_log(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Whether a table was made.
fn is_there(connection: &Connection, table: &str) -> Result<bool, rusqlite::Error> {
    let there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
    Ok(connection.query_row(there, [table], |row| row.get::<_, i64>(0))? > 0)
}

/// Which journal this is; nothing where an older version wrote it.
pub(super) fn identity(connection: &Connection) -> Result<Option<Identity>, rusqlite::Error> {
    if !is_there(connection, "identity")? {
        return Ok(None);
    }
    let found =
        connection.query_row("SELECT id FROM identity", [], |row| row.get::<_, Vec<u8>>(0)).optional()?;
    Ok(found.and_then(|bytes| Identity::of(&bytes)))
}

/// Writes down which journal this is, from now on.
pub(super) fn identify(connection: &Connection, identity: Identity) -> Result<(), rusqlite::Error> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute("DELETE FROM identity", [])?;
    transaction.execute("INSERT INTO identity VALUES (?1)", [identity.bytes()])?;
    transaction.commit()
}

/// When an event happened, if it can be read.
pub(super) fn time_of(connection: &Connection, position: u64) -> Result<Option<Time>, rusqlite::Error> {
    let mut statement = connection.prepare("SELECT body FROM event WHERE position = ?1")?;
    let body = statement.query_row([position as i64], |row| row.get::<_, Vec<u8>>(0)).optional()?;
    Ok(body.and_then(|body| bytes::read(&body).ok()).map(|event| event.at))
}

/// The position of the last row; 0 where the tables were never made.
pub(super) fn last_position(connection: &Connection) -> Result<u64, rusqlite::Error> {
    if !is_there(connection, "event")? {
        return Ok(0);
    }
    let last: Option<i64> = connection.query_row("SELECT max(position) FROM event", [], |row| row.get(0))?;
    Ok(last.unwrap_or(0) as u64)
}

/// Why the events end before the table does.
pub(super) type Torn = String;

/// Every event behind a position, in order, until one is missing, damaged or earlier than the one before it; then says how.
/// The first must not be earlier than `since`.
pub(super) fn each_event(
    connection: &Connection,
    behind: u64,
    mut since: Time,
    mut each: impl FnMut(u64, Event),
) -> Result<Option<Torn>, Fault> {
    if last_position(connection)? == behind {
        return Ok(None); // or the tables were never made
    }
    let mut statement = connection
        .prepare("SELECT position, checksum, body FROM event WHERE position > ?1 ORDER BY position")?;
    let mut rows = statement.query([behind as i64])?;
    let mut expected = behind + 1;
    loop {
        let row = match rows.next() {
            Ok(None) => return Ok(None),
            Ok(Some(row)) => row,
            Err(error) if is_damage(&error) => {
                return Ok(Some(format!("is on a damaged page ({error})")));
            }
            Err(error) => return Err(error.into()),
        };
        let position = row.get::<_, i64>(0)? as u64;
        let Ok(checksum) = row.get::<_, i64>(1) else { return Ok(Some("has no checksum".into())) };
        let Ok(body) = row.get_ref(2)?.as_blob() else { return Ok(Some("is not of bytes".into())) };
        if position != expected {
            return Ok(Some("is missing".into()));
        }
        if i64::from(crc32fast::hash(body)) != checksum {
            return Ok(Some("has a wrong checksum".into()));
        }
        match bytes::read(body) {
            Ok(event) if event.at < since => return Ok(Some("is earlier than the event before it".into())),
            Ok(event) => {
                since = event.at;
                each(position, event);
            }
            Err(newer @ Bytes::Newer(_)) => {
                let what = format!("event {position} of the journal {newer}");
                return Err(Fault::new(what, "use the version of consort that wrote it"));
            }
            Err(torn) => return Ok(Some(torn.to_string())),
        }
        expected += 1;
    }
}

/// The bytes of every event behind a position that can be read, whatever they are.
pub(super) fn each_body(
    connection: &Connection,
    behind: u64,
    mut each: impl FnMut(&[u8]),
) -> Result<(), rusqlite::Error> {
    let mut statement = connection.prepare("SELECT body FROM event WHERE position > ?1 ORDER BY position")?;
    let mut rows = statement.query([behind as i64])?;
    while let Some(row) = rows.next()? {
        each(row.get_ref(0)?.as_blob().unwrap_or_default());
    }
    Ok(())
}

/// Moves the events behind a position out of the way, into a file that people can read. Returns how many.
pub(super) fn drop_after(connection: &mut Connection, kept: u64, folder: &Path) -> Result<u64, Unreadable> {
    let path = folder.join("journal.dropped");
    let transaction = connection.transaction()?;
    let mut dropped = 0;
    {
        let mut file =
            owned::open(&path, OpenOptions::new().append(true).create(true)).map_err(Fault::from)?;
        let mut statement =
            transaction.prepare("SELECT position, body FROM event WHERE position > ?1 ORDER BY position")?;
        let mut rows = statement.query([kept as i64])?;
        while let Ok(Some(row)) = rows.next() {
            dropped += 1;
            let body = row.get_ref(1).ok().and_then(|body| body.as_blob().ok()).unwrap_or_default();
            let line = format!("{} {}\n", row.get::<_, i64>(0).unwrap_or(0), String::from_utf8_lossy(body));
            file.write_all(line.as_bytes()).map_err(|error| Fault::at(&path, &error))?;
        }
        file.sync_all().map_err(|error| Fault::at(&path, &error))?;
    }
    transaction.execute("DELETE FROM event WHERE position > ?1", [kept as i64])?;
    transaction.execute("DELETE FROM work WHERE position > ?1", [kept as i64])?;
    transaction.execute("DELETE FROM lost WHERE position > ?1", [kept as i64])?;
    transaction.commit()?;
    Ok(dropped)
}

/// Takes out of the history what has not ended after all.
pub(super) fn forget_endings(
    connection: &mut Connection,
    scheduler: &Scheduler,
) -> Result<(), rusqlite::Error> {
    let view = scheduler.view();
    let transaction = connection.transaction()?;
    transaction.execute("DELETE FROM history WHERE job >= ?1", [view.next_job().0 as i64])?;
    for job in view.jobs() {
        transaction.prepare_cached("DELETE FROM history WHERE job = ?1")?.execute([job.id().0 as i64])?;
    }
    transaction.commit()?;
    Ok(())
}

fn not_committed(error: rusqlite::Error) -> NotCommitted {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => NotCommitted::Full,
        Some(ErrorCode::ConstraintViolation) => NotCommitted::Broken(Fault::new(
            format!("another consort writes to the same journal ({error}); this one stops"),
            "find the processes that use this data directory, end all but one, and check the journal with `consort replay`",
        )),
        // A disk that is full for the log beside the file is told as a failed write.
        Some(ErrorCode::SystemIoFailure) if error.to_string().contains("full") => NotCommitted::Full,
        _ => NotCommitted::Broken(error.into()),
    }
}

/// One transaction for everything in the batch.
pub(super) fn commit(connection: &mut Connection, last: u64, batch: &Batch) -> Result<(), NotCommitted> {
    let write = |connection: &mut Connection| -> Result<(), rusqlite::Error> {
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3)")?;
            for (position, event) in (last + 1..).zip(&batch.events) {
                let body = bytes::write(event);
                insert.execute(params![position as i64, crc32fast::hash(&body), body])?;
                if let Fact::Accepted(Input::OutputLost { allocation, bytes, since }) = &event.fact {
                    let (job, bytes) =
                        (allocation.ask.job.0 as i64, i64::try_from(*bytes).unwrap_or(i64::MAX));
                    // A daemon that was killed may be told once more.
                    transaction
                        .prepare_cached("INSERT OR REPLACE INTO lost VALUES (?1, ?2, ?3, ?4, ?5)")?
                        .execute(params![job, allocation.to_string(), position as i64, bytes, since.0])?;
                }
            }
            let mut insert = transaction.prepare_cached("INSERT INTO work VALUES (?1, ?2, ?3, ?4, ?5)")?;
            let mut around =
                transaction.prepare_cached("INSERT OR IGNORE INTO environment VALUES (?1, ?2)")?;
            for (job, submission) in &batch.works {
                let digest = Digest::of(&submission.work.inherited) as i64;
                if digest != no_environment() {
                    around.execute(params![digest, json(&submission.work.inherited)])?;
                }
                let work = Work { inherited: vec![], ..submission.work.clone() };
                let (position, body) = (submission.position as i64, json(&work));
                let checksum = work_checksum(position, digest, &body);
                insert.execute(params![job.0 as i64, position, digest, body, checksum])?;
            }
            for ended in &batch.ended {
                let ran_on = batch.ran_on.get(&ended.job).cloned();
                keep(&transaction, &history::Record { ran_on, ..history::Record::of(ended) })?;
            }
        }
        crash::point("before-commit");
        transaction.commit()
    };
    write(connection).map_err(not_committed)
}

/// Puts one job that has ended into the history.
pub(super) fn keep(connection: &Connection, record: &history::Record) -> Result<(), rusqlite::Error> {
    let (spec, body) = (&record.spec, json(record));
    connection
        .prepare_cached("INSERT OR REPLACE INTO history VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
        .execute(params![
            record.job.0 as i64,
            spec.name,
            spec.tenant,
            spec.queue,
            record.state().word(),
            record.ended.0,
            body,
            crc32fast::hash(&body)
        ])?;
    Ok(())
}

/// Of what a job runs, and of where the rest of it is.
fn work_checksum(position: i64, environment: i64, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in [&position.to_le_bytes(), &environment.to_le_bytes(), body] {
        hasher.update(part);
    }
    hasher.finalize()
}

fn damaged(what: &str) -> Fault {
    Fault::new(
        format!("{what} is damaged in the journal: it has a wrong checksum"),
        "check the disk it is on",
    )
}

fn no_environment() -> i64 {
    Digest::of(&Vec::<(String, String)>::new()) as i64
}

fn json<T: serde::Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data")
}

fn parsed<T: serde::de::DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(bytes)
        .map_err(|error| Fault::new(format!("{what} cannot be read: {error}"), "check the disk it is on"))
}

/// A row of the history.
fn record(job: JobId, body: &[u8], checksum: Option<i64>) -> Result<history::Record, Fault> {
    let what = format!("the history of job {job}");
    match checksum.is_none_or(|kept| kept == i64::from(crc32fast::hash(body))) {
        true => parsed(&what, body),
        false => Err(damaged(&what)),
    }
}

/// What was submitted: what it runs on, and what it runs.
pub type Submitted = (Arc<JobSpec>, Arc<Work>);

/// A reader's view of the file.
pub struct Shelf {
    connection: Mutex<Connection>,
    /// The column of checksums, which version 1 did not have.
    checksum: &'static str,
}

impl Shelf {
    /// Opens it for reading only.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        if !path.exists() {
            return Err(Fault::request(format!("no journal at {}", path.display()), "name a data directory"));
        }
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        let format = format(&connection)?;
        if format > FORMAT {
            return Err(Unreadable::Newer(format).into_fault(path));
        }
        Ok(Shelf {
            connection: Mutex::new(connection),
            checksum: if format < 2 { "NULL" } else { "checksum" },
        })
    }

    fn hold(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Writes all of it, as it is at this moment, into an empty file.
    pub(super) fn copy_into(&self, path: &str) -> Result<(), Fault> {
        self.hold().execute("VACUUM INTO ?1", [path])?;
        Ok(())
    }

    /// The position of the last event.
    pub fn last(&self) -> Result<u64, Fault> {
        Ok(last_position(&self.hold())?)
    }

    /// Every event behind a position, in order.
    pub fn each_event(&self, behind: u64, each: impl FnMut(u64, Event)) -> Result<Option<String>, Fault> {
        each_event(&self.hold(), behind, Time(i64::MIN), each)
    }

    /// At most so many events behind a position, with the job that a submission became.
    pub fn events(&self, behind: u64, limit: usize) -> Result<Vec<(u64, Event, Option<JobId>)>, Fault> {
        let held = self.hold();
        let mut statement = held.prepare_cached(
            "SELECT event.position, event.body, work.job FROM event LEFT JOIN work ON work.position = event.position
             WHERE event.position > ?1 ORDER BY event.position LIMIT ?2",
        )?;
        let mut rows = statement.query(params![behind as i64, limit as i64])?;
        let mut events = vec![];
        while let Some(row) = rows.next()? {
            let body = row.get_ref(1)?.as_blob().unwrap_or_default();
            let event = bytes::read(body);
            let event =
                event.map_err(|why| Fault::new(format!("an event {why}"), "check the disk it is on"))?;
            let job = row.get::<_, Option<i64>>(2)?.map(|job| JobId(job as u64));
            events.push((row.get::<_, i64>(0)? as u64, event, job));
        }
        Ok(events)
    }

    /// What a job runs, living or ended.
    pub fn work(&self, job: JobId) -> Result<Option<Submitted>, Fault> {
        let held = self.hold();
        let question =
            format!("SELECT position, environment, body, {} FROM work WHERE job = ?1", self.checksum);
        let found = held
            .prepare_cached(&question)?
            .query_row([job.0 as i64], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?, row.get::<_, Option<i64>>(3)?))
            })
            .optional()?;
        let Some((position, environment, body, checksum)) = found else { return Ok(None) };
        if checksum.is_some_and(|kept| kept != i64::from(work_checksum(position, environment, &body))) {
            return Err(damaged(&format!("what job {job} runs")));
        }
        let mut work: Work = parsed(&format!("what job {job} runs"), &body)?;
        if environment != no_environment() {
            let body: Vec<u8> = held
                .prepare_cached("SELECT body FROM environment WHERE digest = ?1")?
                .query_row([environment], |row| row.get(0))?;
            work.inherited = parsed(&format!("the environment of job {job}"), &body)?;
            if Digest::of(&work.inherited) as i64 != environment {
                return Err(damaged(&format!("the environment of job {job}")));
            }
        }
        let (body, checksum): (Vec<u8>, i64) = held
            .prepare_cached("SELECT body, checksum FROM event WHERE position = ?1")?
            .query_row([position], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if checksum != i64::from(crc32fast::hash(&body)) {
            return Err(damaged(&format!("the submission of job {job}")));
        }
        match bytes::read(&body) {
            Ok(Event { fact: Fact::Accepted(Input::Submit(spec)), .. }) => Ok(Some((spec, Arc::new(work)))),
            _ => Err(Fault::new(
                format!("the submission of job {job} cannot be read"),
                "check the disk it is on",
            )),
        }
    }

    /// What these jobs were submitted as, living or ended.
    pub fn specs(
        &self,
        jobs: impl IntoIterator<Item = JobId>,
    ) -> Result<BTreeMap<JobId, Arc<JobSpec>>, Fault> {
        let held = self.hold();
        let mut statement = held.prepare_cached(
            "SELECT event.body FROM work JOIN event ON event.position = work.position WHERE work.job = ?1",
        )?;
        let mut specs = BTreeMap::new();
        for job in jobs {
            let body: Option<Vec<u8>> = statement.query_row([job.0 as i64], |row| row.get(0)).optional()?;
            if let Some(Ok(Event { fact: Fact::Accepted(Input::Submit(spec)), .. })) =
                body.map(|body| bytes::read(&body))
            {
                specs.insert(job, spec);
            }
        }
        Ok(specs)
    }

    /// Who submitted these jobs, living or ended, as far as the journal says.
    pub fn users(&self, jobs: impl IntoIterator<Item = JobId>) -> Result<BTreeMap<JobId, String>, Fault> {
        let held = self.hold();
        let mut statement = held.prepare_cached(
            "SELECT event.body FROM work JOIN event ON event.position = work.position WHERE work.job = ?1",
        )?;
        let mut users = BTreeMap::new();
        for job in jobs {
            let body: Option<Vec<u8>> = statement.query_row([job.0 as i64], |row| row.get(0)).optional()?;
            let actor = body.and_then(|body| bytes::read(&body).ok()).and_then(|event| event.actor);
            users.extend(actor.filter(Actor::is_client).map(|actor| (job, actor.who())));
        }
        Ok(users)
    }

    /// Reads what every job runs and how every job ended, and says what is damaged first.
    pub(super) fn check_jobs(&self) -> Result<(), Fault> {
        let jobs = |table| -> Result<Vec<i64>, rusqlite::Error> {
            let held = self.hold();
            let mut statement = held.prepare(&format!("SELECT job FROM {table} ORDER BY job"))?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        for job in jobs("work")? {
            self.work(JobId(job as u64))?;
        }
        for job in jobs("history")? {
            self.ended(JobId(job as u64))?;
        }
        Ok(())
    }

    /// How much output of a job was lost, and from when on.
    pub fn lost(&self, job: JobId) -> Result<Option<(u64, Time)>, Fault> {
        let held = self.hold();
        let mut statement =
            held.prepare_cached("SELECT total(bytes), min(since) FROM lost WHERE job = ?1")?;
        let (bytes, since) = statement
            .query_row([job.0 as i64], |row| Ok((row.get::<_, f64>(0)?, row.get::<_, Option<i64>>(1)?)))?;
        Ok(since.map(|since| (bytes as u64, Time(since))))
    }

    /// One job that has ended.
    pub fn ended(&self, job: JobId) -> Result<Option<history::Record>, Fault> {
        let held = self.hold();
        let question = format!("SELECT body, {} FROM history WHERE job = ?1", self.checksum);
        let found = held
            .prepare_cached(&question)?
            .query_row([job.0 as i64], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?)))
            .optional()?;
        found.map(|(body, checksum)| record(job, &body, checksum)).transpose()
    }

    /// Jobs that have ended, the latest first, as far as they pass the filter. A damaged row is left out and logged: it must
    /// not hide the others.
    pub fn history(&self, filter: &history::Filter, limit: usize) -> Result<Vec<history::Record>, Fault> {
        let held = self.hold();
        let mut statement = held.prepare_cached(&format!(
            "SELECT job, body, {} FROM history WHERE job < ?1 AND (?2 = '' OR instr(?2, ',' || state || ',') > 0) AND (?3 IS NULL OR tenant = ?3)
             AND (?4 IS NULL OR queue = ?4) AND (?5 IS NULL OR name = ?5) ORDER BY job DESC LIMIT ?6",
            self.checksum
        ))?;
        let before = filter.before.map_or(i64::MAX, |job| job.0 as i64);
        let states = match filter.states.is_empty() {
            true => String::new(),
            false => format!(",{},", filter.states.join(",")),
        };
        let mut rows = statement.query(params![
            before,
            states,
            filter.tenant,
            filter.queue,
            filter.name,
            limit as i64
        ])?;
        let mut records = vec![];
        while let Some(row) = rows.next()? {
            let job = JobId(row.get::<_, i64>(0)? as u64);
            match record(job, row.get_ref(1)?.as_blob().unwrap_or_default(), row.get(2)?) {
                Ok(record) => records.push(record),
                Err(fault) => tracing::warn!(%fault, "left out of a list"),
            }
        }
        Ok(records)
    }
}
