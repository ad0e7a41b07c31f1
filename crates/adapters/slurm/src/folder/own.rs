//! Folders and files that must be ours, or the job owner's, and nobody else's.
//!
//! Everything is changed through an open descriptor that was reached without following a link, so that what is changed is
//! what was checked.

use rustix::fd::OwnedFd;
use rustix::fs::{Gid, Mode, OFlags, Uid, fchmod, fchown};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// The number of the user that we are.
pub fn us() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes a folder and its parents where they are missing.
pub fn make_all(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// A folder of ours with exactly this mode.
pub fn take(path: &Path, mode: u32) -> io::Result<()> {
    let folder = make(path)?;
    is_of(&folder, path, &[us()])?;
    Ok(fchmod(&folder, Mode::from_raw_mode(mode))?)
}

/// A folder that only the user may use whom jobs run as: us if absent.
pub fn give(path: &Path, owner: Option<u32>) -> io::Result<()> {
    let folder = make(path)?;
    is_of(&folder, path, &[us(), owner.unwrap_or_else(us)])?;
    fchmod(&folder, Mode::from_raw_mode(0o700))?;
    hand_over(&folder, path, owner)
}

/// A plain file with this text, instead of whatever was there.
pub fn write(path: &Path, text: &str, mode: u32, owner: Option<u32>) -> io::Result<()> {
    // Not a FIFO, which would have to be waited for, and not a way to another file.
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?);
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() != 1 {
        return Err(io::Error::other(format!("{} is not a regular file", path.display())));
    }
    file.set_len(0)?;
    (&file).write_all(text.as_bytes())?;
    fchmod(&file, Mode::from_raw_mode(mode))?;
    hand_over(&OwnedFd::from(file), path, owner)
}

fn make(path: &Path) -> io::Result<OwnedFd> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => open(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn is_of(folder: &OwnedFd, path: &Path, owners: &[u32]) -> io::Result<()> {
    let uid = rustix::fs::fstat(folder)?.st_uid;
    match owners.contains(&uid) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "{} belongs to uid {uid}: remove it, or give another folder with --slurm-shared",
                path.display()
            ),
        )),
    }
}

fn hand_over(what: &OwnedFd, path: &Path, owner: Option<u32>) -> io::Result<()> {
    let Some(owner) = owner else { return Ok(()) };
    let told = |error: rustix::io::Errno| {
        let words = format!(
            "cannot change the owner of {} to uid {owner}, which runs the jobs: {error}",
            path.display()
        );
        io::Error::new(io::ErrorKind::PermissionDenied, words)
    };
    fchown(what, Some(Uid::from_raw(owner)), None::<Gid>).map_err(told)
}
