//! The data directory: made, locked, and owned by one daemon at a time.

use crate::fault::Fault;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A data directory that nobody else uses while this lives.
pub struct Folder {
    path: PathBuf,
    lock: File,
}

impl Folder {
    /// Makes the directory if it is not there and takes its lock; or says who has it.
    pub fn take(path: &Path) -> Result<Self, Fault> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| Fault::at(path, &error))?;
        let path = path.canonicalize().map_err(|error| Fault::at(path, &error))?;
        let file = path.join("lock");
        let lock =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&file);
        let mut lock = lock.map_err(|error| Fault::at(&file, &error))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut who = String::new();
            let _ = lock.read_to_string(&mut who);
            let who = who.trim();
            let who = if who.is_empty() { "another consort".to_string() } else { format!("consort {who}") };
            return Err(Fault::new(
                format!("{} is in use by {who}", path.display()),
                "use that one, end it first, or give another --data-dir",
            ));
        }
        Ok(Self { path, lock })
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
        let path = self.path.join(name);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|error| Fault::at(&path, &error))?;
        Ok(path)
    }
}

/// A file that only its owner can read, put in place whole.
pub fn write_private(path: &Path, text: &str) -> Result<(), Fault> {
    let put = || -> std::io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        let beside = path.with_extension("new");
        let _ = fs::remove_file(&beside);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    put().map_err(|error| Fault::at(path, &error))
}

/// The user's token: the one that is there, or a new one. A file that others can read is closed first, and its token,
/// which they may have read, is replaced.
pub fn token(path: &Path) -> Result<String, Fault> {
    if let Ok(text) = fs::read_to_string(path) {
        let mode = fs::metadata(path).map_or(0, |data| data.permissions().mode());
        let text = text.trim();
        if mode & 0o077 == 0 && text.len() >= 32 {
            return Ok(text.to_string());
        }
        let _ = fs::set_permissions(path, Permissions::from_mode(0o600));
    }
    let token = dice()?;
    write_private(path, &format!("{token}\n"))?;
    Ok(token)
}

/// Sixty-four hexadecimal digits that nobody can guess.
pub fn dice() -> Result<String, Fault> {
    let mut dice = [0; 32];
    getrandom::fill(&mut dice).map_err(|error| Fault::new(format!("no randomness: {error}"), "try again"))?;
    Ok(dice.iter().map(|byte| format!("{byte:02x}")).collect())
}
