//! The position up to which clients were told yes: one number with a checksum, in a file beside the journal; and which
//! journal that is.
//!
//! SQLite takes a damaged frame of the write-ahead log for the end of the log, so a journal that lost its tail looks
//! like a shorter journal. This number tells the two apart. It is written after each commit and before the answers go
//! out. A write into the page cache is enough: it survives the end of this process in whatever way. After a power
//! failure it may be behind the journal, whose every commit waited for the disk; it is never ahead of it.

use super::identity::{self, Identity};
use crate::fault::Fault;
use consort_agent::owned::{self, Refused};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The name of the file.
pub(super) const FILE: &str = "journal.acknowledged";
/// The position and its checksum.
const POSITION: usize = 8 + 4;
/// These, and behind them the identity of the journal and its checksum. Versions before 0.2 wrote the position alone.
const LENGTH: usize = POSITION + identity::LENGTH + 4;

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// There is no file, or one without a byte.
    Nothing,
    /// The file does not hold a position with its checksum.
    Damaged,
    /// Events up to here were acknowledged, of this journal.
    Upto(u64, Option<Identity>),
}

/// Reads the file, and changes nothing.
pub(super) fn read(folder: &Path) -> Result<Found, Fault> {
    let mut bytes = vec![];
    match owned::open(&folder.join(FILE), OpenOptions::new().read(true)) {
        Ok(file) => file
            .take(LENGTH as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Fault::at(&folder.join(FILE), &error))?,
        Err(Refused::Io { error, .. }) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(refused) => return Err(refused.into()),
    };
    if bytes.is_empty() {
        return Ok(Found::Nothing);
    }
    if ![POSITION, LENGTH].contains(&bytes.len()) {
        return Ok(Found::Damaged);
    }
    let (position, whose) = bytes.split_at(POSITION);
    Ok(match (checked(position), checked(whose)) {
        (Some(position), None) if whose.is_empty() => Found::Upto(number(position), None),
        (Some(position), Some(whose)) => Found::Upto(number(position), Identity::of(whose)),
        _ => Found::Damaged,
    })
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// Bytes with their checksum behind them.
fn with_checksum(bytes: &[u8]) -> Vec<u8> {
    [bytes, &crc32fast::hash(bytes).to_le_bytes()].concat()
}

/// What lies before a checksum, if it is the right one.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, checksum) = bytes.split_last_chunk::<4>()?;
    (crc32fast::hash(bytes).to_le_bytes() == *checksum).then_some(bytes)
}

/// The file, open for writing.
pub(super) struct Acknowledged {
    file: File,
}

impl Acknowledged {
    /// Opens the file or makes it, writes the position and whose it is, and waits for the disk.
    pub fn begin(folder: &Path, position: u64, identity: Identity) -> Result<Self, Fault> {
        let path = folder.join(FILE);
        let file = owned::open(&path, OpenOptions::new().read(true).write(true).create(true))?;
        let begun = Self { file };
        let all = [with_checksum(&position.to_le_bytes()), with_checksum(identity.bytes())].concat();
        let put = begun.file.write_all_at(&all, 0).and_then(|()| begun.file.set_len(LENGTH as u64));
        let put = put.and_then(|()| begun.sync()).and_then(|()| File::open(folder)?.sync_all());
        put.map_err(|error| Fault::at(&path, &error))?;
        Ok(begun)
    }

    /// Writes the position, in place and at once, without waiting for the disk.
    pub fn set(&self, position: u64) -> io::Result<()> {
        self.file.write_all_at(&with_checksum(&position.to_le_bytes()), 0)
    }

    /// Waits until the disk has it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}
