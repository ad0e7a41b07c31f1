//! Writes files and makes folders in places that a job can reach.
//!
//! Guarantees: never writes through a link, never into a file that a job has open, never blocks. What is in the way is
//! replaced if it is no folder, and an error otherwise.

use super::{Owners, accept, plain, refuse_link, unacceptable, walk};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// How many names are tried for the file that is written first. A job may have taken some.
const TRIES: u32 = 16;

/// Writes a whole file, readable by its owner only: complete beside its place, then renamed over what is there.
pub fn write(base: &Path, name: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, last) = walk(base, name)?;
    let (beside, file) = (0..TRIES)
        .find_map(|number| {
            let beside = format!(".{}.{number}", last.display());
            // Left by a daemon that was killed while it wrote; or planted, and then not to be written to.
            let _ = unlinkat(&folder, beside.as_str(), AtFlags::empty());
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&folder, beside.as_str(), flags, Mode::from_raw_mode(0o600)) {
                Err(Errno::EXIST) => None,
                opened => Some(opened.map(|file| (beside, File::from(file)))),
            }
        })
        .unwrap_or(Err(Errno::EXIST))?;
    let mut file = file;
    let written = file.write_all(bytes);
    let placed = written.and_then(|()| Ok(renameat(&folder, beside.as_str(), &folder, last)?));
    if placed.is_err() {
        let _ = unlinkat(&folder, beside.as_str(), AtFlags::empty());
    }
    placed
}

/// Opens a file for reading and appending, and makes it if it is not there. The conditions are those of [`super::open`].
pub fn append(base: &Path, name: &Path, owners: Owners) -> io::Result<File> {
    let (folder, last) = walk(base, name)?;
    let flags = OFlags::RDWR
        | OFlags::CREATE
        | OFlags::APPEND
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC;
    let file = openat(&folder, last, flags, Mode::from_raw_mode(0o600)).map_err(|errno| match errno {
        Errno::ISDIR => unacceptable(name, "is a folder"),
        _ => refuse_link(name, errno),
    })?;
    accept(File::from(file), name, owners)
}

/// Makes a folder for its owner only. True if it is new; an error if something else is in its place.
pub fn make_folder(base: &Path, name: &Path) -> io::Result<bool> {
    let (folder, last) = walk(base, name)?;
    match mkdirat(&folder, last, Mode::from_raw_mode(0o700)) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let found = openat(&folder, last, flags, Mode::empty());
            found.map(|_| false).map_err(|errno| refuse_link(name, errno))
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Opens a folder below `base`, and makes what is missing on the way to it. No link below `base` is followed. An empty
/// name is `base` itself.
pub fn open_folders(base: &Path, name: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, base, flags, Mode::empty())?;
    for part in plain(name)? {
        match mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        folder = openat(&folder, part, flags | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|errno| refuse_link(name, errno))?;
    }
    Ok(folder)
}

/// Whether anything is there, be it a link that leads nowhere.
pub fn exists(base: &Path, name: &Path) -> bool {
    walk(base, name).is_ok_and(|(folder, last)| statat(&folder, last, AtFlags::SYMLINK_NOFOLLOW).is_ok())
}
