//! The Unix socket in the data directory: how clients of the same user reach us without a token.
//!
//! It has mode 0600 and lies in a folder of mode 0700. What is left of a daemon before us is replaced: the lock of the
//! data directory is ours, so that one is gone. Anything else in its place is refused.

use crate::fault::Fault;
use crate::folder::Folder;
use consort_api::client::socket::reach;
use rustix::fs::{Mode, OFlags, fchmod, open};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// A socket that is listened on. Its name stays when we go: nobody listens there then, and the next daemon replaces it.
pub(crate) struct Socket {
    pub path: PathBuf,
    pub listener: UnixListener,
}

impl Socket {
    /// Listens in the data directory. A disk that knows no sockets is not worth stopping for: then the reason is
    /// returned, and clients use TCP.
    pub fn open(folder: &Folder) -> Result<Result<Self, String>, Fault> {
        let inside = folder.inside("api")?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let closed = open(&inside, flags, Mode::empty()).and_then(|inside| fchmod(&inside, Mode::RWXU));
        closed.map_err(|error| Fault::at(&inside, &error.into()))?;
        let path = inside.join("socket");
        replace(&path)?;
        match reach(&path, listen_at) {
            Ok(listener) => Ok(Ok(Self { path, listener })),
            Err(error) => {
                Ok(Err(format!("no socket at {}: {error}; clients use TCP and the token", path.display())))
            }
        }
    }

    /// How a client names it.
    pub fn url(&self) -> String {
        format!("unix:{}", self.path.display())
    }
}

/// Removes the socket of a daemon that is gone.
fn replace(path: &Path) -> Result<(), Fault> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Fault::at(path, &error)),
        Ok(found) if found.file_type().is_socket() => {
            fs::remove_file(path).map_err(|error| Fault::at(path, &error))
        }
        Ok(_) => Err(Fault::new(
            format!("{} is not a socket", path.display()),
            "check where it comes from, then remove it",
        )),
    }
}

/// The mode is set before the name is there, so that it never was another.
fn listen_at(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_api::client::socket::connect;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_its_owner_reaches_it_and_what_is_left_of_another_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::take(&dir.path().join("data")).unwrap();
        for _ in 0..2 {
            let socket = Socket::open(&folder).unwrap().unwrap();
            let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&socket.path), mode(socket.path.parent().unwrap())), (0o600, 0o700));
            connect(&socket.path).unwrap();
            std::mem::forget(socket.path); // as after a crash: the name stays
        }
        let path = folder.path().join("api/socket");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        let fault = Socket::open(&folder).err().expect("refused");
        assert!(fault.to_string().contains("is not a socket"), "{fault}");
    }

    #[test]
    fn a_long_data_directory_is_reached_too() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::take(&dir.path().join("x".repeat(150)).join("data")).unwrap();
        let socket = Socket::open(&folder).unwrap().unwrap();
        connect(&socket.path).unwrap();
    }
}
