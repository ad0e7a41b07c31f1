//! What nodes, devices and jobs are called, learned from events.
//!
//! Events name things by number. A directory that has seen the events before can say what these numbers mean, without a
//! scheduler. It must be made from the first event on, or from a state by [`Directory::new`].

use crate::cluster::NodeSpec;
use crate::id::{DeviceId, JobId, NodeId};
use crate::input::{Event, Fact, Input};
use crate::job::JobSpec;
use crate::narrate::Names;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nodes and jobs, with their names.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    nodes: Arc<Nodes>,
    jobs: BTreeMap<JobId, Arc<JobSpec>>,
    submitted: u64,
}

/// Nodes, with their names and devices, in the order in which they first joined.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    specs: Vec<NodeSpec>,
    by_name: BTreeMap<String, NodeId>,
    /// By the first of several devices: the node they are in, and how many they are.
    blocks: BTreeMap<u32, (NodeId, u32)>,
    /// The number of the next device.
    next: u32,
}

impl Nodes {
    /// Nodes that have joined, in order, each with its first device.
    pub fn new<'a>(known: impl Iterator<Item = (&'a NodeSpec, DeviceId)>) -> Self {
        let mut nodes = Self::default();
        for (spec, first) in known {
            let node = NodeId(nodes.specs.len() as u32);
            nodes.specs.push(spec.clone());
            nodes.by_name.insert(spec.name.clone(), node);
            nodes.add_devices(node, spec, first.0);
        }
        nodes
    }

    fn add_devices(&mut self, node: NodeId, spec: &NodeSpec, first: u32) {
        let count: u32 = spec.devices.iter().map(|group| group.count).sum();
        // Behind the devices there is one number for the processors and one for the memory of the host.
        let pools = if spec.host.is_none() { 0 } else { 2 };
        self.blocks.insert(first, (node, count + pools));
        self.next = self.next.max(first + count + pools);
    }

    /// A node joined, for the first time or again. Its devices keep their numbers unless they have changed.
    fn join(&mut self, spec: &NodeSpec) {
        let next = NodeId(self.specs.len() as u32);
        let node = *self.by_name.entry(spec.name.clone()).or_insert(next);
        let is_alike = |known: &NodeSpec| known.devices == spec.devices && known.host == spec.host;
        let is_same = self.specs.get(node.index()).is_some_and(is_alike);
        match node == next {
            true => self.specs.push(spec.clone()),
            false => self.specs[node.index()] = spec.clone(),
        }
        if !is_same {
            self.add_devices(node, spec, self.next);
        }
    }

    /// Whether a node of this name has joined.
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> Option<&str> {
        self.specs.get(node.index()).map(|spec| spec.name.as_str())
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
        Self { nodes: nodes.into(), jobs, submitted }
    }

    /// Learns the names in an event. To be told every event once, in order.
    pub fn learn(&mut self, event: &Event) {
        match &event.fact {
            Fact::Accepted(Input::NodeJoined(spec)) => Arc::make_mut(&mut self.nodes).join(spec),
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
}
