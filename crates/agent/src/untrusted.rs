//! Opens and reads files that a job can write, replace or delete.
//!
//! A job may put anything in the place of a file we expect: a symbolic link to another user's file, a FIFO that blocks
//! whoever opens it, a directory, a sparse file of terabytes, a file that grows while it is read. Every such file is
//! opened here and nowhere else.
//!
//! Guarantees:
//! - Never follows a symbolic link below `base`, neither in the last component nor in one of its parents.
//! - Never blocks: `O_NONBLOCK` covers FIFOs and files under a lease, `O_NOCTTY` covers terminals.
//! - Returns only regular files that belong to an expected user and have no second name (hard link), because a second
//!   name would let a job present a file of somebody else as its own.
//! - Reads at most the given number of bytes into memory. A longer file is an error, never a truncated result.
//!
//! [`write`], [`append`], [`make_folder`], [`remove`] and [`list`] do the same for what we put there ourselves.
//!
//! Errors: `NotFound` if a component does not exist, `InvalidData` if something unacceptable is in its place, and the
//! error of the system otherwise (`PermissionDenied`, an I/O error). Only the last kind may pass with time.

mod remove;
mod write;

pub use remove::{list, remove};
pub use write::{append, exists, make_folder, open_folders, write};

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Users whose files are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owners {
    first: u32,
    second: Option<u32>,
}

impl Owners {
    /// The user of this process only.
    pub fn ours() -> Self {
        Self::only(rustix::process::geteuid().as_raw())
    }

    /// The user of this process, or the user whom a job runs as.
    pub fn ours_or(uid: u32) -> Self {
        Self { second: Some(uid), ..Self::ours() }
    }

    /// One user, whoever this process runs as.
    pub fn only(uid: u32) -> Self {
        Self { first: uid, second: None }
    }

    /// Whether a file of this user is accepted.
    pub fn accept(self, uid: u32) -> bool {
        uid == self.first || Some(uid) == self.second
    }
}

/// An absolute path as a base and a name, so that no link in any of its folders is followed. The path must be canonical.
pub fn rooted(path: &Path) -> (&'static Path, &Path) {
    match path.strip_prefix("/") {
        Ok(name) => (Path::new("/"), name),
        Err(_) => (Path::new("."), path),
    }
}

/// Opens a regular file for reading.
///
/// `base` is trusted: no job can replace it, and links in it are followed. `name` is relative to it, made of plain
/// names only, and each of its components is opened without following links.
pub fn open(base: &Path, name: &Path, owners: Owners) -> io::Result<File> {
    let (folder, last) = walk(base, name)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&folder, last, flags, Mode::empty()).map_err(|errno| refuse_link(name, errno))?;
    accept(File::from(file), name, owners)
}

/// Reads a whole regular file of at most `most` bytes. The conditions are those of [`open`].
pub fn read(base: &Path, name: &Path, owners: Owners, most: u64) -> io::Result<Vec<u8>> {
    let file = open(base, name, owners)?;
    let length = file.metadata()?.len();
    if length > most {
        return Err(unacceptable(name, &format!("is {length} bytes long, at most {most} are read")));
    }
    read_at_most(file, name, most)
}

/// The length was checked before, but a job may write on while we read.
fn read_at_most(file: impl Read, name: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(unacceptable(name, &format!("grew beyond {most} bytes while it was read")));
    }
    Ok(bytes)
}

/// The folder that holds the last component of `name`, and that component.
fn walk<'a>(base: &Path, name: &'a Path) -> io::Result<(OwnedFd, &'a Path)> {
    let parts = plain(name)?;
    let Some((&last, parents)) = parts.split_last() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected the name of a file, found none"));
    };
    // O_PATH: to pass through a folder, the permission to list it is not needed.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, base, flags, Mode::empty())?;
    if parents.is_empty() {
        return Ok((folder, last));
    }
    let at_once: PathBuf = parents.iter().collect();
    match openat2(&folder, &at_once, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Linux before 5.6 does not know the call, and some sandboxes refuse it: step by step then.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return opened.map(|folder| (folder, last)).map_err(|errno| refuse_link(name, errno)),
    }
    for parent in parents {
        folder = openat(&folder, *parent, flags | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|errno| refuse_link(name, errno))?;
    }
    Ok((folder, last))
}

/// The components of a relative path that is made of names only.
fn plain(name: &Path) -> io::Result<Vec<&Path>> {
    let plain = |part| match part {
        Component::Normal(part) => Ok(Path::new(part)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{}: expected a relative path without `.` and `..`", name.display()),
        )),
    };
    name.components().map(plain).collect()
}

fn accept(file: File, name: &Path, owners: Owners) -> io::Result<File> {
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(unacceptable(name, "is not a regular file"));
    }
    if !owners.accept(data.uid()) {
        return Err(unacceptable(name, &format!("belongs to user {}", data.uid())));
    }
    if data.nlink() > 1 {
        return Err(unacceptable(name, "has more than one name (hard link)"));
    }
    Ok(file)
}

/// Names the errors by which the kernel refuses what is neither a regular file nor a folder.
fn refuse_link(name: &Path, errno: Errno) -> io::Error {
    match errno {
        // With O_DIRECTORY the kernel reports a link as "not a directory".
        Errno::LOOP | Errno::NOTDIR => {
            unacceptable(name, "is a link, or its path has a part that is not a folder")
        }
        // A socket, or a device without a driver.
        Errno::NXIO | Errno::NODEV => unacceptable(name, "is not a regular file"),
        _ => errno.into(),
    }
}

fn unacceptable(name: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} {why}", name.display()))
}

#[cfg(test)]
mod tests;
