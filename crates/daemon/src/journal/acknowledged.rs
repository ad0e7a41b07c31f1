//! How far clients were told yes: one number, in a file beside the journal.
//!
//! A journal that lost its tail looks like a shorter journal. This number is what tells the two apart. It is written
//! after each commit and before the answers go out, without waiting for the disk: it can be too small after a power
//! failure, never too large.

use crate::fault::Fault;
use consort_agent::owned;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The number and its file.
pub(super) struct Acknowledged {
    file: File,
    position: u64,
}

impl Acknowledged {
    pub fn open(folder: &Path) -> Result<Self, Fault> {
        let path = folder.join("journal.acknowledged");
        let file = owned::open(&path, OpenOptions::new().read(true).write(true).create(true))?;
        let mut bytes = [0; 12];
        let position = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {
                let (number, check) = bytes.split_at(8);
                let is_whole = crc32fast::hash(number).to_le_bytes() == check;
                if is_whole { u64::from_le_bytes(number.try_into().expect("eight bytes")) } else { 0 }
            }
            Err(_) => 0, // new, or torn: then nothing is known
        };
        Ok(Self { file, position })
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn set(&mut self, position: u64) {
        self.position = position;
        let number = position.to_le_bytes();
        let bytes = [&number[..], &crc32fast::hash(&number).to_le_bytes()].concat();
        // A number that is too small is only less watchful, so a full disk here is not worth stopping for.
        let _ = self.file.write_all_at(&bytes, 0);
    }
}
