//! What became of one worker, as its shim wrote it down.
//!
//! ```text
//! (no record) ──▶ started ──▶ exited
//!      │
//!      └────────▶ void            nobody may start it any more
//! ```
//! For: a daemon that comes back knows what happened while it was away, and no attempt is ever run twice.
//! Promises: one file that only grows; each line carries its checksum, and a torn last line is as if it had never
//! been written. Whoever holds the lock of the file is the one shim of the worker. The same lines go to the daemon
//! through a pipe, if it is there, and there no job can touch them.
//! Never: is rewritten. A file with any record in it is spent: a shim that finds one leaves at once. A file that holds
//! something else is no answer but an error (`InvalidData`): jobs run as our user and can write to it.

use crate::containers::Runtime;
use crate::process::Identity;
use crate::untrusted::{self, Owners};
use consort_types::{Cause, Digest};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The longest file that is read. Real ones are a few hundred bytes long.
const LONGEST: u64 = 64 << 10;

/// The longest line that may be torn: a record is written at once, and is not longer than this.
const LONGEST_TORN: usize = 4 << 10;

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
    /// Output of the worker could not be kept. Written before the end.
    Lost(Lost),
}

/// Output that could not be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How much.
    pub bytes: u64,
    /// From which moment on, in milliseconds of the Unix clock.
    pub since_ms: u64,
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
    /// Who runs its container, if it runs in one. Its name follows from the slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Runtime>,
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

impl Started {
    /// Taken on by this shim, of which nothing more is known.
    pub fn by(shim: Identity) -> Self {
        Self { shim, groups: Vec::new(), notes: Vec::new(), container: None }
    }
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
    let (base, name) = untrusted::rooted(path);
    let mut file = untrusted::append(base, name, Owners::ours())?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Claim::Taken),
        Err(error) => return Err(error.into()),
    }
    let mut text = Vec::new();
    (&mut file).take(LONGEST + 1).read_to_end(&mut text)?;
    let records = understand(&text)?;
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
    let (base, name) = untrusted::rooted(path);
    match untrusted::read(base, name, Owners::ours(), LONGEST) {
        Ok(text) => understand(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Bytes that a shim wrote, up to the last whole record.
pub fn records(text: &[u8]) -> Vec<Record> {
    let whole = text.split_inclusive(|&byte| byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    whole.filter_map(parse_line).collect()
}

/// The records of a file, or an error if it holds none and is not what a shim leaves that died while writing its first.
fn understand(text: &[u8]) -> io::Result<Vec<Record>> {
    let records = records(text);
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let (first, second) = (lines.next().unwrap_or_default(), lines.next());
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_torn = text.len() < LONGEST_TORN && second.is_none() && first.iter().take(16).all(is_hex);
    if records.is_empty() && !is_torn {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "holds no record"));
    }
    Ok(records)
}

/// A record as it is written.
pub fn line(record: &Record) -> Vec<u8> {
    let text = serde_json::to_string(record).expect("records are plain data");
    format!("{:016x} {text}\n", Digest::of(&text)).into_bytes()
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
        assert_eq!(records(&text), [Record::Void, exited(3)]);
        let torn = &text[..text.len() - 1];
        assert_eq!(records(torn), [Record::Void]);
        let mut flipped = text.clone();
        let last = flipped.len() - 3;
        flipped[last] ^= 1;
        assert_eq!(records(&flipped), [Record::Void]);
        assert_eq!(records(b"\n \nffff x\n\xff\xfe\n"), []);
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
    fn what_no_shim_wrote_is_an_error_and_not_an_empty_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status");
        for garbage in [&b"a\nb\n"[..], b"x", &[b'x'; 5000], &[0; 70_000]] {
            std::fs::write(&path, garbage).unwrap();
            assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
            assert_eq!(claim(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
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
