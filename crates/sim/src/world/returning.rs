//! The controller dies and comes back; this world was here all the time.
//!
//! For: crashes that lose what was heard and not yet written down, as real ones do.
//! Promises: an ending is kept until it is settled, so that nothing runs again whose end was told in vain; a controller
//! that comes back is told once more whatever it may have missed.
//! Never: guesses what the controller knows. What it knows already it refuses as stale.

use super::{Happening, VirtualWorld};
use crate::workload::Submission;
use consort_types::*;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

impl VirtualWorld {
    /// What is true of a job that somebody submits without asking this world to. Replaces what was true of a job whose id
    /// is used again.
    pub fn learn(&mut self, job: JobId, submission: Submission) {
        let index = self.submissions.len() as u32;
        self.submissions = self.submissions.iter().cloned().chain([submission]).collect::<Arc<[_]>>();
        self.ids.push(Some(job));
        self.jobs.truncate(job.index());
        assert_eq!(self.jobs.len(), job.index(), "ids are handed out in order");
        self.jobs.push(index);
    }

    /// Parts of devices on which an allocation has somebody alive.
    pub fn workers_of(&self, allocation: AllocationId) -> usize {
        self.workers.count(allocation)
    }

    /// Whether the workers of an allocation have begun to work and are still at it.
    pub fn is_working(&self, allocation: AllocationId) -> bool {
        self.live.get(&allocation).is_some_and(|live| live.running.is_some())
    }

    /// The controller came back, and this is all that is desired. The rest is ended without a word, as if it had never
    /// been; what may have been told in vain is told again.
    pub fn reopen(&mut self, now: Time, desired: &BTreeSet<AllocationId>) {
        let strangers = self.live.keys().chain(self.unsettled.keys()).filter(|id| !desired.contains(id));
        for id in strangers.copied().collect::<Vec<_>>() {
            self.forget(id);
        }
        let up = self.live.iter().filter(|(_, live)| live.running.is_some() && live.over.is_none());
        let missed: Vec<Input> =
            up.map(|(&id, _)| Input::Started(id)).chain(self.unsettled.values().cloned()).collect();
        let answers = self.live.iter().flat_map(|(&id, live)| live.last_answers(id));
        let missed: Vec<Input> = missed.into_iter().chain(answers).collect();
        for input in missed {
            let number = self.nodes.keep(input);
            self.later(now, Happening::Heard(number));
        }
    }

    /// Its name may be given again, so nothing that was to happen to it may happen.
    fn forget(&mut self, id: AllocationId) {
        self.dismiss(id);
        self.left.remove(&id.ask);
        self.effort.forget(id.ask);
    }

    /// Ends an attempt that the scheduler knows nothing of, without a report.
    pub(super) fn dismiss(&mut self, id: AllocationId) {
        self.live.remove(&id);
        self.workers.go(id);
        self.unsettled.remove(&id);
        self.nodes.drop_mail(id);
        self.agenda.retain(|Reverse((_, _, happening))| match happening {
            Happening::Up(other)
            | Happening::Refuse(other)
            | Happening::Report(other)
            | Happening::Over(other, ..)
            | Happening::Resized(other, _)
            | Happening::Gone(other) => *other != id,
            Happening::Heard(_)
            | Happening::Reconnect(..)
            | Happening::LeaseOut(..)
            | Happening::Emptied(..)
            | Happening::Leaves(_) => true,
        });
    }
}
