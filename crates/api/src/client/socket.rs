//! The Unix socket of a server on this machine.
//!
//! The kernel says whose process is at the other end, so no secret has to travel. Before anything is sent the socket and
//! its folder must belong to this user, be closed to others, and so must the process that listens.

use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Bytes that the path of a socket may have, with the zero behind it.
const LONGEST: usize = 108;

/// Connects to the server of this user that listens there.
pub fn connect(path: &Path) -> Result<UnixStream> {
    check(path)?;
    let stream = reach(path, |path| UnixStream::connect(path))?;
    let (own, peer) = (rustix::process::geteuid(), rustix::net::sockopt::socket_peercred(&stream)?.uid);
    match own == peer {
        true => Ok(stream),
        false => Err(denied(format!(
            "a process of uid {} listens there, and this is uid {}",
            peer.as_raw(),
            own.as_raw()
        ))),
    }
}

/// The socket and its folder belong to this user, and no other may write them.
fn check(path: &Path) -> Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let folder = path.parent().filter(|folder| folder.is_absolute());
    let folder = folder
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, "the path of a socket must begin with /"))?;
    for (part, is_folder) in [(folder, true), (path, false)] {
        let found = part.symlink_metadata()?;
        let kind = found.file_type();
        if kind.is_dir() != is_folder || kind.is_socket() == is_folder {
            let wanted = if is_folder { "folder" } else { "socket" };
            return Err(denied(format!("{} is not a {wanted}", part.display())));
        }
        if found.uid() != own {
            return Err(denied(format!(
                "{} belongs to uid {}, and this is uid {own}",
                part.display(),
                found.uid()
            )));
        }
        if found.mode() & 0o022 != 0 {
            return Err(denied(format!("{} can be written by other users", part.display())));
        }
    }
    Ok(())
}

fn denied(why: String) -> Error {
    Error::new(ErrorKind::PermissionDenied, why)
}

/// Does something at the path of a socket. Where that is longer than the kernel takes, its folder is opened first, and
/// the socket is named by that.
pub fn reach<T>(path: &Path, act: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    if path.as_os_str().as_bytes().len() < LONGEST {
        return act(path);
    }
    let too_long = || {
        let words = format!(
            "{} is longer than the path of a socket may be; use a shorter data directory",
            path.display()
        );
        Error::new(ErrorKind::InvalidInput, words)
    };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(too_long()) };
    let (_open, short) = by_descriptor(folder, name)?;
    match short.as_os_str().as_bytes().len() < LONGEST && short.parent().is_some_and(Path::exists) {
        true => act(&short),
        false => Err(too_long()),
    }
}

fn by_descriptor(folder: &Path, name: &std::ffi::OsStr) -> Result<(OwnedFd, PathBuf)> {
    use rustix::fs::{Mode, OFlags, open};
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = open(folder, flags, Mode::empty())?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd())).join(name);
    Ok((open, short))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    /// A folder of our own; the system's folder for temporary files is open to all.
    fn folder() -> PathBuf {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("consort-socket-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    #[test]
    fn sockets_with_long_paths_are_reached() {
        let base = folder();
        let deep = base.join("x".repeat(80)).join("y".repeat(80));
        fs::create_dir_all(&deep).unwrap();
        let path = deep.join("api");
        let listener = reach(&path, |path| UnixListener::bind(path)).unwrap();
        connect(&path).unwrap();
        drop(listener);
        assert_eq!(connect(&path).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let name = deep.join("z".repeat(100));
        assert!(reach(&name, |path| UnixListener::bind(path)).unwrap_err().to_string().contains("longer"));
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn sockets_that_others_could_have_put_there_are_refused() {
        let base = folder();
        let path = base.join("api");
        let _listener = UnixListener::bind(&path).unwrap();
        let said = |path: &Path| connect(path).expect_err("refused").to_string();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(said(&path).contains("can be written by other users"), "{}", said(&path));
        fs::set_permissions(&base, fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        connect(&path).unwrap();
        let (link, file) = (base.join("link"), base.join("file"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        fs::write(&file, "").unwrap();
        for path in [&link, &file] {
            assert!(said(path).contains("is not a socket"), "{}", said(path));
        }
        fs::remove_dir_all(base).unwrap();
    }
}
