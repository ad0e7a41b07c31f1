//! Whether the files that are open still lie at their paths.
//!
//! A file that was removed or replaced takes writes without complaint, and all of them are lost once it is closed. So the
//! file at each path is compared with the open one before anything is accepted and before anything is acknowledged.

use super::acknowledged;
use super::salvage::with_suffix;
use crate::fault::Fault;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Device and number of a file.
type Inode = (u64, u64);

/// The files of an open journal.
pub(super) struct Files(Vec<(PathBuf, Option<Inode>)>);

impl Files {
    /// Notes which files these are. SQLite makes the log and its index when it first needs them.
    pub fn of(path: &Path) -> Self {
        let mark = path.with_file_name(acknowledged::FILE);
        let paths = ["", "-wal", "-shm"].map(|suffix| with_suffix(path, suffix)).into_iter().chain([mark]);
        Self(
            paths
                .map(|path| (inode(&path).unwrap_or(None), path))
                .map(|(inode, path)| (path, inode))
                .collect(),
        )
    }

    /// Says so if one of them was removed or replaced.
    pub fn check(&mut self) -> Result<(), Fault> {
        for (path, known) in &mut self.0 {
            match (inode(path), &known) {
                (Ok(found), Some(_)) if found != *known => {
                    let what = if found.is_none() { "removed" } else { "replaced" };
                    return Err(Fault::new(
                        format!(
                            "{} was {what} while it was in use; consort stops, because what it writes now would be lost",
                            path.display()
                        ),
                        "put back a copy of the data directory, or `consort restore` a backup into another one; jobs \
                         that run go on",
                    ));
                }
                (Ok(found), None) => *known = found,
                _ => {} // or it cannot be looked at: then writing will tell
            }
        }
        Ok(())
    }
}

/// The file at a path, if there is one.
fn inode(path: &Path) -> std::io::Result<Option<Inode>> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some((found.dev(), found.ino()))),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}
