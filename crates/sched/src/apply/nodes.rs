//! Nodes come, go silent, return, are fenced and drained.

use crate::scheduler::Scheduler;
use crate::state::cluster::Health;
use crate::state::jobs::{Last, Phase, Then};
use consort_types::*;

impl Scheduler {
    pub(super) fn join(&mut self, spec: &NodeSpec) {
        let node = self.state.cluster.join(spec);
        self.free.admit(&self.state.cluster, node);
    }

    pub(super) fn set_drained(&mut self, node: NodeId, drained: bool) {
        self.state.cluster.nodes[node.index()].drained = drained;
        self.sync_node(node);
    }

    pub(super) fn suspect(&mut self, node: NodeId) {
        let cluster = &mut self.state.cluster;
        let fence_at = self.state.now + cluster.settings.lease + cluster.settings.margin;
        cluster.nodes[node.index()].health = Health::Suspect { fence_at };
        cluster.suspects.insert((fence_at, node));
        self.sync_node(node);
    }

    pub(super) fn unsuspect(&mut self, node: NodeId) {
        self.forget_suspicion(node);
        self.state.cluster.nodes[node.index()].health = Health::Up;
        self.sync_node(node);
    }

    fn forget_suspicion(&mut self, node: NodeId) {
        if let Health::Suspect { fence_at } = self.state.cluster.nodes[node.index()].health {
            self.state.cluster.suspects.remove(&(fence_at, node));
        }
    }

    /// Nothing runs on the node any more. What it held is released; a gang that had a member there is over.
    pub(super) fn fence(&mut self, node: NodeId) {
        self.forget_suspicion(node);
        self.state.cluster.nodes[node.index()].health = Health::Fenced;
        self.sync_node(node);
        let touched: Vec<AllocationId> = self.allocations_on(node).collect();
        // Those that were only promised devices there come first: they must not be paid from what is lost.
        let is_planned = |scheduler: &Self, id| scheduler.phase(id) == Some(Phase::Planned);
        let (planned, live): (Vec<_>, Vec<_>) = touched.into_iter().partition(|&id| is_planned(self, id));
        for id in planned {
            self.withdraw(id, Last::NodeLost(node));
        }
        for id in live {
            self.set_last(id.ask, Last::NodeLost(node));
            self.stop(id, Then::Requeue);
            self.lose_grants_on(id, node);
        }
        for device in self.state.cluster.nodes[node.index()].devices().map(DeviceId) {
            let found = &mut self.state.cluster.devices[device.index()];
            (found.foreign, found.ill) = (0, None); // who knows; it will report when it joins
            self.sync_device(device);
        }
    }

    fn allocations_on(&self, node: NodeId) -> impl Iterator<Item = AllocationId> + '_ {
        let cluster = &self.state.cluster;
        self.state.jobs.granted.iter().filter_map(move |&ask| {
            let found = self.state.jobs.ask(ask)?;
            let grants = &found.allocation()?.placement.grants;
            let here = grants.iter().any(|grant| cluster.device(grant.device).node == node);
            here.then_some(AllocationId { ask, attempt: found.attempt })
        })
    }

    pub(super) fn set_foreign(&mut self, node: NodeId, shares: &[u16]) {
        for (device, &share) in self.state.cluster.nodes[node.index()].devices().zip(shares) {
            self.state.cluster.devices[device as usize].foreign = share;
            self.sync_device(DeviceId(device));
        }
    }

    /// Work that holds a device which has fallen ill is moved; what was only promised one is withdrawn.
    pub(super) fn set_health(&mut self, node: NodeId, ill: &[Illness]) {
        let devices = self.state.cluster.nodes[node.index()].devices();
        for id in devices.clone().map(DeviceId) {
            let found = ill.iter().find(|illness| illness.device == id.0 - devices.start);
            self.state.cluster.devices[id.index()].ill = found.map(|illness| illness.why.clone());
            self.sync_device(id);
        }
        let is_ill =
            |scheduler: &Self, grant: &Grant| scheduler.state.cluster.device(grant.device).ill.is_some();
        let touched: Vec<AllocationId> = self
            .allocations_on(node)
            .filter(|&id| {
                let found = self.state.jobs.allocation(id);
                found.is_some_and(|found| found.placement.grants.iter().any(|grant| is_ill(self, grant)))
            })
            .collect();
        let (planned, live): (Vec<_>, Vec<_>) =
            touched.into_iter().partition(|&id| self.phase(id) == Some(Phase::Planned));
        for id in planned {
            self.withdraw(id, Last::DeviceIll(node));
        }
        for id in live {
            if !matches!(self.phase(id), Some(Phase::Releasing { .. })) {
                self.set_last(id.ask, Last::DeviceIll(node));
                self.stop(id, Then::Requeue);
            }
        }
    }

    fn sync_node(&mut self, node: NodeId) {
        let usable = self.state.cluster.nodes[node.index()].usable();
        self.free.set_usable(&self.state.cluster, node, usable);
    }
}
