//! Asking a worker to go that runs in a container.
//!
//! Without a container the signal goes to the process group of the worker: whoever does not handle it dies, and the others
//! have their grace. Inside of one it is sent to every process but init, with the same meaning: a main process that would
//! die of the signal would take the container with it, and its children in the middle of their work. So it is stopped
//! until the others are gone, and gets the signal then. Not before: of several pending signals the kernel takes the one with
//! the lowest number first, so that a process could die before it is stopped.
//!
//! Never: sends anything to the init process, which would pass it on a second time.

use crate::launch::Slot;
use crate::process::{Identity, Inside, inside};

/// What is known of the container of a slot.
pub(super) struct Contained<'a> {
    slot: &'a Slot,
    /// The main process, and the signal it is to get.
    held: Option<(Identity, i32)>,
}

impl<'a> Contained<'a> {
    pub fn of(slot: &'a Slot) -> Self {
        Self { slot, held: None }
    }

    /// Sends a signal to everything inside; false while there is nothing.
    pub fn ask(&mut self, signal: i32) -> bool {
        let Some((init, members)) = inside(self.slot.folder()) else { return false };
        let main = members.iter().find(|member| member.parent == init.identity.pid);
        if let Some(main) = main.filter(|main| members.len() > 1 && dies_of(main, signal)) {
            main.identity.signal(libc::SIGSTOP);
            self.held = Some((main.identity.clone(), signal));
        }
        let is_held = |one: &Identity| self.held.as_ref().is_some_and(|(held, _)| held == one);
        let others = members.iter().map(|member| &member.identity).filter(|one| !is_held(one));
        others.for_each(|one| one.signal(signal));
        !members.is_empty()
    }

    /// Lets the main process go on, and die, once it is alone.
    pub fn look(&mut self) {
        let Some((held, signal)) = &self.held else { return };
        let others = inside(self.slot.folder())
            .is_some_and(|(_, members)| members.iter().any(|member| member.identity != *held));
        if !others {
            held.signal(*signal);
            held.signal(libc::SIGCONT);
            self.held = None;
        }
    }

    /// Whether the main process is held.
    pub fn holds(&self) -> bool {
        self.held.is_some()
    }
}

fn dies_of(process: &Inside, signal: i32) -> bool {
    const HARMLESS: [i32; 7] = [
        libc::SIGCHLD,
        libc::SIGCONT,
        libc::SIGSTOP,
        libc::SIGTSTP,
        libc::SIGURG,
        libc::SIGWINCH,
        libc::SIGKILL, // nobody has any grace then
    ];
    !HARMLESS.contains(&signal) && (1..=64).contains(&signal) && process.handled & (1 << (signal - 1)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_handles_a_signal_does_not_die_of_it() {
        let identity = Identity { pid: 1, born: 0, boot: String::new() };
        let process = Inside { identity, parent: 0, handled: 1 << (libc::SIGTERM - 1) };
        assert!(!dies_of(&process, libc::SIGTERM) && dies_of(&process, libc::SIGUSR1));
        assert!(!dies_of(&process, libc::SIGWINCH) && !dies_of(&process, 0));
    }
}
