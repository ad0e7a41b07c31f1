//! Second verb: an event changes the state, and cannot fail.
//!
//! Whatever could go wrong was refused by `accept` or by `check`; what is left are invariants, and a broken
//! invariant ends the process (the journal brings it back). Nothing here asks a policy, reads a clock or draws a
//! number, so replaying a journal gives the same state on any machine, under any policy.

mod accounts;
mod allocations;
mod jobs;
mod memory;
mod nodes;
pub(crate) mod progress;
mod resize;
mod story;

use crate::free::Free;
use crate::scheduler::Scheduler;
use consort_types::*;
use std::hash::{Hash, Hasher};

impl Scheduler {
    /// Makes an event part of the state.
    pub fn apply(&mut self, event: &Event) {
        let mut chain = Digest::seeded(self.state.chain);
        event.hash(&mut chain);
        self.state.chain = chain.finish();
        self.state.seen += 1;
        assert!(event.at >= self.state.now, "events are stamped in order");
        self.state.now = event.at;
        match &event.fact {
            Fact::Planned(plan) => self.apply_plan(plan),
            Fact::Accepted(input) => self.apply_input(input),
        }
    }

    fn apply_input(&mut self, input: &Input) {
        if !matches!(input, Input::Started(_) | Input::Progress(_)) {
            self.stirred = true;
            self.state.stirred_at = self.state.now;
        }
        match input {
            Input::Configure(settings) => {
                self.state.cluster.settings = settings.clone();
                self.state.cluster.make += 1;
            }
            Input::SetKind(kind) => {
                self.state.cluster.set_kind(kind);
                self.free.make_room(&self.state.cluster);
            }
            Input::SetTenant(tenant) => {
                let cluster = &mut self.state.cluster;
                if tenant.quotas.iter().any(|quota| Pool::named(&quota.kind).is_some()) {
                    cluster.enter_pools(); // they may be declared before the first node that has any
                    self.free.make_room(cluster);
                }
                self.state.ledger.set(tenant, |name| cluster.quota_for(name));
            }
            Input::SetQueue(queue) => self.state.queues.set(queue),
            Input::Drain(node) => self.set_drained(*node, true),
            Input::Undrain(node) => self.set_drained(*node, false),
            Input::Submit(spec) => self.submit(spec),
            Input::Cancel(job) => self.end_job(*job, crate::state::jobs::Why::Asked),
            Input::Pause(job) => self.pause(*job),
            Input::Resume(job) => self.resume(*job),
            Input::NodeJoined(spec) => self.join(spec),
            Input::NodeSilent(node) => self.suspect(*node),
            Input::NodeReturned(node) => self.unsuspect(*node),
            Input::NodeFenced(node) => self.fence(*node),
            Input::NodeLeft(node) => self.forget_node(*node),
            Input::ForeignUse { node, shares, host } => self.set_foreign(*node, shares, host),
            Input::DeviceHealth { node, ill } => self.set_health(*node, ill),
            Input::Started(allocation) => self.started(*allocation),
            Input::StartRefused { allocation, why } => {
                self.state.tombstones.clear(*allocation);
                if self.phase(*allocation).is_some() {
                    self.start_refused(*allocation, why);
                }
            }
            Input::Resized { allocation, .. } => self.resized(*allocation),
            Input::ResizeRefused { allocation, why, .. } => self.resize_refused(*allocation, why),
            Input::OutputLost { .. } => {}
            Input::Progress(reports) => self.progress(reports),
            Input::Ended { allocation, outcome, why } => {
                self.state.tombstones.clear(*allocation);
                match self.phase(*allocation) {
                    Some(_) => self.allocation_ended(*allocation, *outcome, why.as_ref()),
                    None => self.fenced_attempt_ended(*allocation, *outcome, why.as_ref()),
                }
            }
        }
    }

    fn apply_plan(&mut self, plan: &Plan) {
        self.stirred |= !plan.moves.is_empty() && !self.policy.settles();
        for change in &plan.moves {
            match change {
                Move::Start { ask, placement, after } => self.start(*ask, placement, after),
                Move::Stop { allocation, cause } => self.stop_for(*allocation, *cause),
                Move::Resize { allocation, placement, after, in_place } => {
                    self.resize(*allocation, placement, after, *in_place);
                }
                Move::Fence { node } => self.fence(*node),
            }
        }
        if let Some(slot) = &plan.slot {
            self.state.slot.clone_from(slot);
        }
    }

    /// Brings the free index in step with one device.
    pub(crate) fn sync_device(&mut self, id: DeviceId) {
        let unheld = self.state.cluster.unheld(id);
        self.free.sync(&self.state.cluster, id, unheld);
    }

    /// Whether what is derived still equals what would be derived afresh. For tests and the swarm.
    pub fn indexes_are_true(&self) -> bool {
        self.free == Free::of(&self.state.cluster)
    }
}
