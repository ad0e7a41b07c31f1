//! The next thing to do about one worker.
//!
//! For: a slot is looked at, and what is seen decides: watch, start, close, clear or be done.
//! Promises: starts a shim only for a slot that nobody has taken on; closes a slot before it says that nothing ran.
//! Never: asks a process to stop that it cannot name beyond doubt: signals go through descriptors.

use super::Keeper;
use crate::allocation::{Allocation, Departure, State, Watch};
use crate::outcome::End;
use consort_agent::launch::Sight;
use consort_agent::process::Identity;
use consort_agent::shim::{self, Left};
use consort_agent::{crash, launch};
use consort_types::AllocationId;
use rustix::event::epoll;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;

/// How often a slot is offered to a new shim when the last one found it taken and yet nobody has it, or was killed before
/// it could take it.
const TRIES: u32 = 5;

impl Keeper {
    /// Finds out how a worker is, and starts it if that is due. True if it has to be looked at again.
    pub(super) fn settle(&mut self, allocation: &mut Allocation, rank: usize) -> bool {
        let member = &mut allocation.members[rank];
        match &mut member.state {
            State::Over(_) => return false,
            State::Watched(watch) => {
                // Only gangs wait for their members to be up, as long as shims do what they should; it costs a look.
                if !allocation.released && !watch.up && (allocation.members.len() > 1 || self.wary) {
                    let sight = allocation.members[rank].slot.look();
                    if let (State::Watched(watch), Ok(Sight::Live(_))) =
                        (&mut allocation.members[rank].state, sight)
                    {
                        watch.up = true;
                    }
                }
                return false;
            }
            State::Fresh => {
                self.begin(allocation, rank, false);
                return matches!(allocation.members[rank].state, State::Unsettled);
            }
            State::Unsettled => {}
        }
        match member.slot.look() {
            Ok(Sight::Exited(exited)) => member.state = State::Over(End::Exited(exited)),
            Ok(Sight::Void) => member.state = State::Over(End::Void),
            Ok(Sight::Bygone) => {
                member.state = State::Over(End::Lost);
                allocation.released = true;
            }
            Ok(Sight::Live(started)) => self.adopt(allocation, rank, &started.shim),
            Ok(Sight::Orphaned(started)) => {
                if shim::clear(&started, &member.slot, &mut member.dying) {
                    member.state = State::Over(End::Lost);
                }
            }
            Ok(Sight::Open { ordered }) => self.begin(allocation, rank, ordered),
            // A disk that cannot be read may come back; until then nothing is known, and nothing is claimed.
            Err(_) => {}
        }
        matches!(allocation.members[rank].state, State::Unsettled)
    }

    /// Nobody has taken the slot on: start a shim, or make sure that nobody ever will.
    fn begin(&mut self, allocation: &mut Allocation, rank: usize, ordered: bool) {
        let winding = allocation.is_winding();
        let member = &mut allocation.members[rank];
        let give_up = member.tries >= TRIES || member.left.as_ref().is_some_and(|left| !left.again);
        if winding || give_up {
            if !winding {
                self.wary |= member.tries >= TRIES;
                allocation.refused = member.left.as_ref().map(|left| left.why.clone());
            }
            match member.slot.close() {
                Ok(true) => member.state = State::Over(End::Void),
                Ok(false) => member.state = State::Unsettled,
                // No folder could be made, so that no shim can ever find an order in it.
                Err(_) if !member.slot.order().exists() => member.state = State::Over(End::Void),
                Err(_) => member.state = State::Unsettled,
            }
            return;
        }
        member.tries += 1;
        match self.spawn(allocation, rank, ordered) {
            Ok(watch) => allocation.members[rank].state = State::Watched(watch),
            Err(why) => {
                let member = &mut allocation.members[rank];
                member.left = Some(Departure::for_good(why));
                member.state = State::Unsettled;
            }
        }
    }

    fn spawn(&mut self, allocation: &Allocation, rank: usize, ordered: bool) -> Result<Watch, String> {
        let slot = &allocation.members[rank].slot;
        if !ordered {
            let order = allocation.orders.get(rank).ok_or("nobody knows what it is to run")?;
            match std::fs::create_dir(slot.folder()) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => order.write(&slot.order()),
            }
            .map_err(|error| {
                format!("the order in {} cannot be written: {error}", slot.folder().display())
            })?;
        }
        crash::point("before-spawn");
        let shim: &launch::ShimProgram = &self.setup.shim;
        let child = shim
            .spawn(slot.folder())
            .map_err(|error| format!("the shim {} cannot be started: {error}", shim.program.display()))?;
        crash::point("after-spawn");
        let pid = Pid::from_raw(child.id() as i32).ok_or("the shim has no number")?;
        self.watch(allocation.id, rank, pid, Some(child), false)
            .map_err(|error| format!("the shim cannot be watched: {error}"))
    }

    fn adopt(&mut self, allocation: &mut Allocation, rank: usize, shim: &Identity) {
        let Some(pid) = Pid::from_raw(shim.pid) else { return };
        if let Ok(watch) = self.watch(allocation.id, rank, pid, None, true) {
            // Only now is it certain whom the descriptor names.
            if shim.is_alive() {
                allocation.members[rank].state = State::Watched(watch);
            } else {
                self.tokens.remove(&watch.token);
                let _ = epoll::delete(&self.epoll, &watch.pidfd);
            }
        }
    }

    fn watch(
        &mut self,
        id: AllocationId,
        rank: usize,
        pid: Pid,
        child: Option<Child>,
        up: bool,
    ) -> io::Result<Watch> {
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        let token = self.next_token;
        epoll::add(&self.epoll, &pidfd, epoll::EventData::new_u64(token), epoll::EventFlags::IN)?;
        self.next_token += 1;
        self.tokens.insert(token, (id, rank));
        Ok(Watch { pidfd, token, child, up, asked: false })
    }

    /// Asks every shim that is there to end its worker, once.
    pub(super) fn ask_to_stop(&mut self, allocation: &mut Allocation) {
        for member in &mut allocation.members {
            if let State::Watched(watch) = &mut member.state
                && !watch.asked
            {
                watch.asked = true;
                // One that is gone already gives its own sign.
                let _ = pidfd_send_signal(&watch.pidfd, Signal::TERM);
            }
        }
    }
}

/// How a shim of ours left, in words; nothing if all went well.
pub(super) fn reap(child: &mut Child) -> Option<Departure> {
    let status = child.wait().ok()?;
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(match Left::of(code) {
            Some(left) => Departure { why: left.why().to_owned(), again: left == Left::Taken },
            None => Departure::for_good(format!("the shim ended with status {code} before its worker began")),
        }),
        // Whoever killed it, out of haste or for want of memory, did not mean the work.
        (None, signal) => Some(Departure {
            why: format!("the shim was ended by signal {} before its worker began", signal.unwrap_or(0)),
            again: true,
        }),
    }
}
