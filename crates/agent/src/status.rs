//! What became of one worker, as its shim wrote it down.
//!
//! ```text
//! (no record) ──▶ started ──▶ exited
//!      │
//!      └────────▶ void            nobody may start it any more
//! ```
//! For: a daemon that comes back knows what happened while it was away, and no attempt is ever run twice.
//! Promises: one file that only grows; each line carries its checksum, and a torn last line is as if it had never
//! been written. Whoever holds the lock of the file is the one shim of the worker.
//! Never: is rewritten. A file with any record in it is spent: a shim that finds one leaves at once.

use crate::process::Identity;
use consort_types::{Cause, Digest};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// A shim has taken the worker on.
    Started(Started),
    /// Nothing of the worker is left.
    Exited(Exited),
    /// It was decided that it shall not run, before it did.
    Void,
}

/// Who has taken the worker on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The shim. It leads a session, and the worker is in it.
    pub shim: Identity,
    /// Control groups made for the worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<PathBuf>,
    /// What was asked for and could not be had, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How the worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exited {
    /// As a shell would tell it.
    pub code: i32,
    /// What kind of ending; [`Cause::Exit`] with code 0 is success.
    pub cause: Cause,
    /// It was asked to go before it went.
    pub stopped: bool,
    /// When, in milliseconds of the Unix clock: tells which worker of a gang was first.
    pub at_ms: u64,
}

impl Exited {
    /// Done, and of its own accord.
    pub fn is_success(&self) -> bool {
        self.code == 0 && self.cause == Cause::Exit && !self.stopped
    }
}

/// The file, locked by this process.
#[derive(Debug)]
pub struct Held {
    file: File,
}

/// What came of asking for the lock.
#[derive(Debug)]
pub enum Claim {
    /// It is ours, and there is no record yet.
    Ours(Held),
    /// Somebody else has it.
    Taken,
    /// It is free, but the file has records.
    Spent(Vec<Record>),
}

/// Asks for the lock of a status file, which is made if need be.
pub fn claim(path: &Path) -> io::Result<Claim> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?);
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Claim::Taken),
        Err(error) => return Err(error.into()),
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let records = parse(&text);
    if !records.is_empty() {
        return Ok(Claim::Spent(records));
    }
    let mut held = Held { file };
    if !text.is_empty() {
        // Half a line of a shim that died while writing it. What follows must begin on a line of its own.
        held.file.write_all(b"\n")?;
    }
    Ok(Claim::Ours(held))
}

impl Held {
    /// Adds a record in one write.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        self.file.write_all(&line(record))
    }

    /// Makes sure that what was added outlives the machine.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// The whole records of a status file; none if there is no such file.
pub fn read(path: &Path) -> io::Result<Vec<Record>> {
    match std::fs::read(path) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

fn line(record: &Record) -> Vec<u8> {
    let text = serde_json::to_string(record).expect("records are plain data");
    format!("{:016x} {text}\n", Digest::of(&text)).into_bytes()
}

fn parse(text: &[u8]) -> Vec<Record> {
    let whole = text.split_inclusive(|&byte| byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    whole.filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Record> {
    let (sum, text) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let sum = u64::from_str_radix(sum, 16).ok()?;
    (sum == Digest::of(&text)).then(|| serde_json::from_str(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(code: i32) -> Record {
        Record::Exited(Exited { code, cause: Cause::Exit, stopped: false, at_ms: 7 })
    }

    #[test]
    fn records_come_back_and_torn_ones_do_not() {
        let mut text = line(&Record::Void);
        text.extend(line(&exited(3)));
        assert_eq!(parse(&text), [Record::Void, exited(3)]);
        let torn = &text[..text.len() - 1];
        assert_eq!(parse(torn), [Record::Void]);
        let mut flipped = text.clone();
        let last = flipped.len() - 3;
        flipped[last] ^= 1;
        assert_eq!(parse(&flipped), [Record::Void]);
        assert_eq!(parse(b"\n \nffff x\n\xff\xfe\n"), []);
    }

    #[test]
    fn the_lock_is_held_by_one_and_a_record_spends_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status");
        assert_eq!(read(&path).unwrap(), []);
        let Claim::Ours(mut held) = claim(&path).unwrap() else { panic!("nobody else wants it") };
        assert!(matches!(claim(&path).unwrap(), Claim::Taken));
        held.append(&Record::Void).unwrap();
        drop(held);
        assert!(matches!(claim(&path).unwrap(), Claim::Spent(records) if records == [Record::Void]));
    }

    #[test]
    fn what_follows_a_torn_line_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status");
        let whole = line(&Record::Void);
        std::fs::write(&path, &whole[..10]).unwrap();
        let Claim::Ours(mut held) = claim(&path).unwrap() else { panic!("half a line is no record") };
        held.append(&exited(0)).unwrap();
        held.sync().unwrap();
        assert_eq!(read(&path).unwrap(), [exited(0)]);
    }
}
