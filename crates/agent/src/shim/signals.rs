//! Signals as something to be read, not as something that interrupts.
//!
//! For: the shim has one loop and no handlers.
//! Promises: from the moment they are held, requests to stop and deaths of children wait until they are read; the
//! worker gets a clean mask.
//! Never: holds the signals that tell of a broken program.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;

/// The signals that are held.
pub(super) struct Signals {
    fd: OwnedFd,
}

/// What has come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub stop: bool,
    pub child: bool,
}

impl Signals {
    /// Holds them from now on.
    #[allow(unsafe_code)]
    pub fn hold() -> io::Result<Self> {
        use std::os::fd::FromRawFd;
        // SAFETY: the set is made by sigemptyset before anything reads it, and all calls take it by pointer only for
        // their own duration. The descriptor is new and ours.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in [libc::SIGTERM, libc::SIGCHLD, libc::SIGINT, libc::SIGHUP] {
                libc::sigaddset(&mut set, signal);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(Self { fd: OwnedFd::from_raw_fd(fd) }),
            }
        }
    }

    /// Reads all that wait. SIGINT and SIGHUP are meant for somebody at a terminal and change nothing here.
    pub fn read(&self) -> News {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut news = News::default();
        let mut buffer = [0; SIZE * 8];
        while let Ok(length @ 1..) = rustix::io::read(&self.fd, &mut buffer) {
            for one in buffer[..length].chunks_exact(SIZE) {
                match u32::from_ne_bytes([one[0], one[1], one[2], one[3]]) as i32 {
                    libc::SIGTERM => news.stop = true,
                    libc::SIGCHLD => news.child = true,
                    _ => {}
                }
            }
        }
        news
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Leaves the session of the daemon and its terminal for one of our own.
///
/// We were started as the leader of a group, so that what is typed at the daemon's terminal does not reach us, and a
/// leader cannot leave; so we go through the daemon's group for a moment, in which signals are held. If the daemon is
/// gone already we stay: nobody sends us signals by accident there either, and what we run carries our mark.
#[allow(unsafe_code)]
pub(super) fn lead_session() {
    if rustix::process::setsid().is_ok() {
        return;
    }
    // SAFETY: these take and give numbers; the worst a wrong one does is to be refused.
    unsafe {
        let group = libc::getpgid(libc::getppid());
        if group > 0 {
            libc::setpgid(0, group);
        }
    }
    let _ = rustix::process::setsid();
}

/// Takes everything off the mask; for the child, between fork and exec.
#[allow(unsafe_code)]
pub(super) fn release_all() {
    // SAFETY: async-signal-safe, and the set is made before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
    }
}

/// Sends a signal by its number to the process that a descriptor names. Who is gone already needs none.
#[allow(unsafe_code)]
pub(crate) fn send_to(process: &OwnedFd, signal: i32) {
    use std::os::fd::AsRawFd;
    let no_details = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: takes an open descriptor and integers; without details nothing is read from memory. The kernel refuses an
    // invalid number with EINVAL.
    unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, no_details, 0);
    }
}

/// Sends a signal by its number, be it one that has no name. Who is gone already needs none.
#[allow(unsafe_code)]
pub(super) fn send_to_group(leader: rustix::process::Pid, signal: i32) {
    // SAFETY: takes two numbers; the worst a wrong one does is to be refused.
    unsafe {
        libc::kill(-leader.as_raw_pid(), signal);
    }
}
