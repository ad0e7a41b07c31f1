//! The next thing to do about one worker.
//!
//! For: a slot is looked at, and what is seen decides: watch, start, close, clear or be done.
//! Promises: starts a shim only for a slot that nobody has taken on; closes a slot before it says that nothing ran.
//! Never: asks a process to stop that it cannot name beyond doubt: signals go through descriptors, to children of ours and
//! to processes that carry the mark of the slot.

use super::Keeper;
use crate::allocation::{Allocation, Departure, State, Watch};
use crate::outcome::End;
use crate::report::Report;
use consort_agent::launch::{ShimChild, Sight};
use consort_agent::process;
use consort_agent::shim::Left;
use consort_agent::status::{Exited, Lost, Record, Started};
use consort_agent::{crash, untrusted};
use consort_types::AllocationId;
use rustix::event::epoll;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::path::Path;

/// How often a slot is offered to a new shim when the last one found it taken and yet nobody has it, or was killed before
/// it could take it.
const TRIES: u32 = 5;

impl Keeper {
    /// Finds out how a worker is, and starts it if that is due. True if it has to be looked at again.
    pub(super) fn settle(&mut self, allocation: &mut Allocation, rank: usize) -> bool {
        let is_gang = allocation.is_gang();
        let member = &mut allocation.members[rank];
        match &mut member.state {
            State::Over(_) => return false,
            State::Watched(watch) => {
                // Only gangs wait for their members to be up, as long as shims do what they should; it costs a look.
                if !allocation.released && !watch.up && (is_gang || self.wary) {
                    watch.up = match &mut watch.child {
                        Some((_, report)) => {
                            for record in report.records() {
                                note(&mut member.begun, &mut member.ended, &mut member.lost, record);
                            }
                            member.begun.is_some()
                        }
                        None => matches!(member.slot.look(), Ok(Sight::Live(_))),
                    };
                }
                return false;
            }
            State::Fresh => self.begin(allocation, rank, false),
            State::Unsettled => self.conclude(allocation, rank),
        }
        matches!(allocation.members[rank].state, State::Unsettled)
    }

    /// Nobody has taken the slot on: start a shim, or make sure that nobody ever will.
    pub(super) fn begin(&mut self, allocation: &mut Allocation, rank: usize, ordered: bool) {
        let winding = allocation.is_winding();
        let member = &mut allocation.members[rank];
        let is_fresh = matches!(member.state, State::Fresh);
        let give_up = member.tries >= TRIES || member.left.as_ref().is_some_and(|left| !left.again);
        if winding || give_up {
            if !winding {
                self.wary |= member.tries >= TRIES;
                allocation.refused = member.left.as_ref().map(|left| left.why.clone());
            }
            match member.slot.close() {
                Ok(true) => member.state = State::Over(End::Void),
                Ok(false) => member.state = State::Unsettled,
                // Nobody ever started a shim for it; or there is no place for a record, which a shim would have to claim too.
                Err(error) if is_fresh || !may_pass(&error) => {
                    member.state = State::Over(End::Void);
                }
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
        let order = allocation.orders.get(rank);
        match order {
            Some(order) => {
                let folder = if order.needs_folder() { make_folder(slot.folder()).map(drop) } else { Ok(()) };
                folder
                    .and_then(|()| self.records.make_sure())
                    .map_err(|error| format!("cannot create folder {}: {error}", slot.folder().display()))?
            }
            // An older daemon left one in the slot.
            None if ordered => {}
            None => return Err("its command is unknown".into()),
        }
        crash::point("before-spawn");
        let (child, report) = self
            .shims
            .start(slot.folder(), order)
            .map_err(|error| format!("cannot start the shim {}: {error}", self.shims.program().display()))?;
        crash::point("after-spawn");
        let pid = child.pid();
        self.watch(allocation.id, rank, pid, Some((child, Report::new(report))), false)
            .map_err(|error| format!("cannot watch the shim: {error}"))
    }

    /// Watches a shim of an earlier daemon.
    pub(super) fn adopt(&mut self, allocation: &mut Allocation, rank: usize, shim: Started, up: bool) {
        let Some(pid) = Pid::from_raw(shim.shim.pid) else { return };
        if let Ok(watch) = self.watch(allocation.id, rank, pid, None, up) {
            let member = &mut allocation.members[rank];
            // Only now is it certain whom the descriptor names.
            if process::is_shim_of(&shim.shim, member.slot.folder()) {
                member.state = State::Watched(watch);
                member.begun = Some(shim);
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
        child: Option<(ShimChild, Report)>,
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

/// Takes down what a shim of ours has told us.
pub(super) fn note(
    begun: &mut Option<Started>,
    ended: &mut Option<Exited>,
    lost: &mut Option<Lost>,
    record: Record,
) {
    match record {
        Record::Started(started) => *begun = Some(started),
        Record::Exited(exited) => *ended = Some(exited),
        Record::Lost(found) => *lost = Some(found),
        Record::Void => {}
    }
}

fn make_folder(folder: &Path) -> io::Result<bool> {
    let (base, name) = untrusted::rooted(folder);
    untrusted::make_folder(base, name)
}

/// Whether what failed now may work later: not if something of a job's is in the way.
fn may_pass(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    )
}

/// How a shim of ours left, in words; nothing if all went well.
pub(super) fn reap(child: &ShimChild) -> Option<Departure> {
    let status = child.wait().ok()?;
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(match Left::of(code) {
            Some(left) => Departure { why: left.why().to_owned(), again: left == Left::Taken },
            None => Departure::for_good(format!("the shim ended with status {code}")),
        }),
        // Whoever killed it, out of haste or for want of memory, did not mean the work.
        (None, signal) => Some(Departure {
            why: format!("the shim was killed by signal {}", signal.unwrap_or(0)),
            again: true,
        }),
    }
}
