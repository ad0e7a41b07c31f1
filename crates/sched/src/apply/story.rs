//! Writes down what happens to a job, for its owner.

use crate::scheduler::Scheduler;
use crate::state::jobs::Allocation;
use consort_types::*;
use std::sync::Arc;

impl Scheduler {
    /// Something happened to an attempt.
    pub(super) fn tell(&mut self, id: AllocationId, what: Happened) {
        let (at, AllocationId { ask, attempt }) = (self.state.now, id);
        if let Some(job) = self.state.jobs.get_mut(ask.job) {
            job.story.push(StoryEntry { at, ask, attempt, what });
        }
    }

    /// Something happened to a job.
    pub(super) fn tell_job(&mut self, job: JobId, what: Happened) {
        self.tell(AllocationId { ask: AskId::whole(job), attempt: 0 }, what);
    }

    pub(super) fn tell_preempted(&mut self, id: AllocationId, by: AskId, claim: Option<Claim>) {
        let Some(other) = self.state.jobs.get(by.job) else { return };
        let (name, tenant) = (other.spec.name.clone(), other.spec.tenant.clone());
        self.tell(id, Happened::Preempted { by, name, tenant, claim });
    }

    /// One of its devices in this node became unhealthy.
    pub(super) fn tell_unhealthy(&mut self, id: AllocationId, node: NodeId) {
        let (cluster, first) = (&self.state.cluster, self.state.cluster.nodes[node.index()].first);
        let grants = self.state.jobs.allocation(id);
        let ill = grants.into_iter().flat_map(Allocation::granted).find_map(|grant| {
            let device = cluster.device(grant.device);
            Some((grant.device.0.checked_sub(first)?, device.ill.clone()?)).filter(|_| device.node == node)
        });
        let Some((device, why)) = ill else { return };
        self.tell(id, Happened::DeviceUnhealthy { node: self.node_name(node), device, why });
    }

    pub(super) fn node_name(&self, node: NodeId) -> Arc<str> {
        self.state.cluster.nodes[node.index()].spec.name.as_str().into()
    }
}
