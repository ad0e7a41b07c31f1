//! Open files that a process inherits without being meant to.
//!
//! The daemon may have been started with files open that are nobody's business: a lock, a socket, a secret passed by
//! number. Programs pass on what they do not know, so a shim closes everything at its start, and whatever is open when a
//! worker is started stays behind.

use std::os::fd::RawFd;

/// Standard input, output and error stay.
const FIRST: RawFd = 3;

/// Closes everything but standard input, output and error.
#[allow(unsafe_code)]
pub(super) fn close_inherited() {
    if close_range(0) {
        return;
    }
    for fd in listed() {
        // SAFETY: called first of all, when this process has opened nothing yet, so that no descriptor is owned. One that
        // is closed already is refused with EBADF.
        unsafe { libc::close(fd) };
    }
}

/// What is open in this process. Made before the fork, because nothing can be listed after it; and only where the kernel
/// cannot do it without a list.
pub(super) struct Descriptors {
    highest: Option<RawFd>,
}

impl Descriptors {
    /// Looks now.
    pub fn open() -> Self {
        let is_known = close_range(libc::CLOSE_RANGE_CLOEXEC);
        Self { highest: (!is_known).then(|| listed().into_iter().max().unwrap_or(FIRST)) }
    }

    /// Nothing but standard input, output and error reaches the next program. For between fork and exec.
    #[allow(unsafe_code)]
    pub fn close_on_exec(&self) {
        let Some(highest) = self.highest else {
            close_range(libc::CLOSE_RANGE_CLOEXEC);
            return;
        };
        // The fork and the pipe of the standard library open a few more.
        for fd in FIRST..highest.saturating_add(16) {
            // SAFETY: takes integers only and is async-signal-safe; an unused number is refused with EBADF.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

/// False where the kernel does not know this call (before 5.9, and the flag before 5.11).
#[allow(unsafe_code)]
fn close_range(flags: libc::c_uint) -> bool {
    // SAFETY: takes integers only and is async-signal-safe. Without flags it closes descriptors, and is then called when
    // none is owned.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST as libc::c_uint, libc::c_uint::MAX, flags) == 0 }
}

fn listed() -> Vec<RawFd> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(|&fd| fd >= FIRST).collect()
}
