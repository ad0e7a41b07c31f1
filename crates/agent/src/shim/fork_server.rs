//! The process that shims are forked from.
//!
//! A request is the folder of a slot, its order and the pipe to report to; the answer is the number of the shim, or zero. Ends when
//! the daemon's end of the socket, our standard input, is closed. Never has more than one thread: a fork of several would
//! take along locks that nobody opens again.

use super::{descriptors, signals};
use crate::launch::LONGEST_SLOT;
use crate::process::SHIM_MARK;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use std::ffi::{CString, OsString};
use std::io::{IoSliceMut, stdin};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;

/// Serves until the daemon is gone; then `None`. In each shim it returns the folder of the slot, with the order as
/// standard input and the pipe as standard output, and the caller goes on as if it had been executed for that slot.
pub(super) fn serve() -> Option<OsString> {
    descriptors::close_inherited();
    signals::lead_session();
    let mark = Mark::own()?;
    let daemon = rustix::process::getppid();
    loop {
        let (slot, order, report) = receive()?;
        // What a dead daemon asked for, the next one asks for again.
        if rustix::process::getppid() != daemon {
            return None;
        }
        // Set before the fork, so that the shim carries it from its first instruction.
        mark.set(&slot);
        match fork_sibling() {
            0 => {
                rustix::stdio::dup2_stdout(&report).ok()?;
                rustix::stdio::dup2_stdin(&order).ok()?;
                return Some(OsString::from_vec(slot));
            }
            answer => {
                mark.set(b"");
                send(stdin(), &answer.max(0).to_ne_bytes(), SendFlags::NOSIGNAL).ok()?;
            }
        }
    }
}

/// The next request; absent when there will be none, or it is none.
fn receive() -> Option<(Vec<u8>, OwnedFd, OwnedFd)> {
    let mut slot = vec![0; LONGEST_SLOT];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let length = loop {
        match recvmsg(stdin(), &mut [IoSliceMut::new(&mut slot)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received.ok()?.bytes,
        }
    };
    slot.truncate(length);
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => Some((slot.clone(), files.next()?, files.next()?)),
        _ => None,
    })
}

/// Forks a process whose parent is our own parent: the daemon watches and reaps it. Zero in the new process, negative if
/// there is none.
#[allow(unsafe_code)]
fn fork_sibling() -> i32 {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as fork(), because no memory is shared and no stack is given; this process has one thread, so that no lock
    // of another one is copied. The C library does not cache the number of a process, and of a thread only for mutexes
    // that check who holds them, of which a shim has none.
    unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) as i32 }
}

/// The room for a mark in the environment that this process was started with, where `/proc/PID/environ` shows it.
struct Mark {
    room: *mut u8,
}

impl Mark {
    #[allow(unsafe_code)]
    fn own() -> Option<Self> {
        let name = CString::new(SHIM_MARK).ok()?;
        // SAFETY: the name is a C string; nothing changes the environment of a shim.
        let room: *mut u8 = unsafe { libc::getenv(name.as_ptr()) }.cast();
        // SAFETY: what getenv gives is a C string.
        let has_room = !room.is_null() && unsafe { libc::strlen(room.cast()) } >= LONGEST_SLOT;
        has_room.then_some(Self { room })
    }

    #[allow(unsafe_code)]
    fn set(&self, slot: &[u8]) {
        let length = slot.len().min(LONGEST_SLOT - 1);
        // SAFETY: the room has this size and its own terminating zero, which is left; it is read by this thread alone,
        // and the kernel reads whatever it finds.
        unsafe {
            std::ptr::copy_nonoverlapping(slot.as_ptr(), self.room, length);
            std::ptr::write_bytes(self.room.add(length), 0, LONGEST_SLOT - length);
        }
    }
}
