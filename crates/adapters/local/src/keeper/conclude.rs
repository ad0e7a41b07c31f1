//! What came of a worker that nobody watches.
//!
//! ```text
//! its shim told us, its parent, how it ended ────────────────────────────▶ exited
//! a shim of the slot is alive ───────────────────────────────────────────▶ watched
//! processes of the worker are alive without one ──▶ killed, and looked again
//! nothing is alive: the record says how it ended ────────────────────────▶ exited
//!                   it began and no record says how it ended ────────────▶ lost
//!                   it never began ──────────────────────────────────────▶ started, or closed
//! ```
//! Promises: processes decide before files do, because jobs can write to files. A worker that was seen to begin is never
//! open again.
//! Never: believes the record of an ending while a process of the worker is alive.

use super::Keeper;
use crate::allocation::{Allocation, Member, State};
use crate::outcome::End;
use consort_agent::launch::Sight;
use consort_agent::process::{self, Identity};
use consort_agent::shim;
use consort_agent::status::Started;

impl Keeper {
    /// Finds out how a worker is that nobody watches.
    pub(super) fn conclude(&mut self, allocation: &mut Allocation, rank: usize) {
        let member = &mut allocation.members[rank];
        if let Some(exited) = member.ended {
            // A shim that left in good order has left nothing behind. One that was killed after these words may have.
            if member.left.is_none() || is_clear(member, None) {
                member.state = State::Over(End::Exited(exited));
            }
            return;
        }
        if let Some(crew) = self.crews.get_mut(member.slot.folder()) {
            crew.shims.retain(|shim| process::is_shim_of(shim, member.slot.folder()));
            if let Some(shim) = crew.shims.pop() {
                return self.adopt(allocation, rank, Started::by(shim), false);
            }
        }
        let sight = match member.slot.look() {
            Ok(Sight::Live(started)) => return self.adopt(allocation, rank, started, true),
            Ok(sight) => sight,
            // A disk that cannot be read may come back; until then nothing is known, and nothing is claimed.
            Err(_) => return,
        };
        if let Some(crew) = self.crews.get_mut(member.slot.folder()) {
            // Those that a dead shim left behind show that the worker ran, whatever became of its record.
            member.seen |= !crew.workers.is_empty();
            if member.seen {
                // Looked for anew: they may have forked since this world was opened.
                member.dying.extend(process::kill_leftovers(None, member.slot.folder()));
                member.dying.retain(Identity::is_alive);
                if !member.dying.is_empty() {
                    return;
                }
            }
            self.crews.remove(member.slot.folder());
        }
        let recorded = if let Sight::Orphaned(started) = &sight { Some(started) } else { None };
        if is_clear(member, recorded) {
            self.judge(allocation, rank, sight);
        }
    }

    /// Nothing of it is alive.
    fn judge(&mut self, allocation: &mut Allocation, rank: usize, sight: Sight) {
        let member = &mut allocation.members[rank];
        let was_reported = self.setup.begun.contains(&allocation.id) && member.tries == 0;
        let has_run = member.seen || member.begun.is_some();
        // Whether it was let go is not known any more; it was, as far as anybody can tell.
        allocation.released |= sight == Sight::Bygone;
        let end = match sight {
            Sight::Exited(exited) => {
                member.lost = member.slot.lost();
                End::Exited(exited)
            }
            Sight::Spoiled(why) => End::Lost(format!("cannot read its record: {why}")),
            Sight::Orphaned(_) if member.begun.is_some() => End::Lost(how_it_left(member)),
            // Its shim died while no daemon was there.
            Sight::Orphaned(_) | Sight::Bygone => End::Vanished,
            Sight::Void if !has_run => End::Void,
            Sight::Open { ordered } if !has_run && !was_reported => {
                return self.begin(allocation, rank, ordered);
            }
            Sight::Live(_) => return,
            Sight::Open { .. } | Sight::Void if has_run || self.records.same_boot => {
                End::Lost(format!("no record of how it ended; {}", how_it_left(member)))
            }
            // What was written before the machine went down may never have reached the disk.
            Sight::Open { .. } | Sight::Void => End::Vanished,
        };
        member.state = State::Over(end);
    }
}

/// Ends what a dead shim may have left behind. True once nothing is left.
fn is_clear(member: &mut Member, recorded: Option<&Started>) -> bool {
    // One that was found by its process is known without what only its record says.
    let container = recorded.and_then(|recorded| recorded.container);
    let shim = member.begun.as_ref().or(recorded).cloned();
    let shim = shim.map(|shim| Started { container: shim.container.or(container), ..shim });
    shim.is_none_or(|shim| shim::clear(&shim, &member.slot, &mut member.dying, &mut member.removal))
}

fn how_it_left(member: &Member) -> String {
    member.left.as_ref().map_or_else(|| "its shim was killed".into(), |left| left.why.clone())
}
