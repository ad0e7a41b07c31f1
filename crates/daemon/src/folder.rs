//! The data directory: made, judged, locked, and owned by one daemon at a time. Also the files that only its owner may
//! read.
//!
//! Whoever can write into a data directory decides what runs as us, so a directory that another user owns, can write or
//! can replace is refused, and so is one in which anything belongs to another user.

use crate::fault::Fault;
use consort_agent::owned::{self, Refused};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A data directory that nobody else uses while this lives.
pub struct Folder {
    path: PathBuf,
    lock: File,
    /// Locked as well: the file can be removed under a daemon, and another one would take the new file's lock.
    _directory: File,
}

impl Folder {
    /// Makes the directory if it is not there and takes its lock; or says who has it.
    pub fn take(path: &Path) -> Result<Self, Fault> {
        let path = owned::make(path)?;
        require_contents(&path)?;
        let file = path.join("lock");
        let mut lock = owned::open(&file, OpenOptions::new().read(true).write(true).create(true))?;
        let directory = File::open(&path).map_err(|error| Fault::at(&path, &error))?;
        // File systems that cannot lock a directory (NFS) say so with another error.
        let is_taken = flock(&directory, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
        if is_taken || flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut who = String::new();
            let _ = (&mut lock).take(4096).read_to_string(&mut who);
            let who = who.trim();
            let who = if who.is_empty() { "another consort".to_string() } else { format!("consort {who}") };
            return Err(Fault::new(
                format!("{} is in use by {who}", path.display()),
                "use that one, stop it first, or give another --data-dir",
            ));
        }
        Ok(Self { path, lock, _directory: directory })
    }

    /// Says who has it, for the next one that asks.
    pub fn sign(&mut self, url: &str) {
        let text = format!("(process {}) at {url}\n", std::process::id());
        let _ = self.lock.set_len(0).and_then(|()| {
            use std::os::unix::fs::FileExt;
            self.lock.write_all_at(text.as_bytes(), 0)
        });
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory inside, made if it is not there.
    pub fn inside(&self, name: &str) -> Result<PathBuf, Fault> {
        Ok(owned::make(&self.path.join(name))?)
    }
}

/// Everything that lies directly in the directory must be ours: it may have been planted while the directory was open.
fn require_contents(folder: &Path) -> Result<(), Fault> {
    let own = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir(folder).map_err(|error| Fault::at(folder, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Fault::at(folder, &error))?;
        let uid = match entry.metadata() {
            Ok(found) => found.uid(),
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(Fault::at(&entry.path(), &error)),
        };
        if uid != own {
            let (theirs, ours) = (owned::user(uid), owned::user(own));
            return Err(Fault::new(
                format!("{} belongs to {theirs}, and this is {ours}", entry.path().display()),
                "check where it comes from, then remove it, or give another --data-dir",
            ));
        }
    }
    Ok(())
}

/// The most bytes of a file that a daemon keeps beside its journal, or that a user writes for it.
const SMALL: u64 = 16 << 20;

/// A file in a data directory, if it is there: a regular file of ours, and not a huge one.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    match owned::read(path, SMALL) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Refused::Io { error, .. }) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(refused) => Err(refused.into()),
    }
}

/// A file that the user named, wherever it is.
pub fn read_named(path: &Path) -> Result<String, Fault> {
    text(path, owned::read_named(path, SMALL)?)
}

/// Turns the bytes of a file into text; what is not UTF-8 is a request to fix that file.
pub fn text(path: &Path, bytes: Vec<u8>) -> Result<String, Fault> {
    String::from_utf8(bytes)
        .map_err(|_| Fault::request(format!("{} is not UTF-8", path.display()), "fix that file"))
}

/// A file that only its owner can read, put in place whole.
pub fn write_private(path: &Path, text: &str) -> Result<(), Fault> {
    if let Some(parent) = path.parent() {
        owned::make(parent)?;
    }
    let beside = path.with_extension("new");
    let _ = fs::remove_file(&beside);
    let mut file = owned::open(&beside, OpenOptions::new().write(true).create_new(true))?;
    let put = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    put.and_then(|()| fs::rename(&beside, path)).map_err(|error| Fault::at(path, &error))
}

/// The user's token: the one that is there, or a new one. A file that others could read is closed first, and its token,
/// which they may have read, is replaced. A link or a file of another user is refused.
pub fn token(path: &Path) -> Result<String, Fault> {
    if let Some(parent) = path.parent() {
        owned::make(parent)?;
    }
    let mut text = String::new();
    match owned::open(path, OpenOptions::new().read(true)) {
        Ok(mut file) => {
            let was_open = owned::close_to_others(&file).map_err(|error| Fault::at(path, &error))?;
            let is_read = (&mut file).take(4096).read_to_string(&mut text).is_ok();
            let text = text.trim();
            if !was_open && is_read && text.len() >= 32 {
                return Ok(text.to_string());
            }
        }
        Err(Refused::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {}
        Err(refused) => return Err(refused.into()),
    }
    let token = dice()?;
    write_private(path, &format!("{token}\n"))?;
    Ok(token)
}

/// Sixty-four hexadecimal digits that nobody can guess.
pub fn dice() -> Result<String, Fault> {
    let mut dice = [0; 32];
    getrandom::fill(&mut dice)
        .map_err(|error| Fault::new(format!("cannot read random numbers: {error}"), "try again"))?;
    Ok(dice.iter().map(|byte| format!("{byte:02x}")).collect())
}
