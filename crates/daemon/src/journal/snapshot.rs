//! The state at one position of the journal, in a file of its own.
//!
//! A shortcut and never a truth: a snapshot that is torn, of another layout, or whose hash differs is not used, and the
//! journal is replayed from its beginning. It is written beside the old one and put in its place by renaming, so a
//! crash in the middle leaves the old one.

use crate::crash;
use crate::fault::Fault;
use consort_agent::owned::{self, Refused};
use consort_sched::{LAYOUT, Saved};
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;

const FILE: &str = "snapshot";
const MAGIC: &[u8; 8] = b"CONSORT\x01";
/// Magic, layout, hash of the state, checksum of the body.
const HEAD: usize = 8 + 4 + 8 + 4;

/// Writes a snapshot and returns its size. Called beside the loop, on a copy of the state.
pub fn write(folder: &Path, saved: &Saved) -> Result<u64, Fault> {
    let (path, beside) = (folder.join(FILE), folder.join("snapshot.new"));
    let body = postcard::to_stdvec(saved).expect("a state is plain data");
    let file = owned::open(&beside, File::options().write(true).create(true).truncate(true))?;
    let put = || -> std::io::Result<u64> {
        let mut file = BufWriter::new(&file);
        file.write_all(MAGIC)?;
        file.write_all(&LAYOUT.to_le_bytes())?;
        file.write_all(&saved.state_hash().to_le_bytes())?;
        file.write_all(&crc32fast::hash(&body).to_le_bytes())?;
        let (front, back) = body.split_at(body.len() / 2);
        file.write_all(front)?;
        crash::point("inside-snapshot");
        file.write_all(back)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        crash::point("before-snapshot-rename");
        fs::rename(&beside, &path)?;
        File::open(folder)?.sync_all()?;
        Ok((HEAD + body.len()) as u64)
    };
    put().map_err(|error| Fault::at(&beside, &error))
}

/// Reads the snapshot; nothing if there is none or it is of another layout, an error in words if it is damaged.
pub fn read(folder: &Path) -> Result<Option<Saved>, String> {
    let mut bytes = vec![];
    match owned::open(&folder.join(FILE), File::options().read(true)) {
        Ok(mut file) => file.read_to_end(&mut bytes).map_err(|error| error.to_string())?,
        Err(Refused::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(refused) => return Err(refused.to_string()),
    };
    let (head, body) = bytes.split_at_checked(HEAD).ok_or("it is too short")?;
    let number = |from: usize| u32::from_le_bytes(head[from..from + 4].try_into().expect("four bytes"));
    if &head[..8] != MAGIC {
        return Err("it is something else".into());
    }
    if number(8) != LAYOUT {
        return Ok(None); // of another version of the program: the journal says the same, only slower
    }
    let hash = u64::from_le_bytes(head[12..20].try_into().expect("eight bytes"));
    if number(20) != crc32fast::hash(body) {
        return Err("its checksum differs".into());
    }
    let saved: Saved = postcard::from_bytes(body).map_err(|error| error.to_string())?;
    if saved.state_hash() != hash {
        return Err("the hash of its state differs".into());
    }
    Ok(Some(saved))
}
