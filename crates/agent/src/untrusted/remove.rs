//! Removes trees that a job has filled, and lists folders, within bounds.
//!
//! A job may leave millions of files, or folders nested deeper than a stack is high. A removal takes a budget, goes on
//! where the last one stopped, and never recurses: what lies deeper is moved up first.

use super::{refuse_link, walk};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, chmod, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many names are held in memory at once; the next round reads the next ones.
const ROUND: usize = 4096;

/// Removes whatever is there: a file, a link itself, or a folder with everything below it. True once it is gone, false
/// if the budget, counted in entries, was used up first.
pub fn remove(base: &Path, name: &Path, budget: &mut u32) -> io::Result<bool> {
    let (parent, last) = match walk(base, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        walked => walked?,
    };
    if is_unlinked(unlinkat(&parent, last, AtFlags::empty()))? {
        return Ok(true);
    }
    let last = CString::new(last.as_os_str().as_encoded_bytes())?;
    let root = open_folder(&parent, &last)?;
    loop {
        let names = entries(&root, ROUND)?;
        if names.is_empty() {
            return match unlinkat(&parent, &last, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => Ok(true),
                // Something was added since we looked.
                Err(Errno::NOTEMPTY) => Ok(false),
                Err(errno) => Err(errno.into()),
            };
        }
        for name in names {
            if !remove_entry(&root, &name, budget)? {
                return Ok(false);
            }
        }
    }
}

/// Names in a folder, at most `most` of them.
pub fn list(base: &Path, name: &Path, most: usize) -> io::Result<Vec<OsString>> {
    let (parent, last) = walk(base, name)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(&parent, last, flags, Mode::empty()).map_err(|errno| refuse_link(name, errno))?;
    let names = entries(&folder, most)?;
    Ok(names.into_iter().map(|name| OsString::from_vec(name.into_bytes())).collect())
}

/// Removes an entry of `root`. Folders in it move up into `root`, to be removed in a later round. False if the budget is
/// used up.
fn remove_entry(root: &OwnedFd, name: &CString, budget: &mut u32) -> io::Result<bool> {
    if !spend(budget) {
        return Ok(false);
    }
    if is_unlinked(unlinkat(root, name, AtFlags::empty()))? {
        return Ok(true);
    }
    let folder = open_folder(root, name)?;
    for inner in entries(&folder, ROUND)? {
        if !spend(budget) {
            return Ok(false);
        }
        if !is_unlinked(unlinkat(&folder, &inner, AtFlags::empty()))? {
            // A folder can be moved only by who may write to it: its `..` changes.
            open_folder(&folder, &inner)?;
            move_up(&folder, &inner, root)?;
        }
    }
    match unlinkat(root, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// The name must be free in `root`, where a job may have put anything.
fn move_up(folder: &OwnedFd, name: &CString, root: &OwnedFd) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    for _ in 0..1000 {
        let up = format!(".removed-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        match renameat(folder, name, root, up.as_str()) {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            done => return Ok(done?),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// True if it is gone, false if it is a folder.
fn is_unlinked(done: rustix::io::Result<()>) -> io::Result<bool> {
    match done {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn spend(budget: &mut u32) -> bool {
    let left = *budget > 0;
    *budget = budget.saturating_sub(1);
    left
}

/// Opens a folder so that its entries can be removed, also one that was closed to everybody (`chmod 000`).
fn open_folder(parent: &OwnedFd, name: &CString) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
    let mode = rustix::fs::fstat(&found)?.st_mode;
    if mode & 0o700 != 0o700 {
        // Through the descriptor: the name may have become a link since.
        chmod(format!("/proc/self/fd/{}", found.as_fd().as_raw_fd()), Mode::from_raw_mode(0o700))?;
    }
    Ok(openat(&found, c".", flags | OFlags::RDONLY, Mode::empty())?)
}

fn entries(folder: &OwnedFd, most: usize) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if names.len() >= most {
            break;
        }
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}
