//! The state at one position of the journal, in a file of its own.
//!
//! A shortcut and never a truth: a snapshot that is torn, of an older layout, or whose hash differs is not used, and the
//! journal is replayed from its beginning. One of a newer layout says that a newer version of the program was here, whose
//! events this one might misread: such a directory is refused. So a daemon that finds no snapshot of its own layout writes
//! one before it goes on. A snapshot is written beside the old one and put in its place by renaming, so a
//! crash in the middle leaves the old one.

use super::identity::Identity;
use crate::crash;
use crate::fault::Fault;
use consort_agent::owned::{self, Refused};
use consort_sched::{LAYOUT, Saved};
use consort_types::{Event, Fact, Input};
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;

const FILE: &str = "snapshot";
const MAGIC: &[u8; 8] = b"CONSORT\x01";
/// Magic, layout, hash of the state, checksum of these two and the body. The same in every version.
const HEAD: usize = 8 + 4 + 8 + 4;

/// What replaying an event costs, in plain events: one may hold the reports of many jobs.
pub fn weight(event: &Event) -> u64 {
    match &event.fact {
        Fact::Accepted(Input::Progress(reports)) => reports.len() as u64,
        _ => 1,
    }
}

/// Writes a snapshot of this journal and returns its size. Called beside the loop, on a copy of the state.
pub fn write(folder: &Path, saved: &Saved, identity: Identity) -> Result<u64, Fault> {
    let (path, beside) = (folder.join(FILE), folder.join("snapshot.new"));
    let mut body = postcard::to_stdvec(saved).expect("a state is plain data");
    body.extend(identity.bytes()); // behind the state, where programs that do not know of it do not look
    let file = owned::open(&beside, File::options().write(true).create(true).truncate(true))?;
    let put = || -> std::io::Result<u64> {
        let mut file = BufWriter::new(&file);
        file.write_all(MAGIC)?;
        let head = [&LAYOUT.to_le_bytes()[..], &saved.state_hash().to_le_bytes()].concat();
        file.write_all(&head)?;
        file.write_all(&checksum(&head, &body).to_le_bytes())?;
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

/// What lies where the snapshot should be.
pub enum Found {
    /// A state that this program can go on from, and of which journal it is.
    Saved(Box<Saved>, Option<Identity>),
    /// Nothing, or a snapshot of an older version of the program: the journal says the same, only slower.
    Nothing,
    /// Something that cannot be used, and why: likewise.
    Damaged(String),
    /// A newer version of the program was here. Its journal may hold what this one would misread.
    Newer(u32),
}

/// Reads the snapshot.
pub fn read(folder: &Path) -> Found {
    let mut bytes = vec![];
    let read = match owned::open(&folder.join(FILE), File::options().read(true)) {
        Ok(mut file) => file.read_to_end(&mut bytes).map_err(|error| error.to_string()),
        Err(Refused::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
            return Found::Nothing;
        }
        Err(refused) => Err(refused.to_string()),
    };
    match read.and_then(|_| understand(&bytes)) {
        Ok(found) => found,
        Err(why) => Found::Damaged(why),
    }
}

fn understand(bytes: &[u8]) -> Result<Found, String> {
    let (head, body) = bytes.split_at_checked(HEAD).ok_or("it is too short")?;
    let number = |from: usize| u32::from_le_bytes(head[from..from + 4].try_into().expect("four bytes"));
    if &head[..8] != MAGIC {
        return Err("it is not a snapshot".into());
    }
    let layout = number(8);
    if layout < LAYOUT {
        return Ok(Found::Nothing);
    }
    if number(20) != checksum(&head[8..20], body) {
        return Err("its checksum differs".into());
    }
    if layout > LAYOUT {
        return Ok(Found::Newer(layout));
    }
    let hash = u64::from_le_bytes(head[12..20].try_into().expect("eight bytes"));
    let (saved, behind): (Saved, _) = postcard::take_from_bytes(body).map_err(|error| error.to_string())?;
    if saved.state_hash() != hash {
        return Err("the hash of its state differs".into());
    }
    Ok(Found::Saved(Box::new(saved), Identity::of(behind)))
}

/// Of everything behind the magic, so that a damaged number of the layout is not taken for a newer one. Layouts before 12
/// had one of the body alone; they are not read any more.
fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(body);
    sum.finalize()
}

/// What is said of a directory in which a newer version of the program was.
pub fn newer(folder: &Path, layout: u32) -> Fault {
    Fault::new(
        format!(
            "a newer version of consort wrote to {}: its snapshot has layout {layout}, and this program knows {LAYOUT}",
            folder.display()
        ),
        "use that version, or give another data directory",
    )
}
