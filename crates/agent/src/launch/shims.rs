//! Starts shims: by forking them from a process that is loaded once, or else by executing the program for each.
//!
//! ```text
//! daemon ──executes, once──▶ fork server          waits for requests on a socket, ends when the daemon does
//!   ├── shim ◀──clone(CLONE_PARENT), per worker──┘
//!   └── shim                                      children of the daemon, with a session of their own
//! ```
//! Loading a program (the dynamic linker, relocations, page faults) costs more than everything a shim does, so it is
//! done once and not for every worker.
//!
//! Contract: a shim is a child of this process whichever way it was started, carries its mark from its first instruction
//! (`process::crews` relies on it) and has no file open but its order and its pipe. A fork server that is gone or does not answer is
//! replaced once, then the program is executed. Whether a lost request was carried out is not known, so a second shim may
//! be started for one slot; the lock of the slot lets one of them in.

use crate::launch::Order;
use crate::process::SHIM_MARK;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    recv, sendmsg, socketpair,
};
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use std::fs::File;
use std::io::{self, IoSlice, PipeReader};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The longest path of a slot that a fork server can give to a shim as its mark.
pub(crate) const LONGEST_SLOT: usize = 4096;

/// How long a fork server may take to answer before it is replaced. A job could stop it.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// How a shim is called: a program and what comes before the folder of the slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShimProgram {
    /// The program.
    pub program: PathBuf,
    /// What it is called with, before the folder of the slot: `shim`.
    pub arguments: Vec<String>,
    /// Without the folder of a slot it is a fork server: true for every program that calls [`crate::shim::main`].
    pub forks: bool,
}

impl ShimProgram {
    /// It gets nothing from us but its arguments: no environment but its mark, no open file but what is given here.
    fn command(&self, mark: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().env(SHIM_MARK, mark).current_dir("/").stderr(Stdio::null());
        // What is typed at our terminal is meant for us alone.
        command.process_group(0);
        command
    }
}

/// A shim that this process has started.
#[derive(Debug)]
pub struct ShimChild {
    pid: Pid,
}

impl ShimChild {
    /// Its number, which stays its own until [`Self::wait`] returns.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits until it has ended.
    pub fn wait(&self) -> io::Result<WaitStatus> {
        loop {
            match waitpid(Some(self.pid), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(status),
                Ok(None) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// Starts shims.
#[derive(Debug)]
pub struct Shims {
    program: ShimProgram,
    server: Option<Server>,
}

impl Shims {
    /// Nothing is started yet.
    pub fn new(program: ShimProgram) -> Self {
        Self { program, server: None }
    }

    /// The program that is run.
    pub fn program(&self) -> &Path {
        &self.program.program
    }

    /// Starts a shim for a slot; without an order it takes the one that an older daemon left in the slot. Its records can
    /// be read from the pipe, as well as from its file; reading does not wait.
    pub fn start(&mut self, slot: &Path, order: Option<&Order>) -> io::Result<(ShimChild, PipeReader)> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let order = match order {
            Some(order) => order.in_memory()?,
            None => File::open("/dev/null")?.into(),
        };
        if self.program.forks && slot.as_os_str().len() < LONGEST_SLOT {
            for _ in 0..2 {
                match self.fork(slot, &[order.as_fd(), writer.as_fd()]) {
                    Ok(pid) => return Ok((ShimChild { pid }, reader)),
                    Err(_) => self.server = None,
                }
            }
        }
        let child = self.program.command(slot).arg(slot).stdin(order).stdout(writer).spawn()?;
        let pid = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::NotFound)?;
        Ok((ShimChild { pid }, reader))
    }

    fn fork(&mut self, slot: &Path, files: &[BorrowedFd<'_>; 2]) -> io::Result<Pid> {
        let server = match &self.server {
            Some(server) => server,
            None => self.server.insert(Server::start(&self.program)?),
        };
        server.fork(slot, files)
    }
}

/// A fork server and our end of its socket.
#[derive(Debug)]
struct Server {
    socket: OwnedFd,
    process: Child,
}

impl Server {
    fn start(program: &ShimProgram) -> io::Result<Self> {
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // Room in its environment for the marks of those that it forks; no path of a slot, so that it is no shim itself.
        let room = "/".repeat(LONGEST_SLOT);
        let process = program.command(room).stdin(theirs).stdout(Stdio::null()).spawn()?;
        Ok(Self { socket, process })
    }

    /// `files` are the standard input and output of the shim.
    fn fork(&self, slot: &Path, files: &[BorrowedFd<'_>; 2]) -> io::Result<Pid> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(files));
        sendmsg(
            &self.socket,
            &[IoSlice::new(slot.as_os_str().as_bytes())],
            &mut control,
            SendFlags::NOSIGNAL,
        )?;
        let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
        while poll(&mut ready, Some(&PATIENCE)) == Err(Errno::INTR) {}
        let mut answer = [0; 4];
        recv(&self.socket, &mut answer, RecvFlags::DONTWAIT)?;
        // Zero if it could not fork, or is gone.
        Pid::from_raw(i32::from_ne_bytes(answer)).ok_or_else(|| io::ErrorKind::ConnectionAborted.into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Shims do not notice.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
