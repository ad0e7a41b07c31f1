//! What we know: the fold of the journal.
//!
//! [`State`] is changed by `apply` and by nothing else. Everything that a plan may depend on is in here, so that
//! the journal rebuilds it; what can be derived (free-capacity indexes, sorted lines) is kept outside the hash.
//! Tables are dense vectors indexed by id and ordered sets; nothing iterates in hash order.

pub(crate) mod cluster;
pub(crate) mod jobs;
pub(crate) mod learned;
pub(crate) mod ledger;
pub(crate) mod observed;
pub(crate) mod queues;
pub(crate) mod tombstones;

use crate::class::Classes;
use cluster::Cluster;
use consort_types::{AllocationId, Constants, DeviceId, Digest, Grant, Slot, Time};
use jobs::{Allocation, Jobs, by_device};
use learned::Learned;
use ledger::{Decay, Ledger};
use observed::Observed;
use queues::Queues;
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use tombstones::Tombstones;

/// Everything the journal says, folded.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(crate) struct State {
    /// Time of the last event. Never goes back, whatever the clock does.
    pub now: Time,
    /// Time of the last event that was a reason to plan. Shares are counted up to here, so that no other event can put
    /// somebody else first.
    pub stirred_at: Time,
    /// Events applied so far.
    pub seen: u64,
    /// A digest over every event applied, in order: two states with the same chain have the same past.
    pub chain: u64,
    pub cluster: Cluster,
    pub queues: Queues,
    pub ledger: Ledger,
    pub classes: Classes,
    pub jobs: Jobs,
    /// Attempts that a fence ended and that the world may still have.
    pub tombstones: Tombstones,
    /// What the policy remembers.
    pub slot: Slot,
    /// What was learned from how jobs ended.
    pub learned: Learned,
    /// How fast jobs were observed to run.
    pub observed: Observed,
}

impl State {
    /// The numbers that decide what an event means.
    pub fn constants(&self) -> &Constants {
        self.cluster.settings.constants()
    }

    /// How usage decays.
    pub fn decay(&self) -> Decay {
        Decay::of(self.constants())
    }

    /// The part of a device that an allocation gives back and has promised to nobody: of one that is being resized what
    /// the new placement lacks, of any other all that it holds.
    pub fn unpledged(&self, giver: AllocationId, device: DeviceId) -> Grant {
        let mut spare = Grant { device, share: 0, memory_bytes: 0 };
        let Some(allocation) = self.jobs.allocation(giver) else { return spare };
        let given = allocation
            .width
            .resizing
            .as_deref()
            .map_or(&allocation.placement.grants, |resizing| &resizing.less);
        for grant in given.iter().filter(|grant| grant.device == device) {
            spare.share += grant.share;
            spare.memory_bytes += grant.memory_bytes;
        }
        for part in self.pledged(giver, allocation).filter(|part| part.device == device) {
            spare.share -= part.share;
            spare.memory_bytes -= part.memory_bytes;
        }
        spare
    }

    /// What an allocation that runs would give back if it were stopped, device by device, less what it has already
    /// promised because of a resize.
    pub fn stoppable(&self, id: AllocationId) -> Vec<Grant> {
        let Some(allocation) = self.jobs.allocation(id) else { return vec![] };
        if allocation.width.resizing.is_none() {
            return allocation.placement.grants.clone();
        }
        let held: Vec<Grant> = match allocation.asked() {
            Some(_) => allocation.granted().copied().collect(),
            None => allocation.placement.grants.clone(),
        };
        let mut held = by_device(&held);
        for part in self.pledged(id, allocation) {
            let place = held.binary_search_by_key(&part.device, |grant| grant.device);
            let grant = &mut held[place.expect("it holds what it promised")];
            grant.share -= part.share;
            grant.memory_bytes -= part.memory_bytes;
        }
        held
    }

    /// What others are owed by an allocation.
    fn pledged<'a>(
        &'a self,
        giver: AllocationId,
        allocation: &'a Allocation,
    ) -> impl Iterator<Item = &'a Grant> {
        let owed = allocation.pledges.iter().filter_map(|&to| self.jobs.allocation(to));
        let owed = owed.flat_map(|to| &to.owed);
        owed.filter(move |part| part.by == giver).map(|part| &part.grant)
    }

    /// A digest of the whole state.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::seeded(1);
        self.hash(&mut digest);
        digest.finish()
    }
}
