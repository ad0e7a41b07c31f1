//! What nodes, devices and jobs are called, learned from events.
//!
//! Events name things by number. A directory that has seen the events before can say what these numbers mean, without a
//! scheduler. It must be made from the first event on, or from a state by [`Directory::new`].

use crate::cluster::NodeSpec;
use crate::id::{AllocationId, AskId, DeviceId, JobId, NodeId};
use crate::input::{Event, Fact, Input};
use crate::job::JobSpec;
use crate::narrate::Names;
use crate::plan::{Grant, Move};
use crate::vacancies::Vacancies;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nodes and jobs, with their names.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    nodes: Arc<Nodes>,
    jobs: BTreeMap<JobId, Arc<JobSpec>>,
    placed: Placed,
    submitted: u64,
}

/// What attempts hold, learned from plans. Forgotten once the event that ends an attempt was told, so there are never more
/// than the cluster has room for, beside those that a fence ended.
#[derive(Clone, Debug, Default)]
pub struct Placed {
    /// The attempt is not known before the world has reported it.
    now: BTreeMap<AskId, (Option<u32>, Arc<[Grant]>)>,
    /// Ended by the event that was learned last.
    over: Option<AskId>,
}

impl Placed {
    /// Learns from an event, before it is told.
    pub fn learn(&mut self, event: &Event) {
        if let Some(ask) = self.over.take() {
            self.now.remove(&ask);
        }
        match &event.fact {
            Fact::Planned(plan) => {
                for change in &plan.moves {
                    if let Move::Start { ask, placement, .. } = change {
                        self.now.insert(*ask, (None, placement.grants.as_slice().into()));
                    }
                }
            }
            Fact::Accepted(Input::Started(id)) => self.meet(*id, false),
            Fact::Accepted(
                Input::StartRefused { allocation: id, .. } | Input::Ended { allocation: id, .. },
            ) => self.meet(*id, true),
            Fact::Accepted(_) => {}
        }
    }

    fn meet(&mut self, id: AllocationId, is_over: bool) {
        if let Some((attempt, _)) = self.now.get_mut(&id.ask)
            && *attempt.get_or_insert(id.attempt) == id.attempt
            && is_over
        {
            self.over = Some(id.ask);
        }
    }

    /// Learns what an attempt holds.
    pub fn enter(&mut self, id: AllocationId, grants: &[Grant]) {
        self.now.insert(id.ask, (Some(id.attempt), grants.into()));
    }

    /// What an attempt holds, or held until the event that was learned last.
    pub fn of(&self, id: AllocationId) -> Option<&Arc<[Grant]>> {
        let (attempt, grants) = self.now.get(&id.ask)?;
        (*attempt == Some(id.attempt)).then_some(grants)
    }

    fn forget(&mut self, job: JobId) {
        let last = AskId { job, stage: u16::MAX, task: u32::MAX };
        let asks: Vec<AskId> = self.now.range(AskId::whole(job)..=last).map(|(ask, _)| *ask).collect();
        asks.iter().for_each(|ask| drop(self.now.remove(ask)));
    }
}

#[derive(Clone, Debug)]
struct Known {
    spec: NodeSpec,
    /// Its first device.
    first: u32,
    /// It left for good. Its name is kept until another node gets its number, for events that are still to be told.
    has_left: bool,
}

impl Known {
    fn has_hardware_of(&self, spec: &NodeSpec) -> bool {
        self.spec.devices == spec.devices && self.spec.host == spec.host
    }
}

/// How many numbers a node takes: behind its devices there is one for the processors and one for the memory of its host, if
/// it accounts for them.
fn size(spec: &NodeSpec) -> u32 {
    let devices: u32 = spec.devices.iter().map(|group| group.count).sum();
    devices + if spec.host.is_none() { 0 } else { 2 }
}

/// Nodes, with their names and devices, by number.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    known: Vec<Option<Known>>,
    by_name: BTreeMap<String, NodeId>,
    /// By the first of several devices: the node they are in, and how many they are.
    blocks: BTreeMap<u32, (NodeId, u32)>,
    /// The number of the next device.
    next: u32,
    vacant: Vacancies,
}

impl Nodes {
    /// Nodes that are there, each with its number and its first device, and the numbers that are free again. `next` is the
    /// number of the next device.
    pub fn new<'a>(
        known: impl Iterator<Item = (NodeId, &'a NodeSpec, DeviceId)>,
        vacant: Vacancies,
        next: DeviceId,
    ) -> Self {
        let mut nodes = Self { vacant, ..Self::default() };
        for (id, spec, first) in known {
            nodes.enter(id, Known { spec: spec.clone(), first: first.0, has_left: false });
        }
        nodes.next = next.0;
        nodes
    }

    fn enter(&mut self, id: NodeId, node: Known) {
        if self.known.len() <= id.index() {
            self.known.resize(id.index() + 1, None);
        }
        self.by_name.insert(node.spec.name.clone(), id);
        self.blocks.insert(node.first, (id, size(&node.spec)));
        self.known[id.index()] = Some(node);
    }

    fn known(&self, node: NodeId) -> Option<&Known> {
        self.known.get(node.index())?.as_ref()
    }

    /// A node joined, for the first time or again. Its devices keep their numbers unless they have changed.
    fn join(&mut self, spec: &NodeSpec) {
        let next = NodeId(self.known.len() as u32);
        let id = self.by_name.get(&spec.name).copied();
        let id = id.unwrap_or_else(|| self.vacant.take_node(next));
        let before = self.known(id).filter(|known| !known.has_left);
        let before = before.map(|known| (known.first, size(&known.spec), known.has_hardware_of(spec)));
        let first = match before {
            Some((first, _, true)) => first,
            _ => {
                if let Some((first, size, _)) = before {
                    self.vacant.replace(id, first, size);
                }
                self.vacant.take_block(size(spec), self.next)
            }
        };
        self.next = self.next.max(first + size(spec));
        self.enter(id, Known { spec: spec.clone(), first, has_left: false });
    }

    /// A node left for good.
    fn leave(&mut self, node: NodeId) {
        let Some(Some(known)) = self.known.get_mut(node.index()) else { return };
        known.has_left = true;
        self.by_name.remove(&known.spec.name);
        self.vacant.leave(node, known.first, size(&known.spec));
        self.blocks.retain(|_, (owner, _)| *owner != node);
    }

    /// Whether a node of this name has joined.
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> Option<&str> {
        self.known(node).map(|known| known.spec.name.as_str())
    }

    /// The node that a device is in, and its position there.
    pub fn locate(&self, device: DeviceId) -> Option<(NodeId, u32)> {
        let (first, (node, count)) = self.blocks.range(..=device.0).next_back()?;
        (device.0 < first + count).then(|| (*node, device.0 - first))
    }
}

impl Directory {
    /// Of a state: its nodes, its living jobs, and how many jobs were submitted so far.
    pub fn new(nodes: Nodes, jobs: BTreeMap<JobId, Arc<JobSpec>>, submitted: u64) -> Self {
        Self { nodes: nodes.into(), jobs, placed: Placed::default(), submitted }
    }

    /// The same with what living attempts hold.
    pub fn holding<'a>(mut self, held: impl Iterator<Item = (AllocationId, &'a [Grant])>) -> Self {
        held.for_each(|(id, grants)| self.placed.enter(id, grants));
        self
    }

    /// Learns the names in an event. To be told every event once, in order.
    pub fn learn(&mut self, event: &Event) {
        self.placed.learn(event);
        match &event.fact {
            Fact::Accepted(Input::NodeJoined(spec)) => Arc::make_mut(&mut self.nodes).join(spec),
            Fact::Accepted(Input::NodeLeft(node)) => Arc::make_mut(&mut self.nodes).leave(*node),
            Fact::Accepted(Input::Submit(spec)) => {
                self.submitted += 1;
                self.jobs.insert(JobId(self.submitted), spec.clone());
            }
            _ => {}
        }
    }

    /// The job that was submitted last.
    pub fn last_job(&self) -> JobId {
        JobId(self.submitted)
    }

    /// Forgets a job that has ended.
    pub fn forget(&mut self, job: JobId) {
        self.jobs.remove(&job);
        self.placed.forget(job);
    }

    /// What an attempt holds.
    pub fn placed(&self, id: AllocationId) -> Option<&Arc<[Grant]>> {
        self.placed.of(id)
    }

    /// The nodes, to be kept.
    pub fn nodes(&self) -> Arc<Nodes> {
        self.nodes.clone()
    }

    /// What was submitted as this job.
    pub fn job(&self, job: JobId) -> Option<&Arc<JobSpec>> {
        self.jobs.get(&job)
    }
}

impl Names for Directory {
    fn spec(&self, job: JobId) -> Option<&JobSpec> {
        self.jobs.get(&job).map(|spec| &**spec)
    }

    fn node_name(&self, node: NodeId) -> Option<&str> {
        self.nodes.name(node)
    }

    fn locate(&self, device: DeviceId) -> Option<(NodeId, u32)> {
        self.nodes.locate(device)
    }

    fn grants(&self, id: AllocationId) -> Option<&[Grant]> {
        self.placed.of(id).map(|grants| &**grants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceGroup, Host};

    fn node(name: &str, count: u32, cpu_milli: u64) -> NodeSpec {
        let devices = vec![DeviceGroup { kind: "a".into(), count, island: 0 }];
        NodeSpec {
            name: name.into(),
            devices,
            host: Host { cpu_milli, memory_bytes: 0 },
            ..NodeSpec::default()
        }
    }

    #[test]
    fn devices_are_found_also_after_a_node_came_back_with_others() {
        let mut nodes = Nodes::default();
        for spec in [node("n1", 2, 4000), node("n2", 1, 0), node("n1", 2, 4000), node("n1", 4, 4000)] {
            nodes.join(&spec);
        }
        let place = |device| nodes.locate(DeviceId(device)).map(|(node, at)| (nodes.name(node).unwrap(), at));
        assert_eq!([place(0), place(3)], [Some(("n1", 0)), Some(("n1", 3))], "two devices and the host");
        assert_eq!([place(4), place(5), place(8)], [Some(("n2", 0)), Some(("n1", 0)), Some(("n1", 3))]);
        assert_eq!(place(11), None);
    }

    #[test]
    fn a_node_that_joins_gets_the_numbers_of_one_that_left() {
        let mut nodes = Nodes::default();
        for spec in [node("n1", 2, 0), node("n2", 2, 0), node("n1", 3, 0)] {
            nodes.join(&spec);
        }
        nodes.leave(NodeId(0));
        assert!(!nodes.has("n1") && nodes.locate(DeviceId(4)).is_none());
        nodes.join(&node("n3", 2, 0));
        nodes.join(&node("n4", 3, 0));
        let place = |device| nodes.locate(DeviceId(device)).map(|(node, at)| (nodes.name(node).unwrap(), at));
        assert_eq!([place(0), place(2), place(4)], [Some(("n3", 0)), Some(("n2", 0)), Some(("n4", 0))]);
    }
}
