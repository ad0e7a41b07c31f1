//! Nodes that die, are cut off and come back; and allocations that are brought up and taken down on them.

use super::{Happening, Live, VirtualWorld};
use crate::workload::Cluster;
use consort_types::*;
use std::collections::BTreeMap;

/// The true condition of the nodes, and news that is on its way.
pub(super) struct Nodes {
    specs: Vec<NodeSpec>,
    /// The node of each device, as the scheduler numbers them.
    of_device: Vec<NodeId>,
    condition: Vec<Condition>,
    lease: Span,
    mail: BTreeMap<u64, Input>,
    next_mail: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Well,
    Dead,
    CutOff,
}

impl Nodes {
    pub fn new(cluster: &Cluster) -> Self {
        let count = |spec: &NodeSpec| spec.devices.iter().map(|group| group.count as usize).sum::<usize>();
        let of_device = cluster
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(index, spec)| vec![NodeId(index as u32); count(spec)]);
        Nodes {
            of_device: of_device.collect(),
            specs: cluster.nodes.clone(),
            condition: vec![Condition::Well; cluster.nodes.len()],
            lease: cluster.settings.lease,
            mail: BTreeMap::new(),
            next_mail: 0,
        }
    }

    pub fn is_silent(&self, node: NodeId) -> bool {
        self.condition[node.index()] != Condition::Well
    }

    /// Keeps an input until it is heard.
    pub fn keep(&mut self, input: Input) -> u64 {
        self.next_mail += 1;
        self.mail.insert(self.next_mail, input);
        self.next_mail
    }

    pub fn heard(&mut self, number: u64) -> Option<Input> {
        self.mail.remove(&number)
    }

    fn of(&self, placement: &Placement) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> =
            placement.grants.iter().map(|grant| self.of_device[grant.device.index()]).collect();
        nodes.dedup();
        nodes
    }
}

impl VirtualWorld {
    pub(super) fn bring_up(&mut self, now: Time, id: AllocationId, placement: &Placement) {
        let members: u32 = placement.fills.iter().map(|fill| fill.count).sum();
        let stage = self.truth(id.ask).map(|truth| &truth.spec.stages[usize::from(id.ask.stage)]);
        let most = stage.map_or(members, |stage| stage.roles.iter().map(|role| role.count.max).sum());
        let nodes = self.nodes.of(placement);
        let is_dead = nodes.iter().any(|&node| self.nodes.is_silent(node));
        self.live
            .insert(id, Live { nodes, running: None, width: (members, most), over: None, leaving: false });
        if is_dead {
            return; // nobody there to hear; the scheduler will find out that the node is gone
        }
        let by_chance = self.faults.refuse > 0.0 && self.dice.chance(self.faults.refuse);
        let refused = self.is_refused(id.ask.job) || by_chance;
        let happening = if refused { Happening::Refuse(id) } else { Happening::Up(id) };
        self.later(now + self.delays.start, happening);
    }

    pub(super) fn take_down(&mut self, now: Time, id: AllocationId) {
        match self.live.get_mut(&id) {
            Some(live) if live.leaving => {}
            Some(live) => {
                live.leaving = true;
                // Members on nodes that cannot be heard are the scheduler's to fence; the others can be ended.
                live.nodes.retain(|&node| !self.nodes.is_silent(node));
                self.later(now + self.delays.stop, Happening::Gone(id));
            }
            None => {
                // Never heard of it, or it is gone already and that news is on its way: say so (again).
                let over = Input::Ended { allocation: id, outcome: Outcome::Stopped };
                let number = self.nodes.keep(over);
                self.later(now + self.delays.stop, Happening::Heard(number));
            }
        }
    }

    pub(super) fn die(&mut self, now: Time, node: NodeId, inputs: &mut Vec<Input>) {
        let was = std::mem::replace(&mut self.nodes.condition[node.index()], Condition::Dead);
        self.end_work_on(now, node);
        if was == Condition::Well {
            inputs.push(Input::NodeSilent(node));
        }
    }

    pub(super) fn cut_off(&mut self, now: Time, node: NodeId, span: Span, inputs: &mut Vec<Input>) {
        if self.nodes.condition[node.index()] != Condition::Well {
            return;
        }
        self.nodes.condition[node.index()] = Condition::CutOff;
        inputs.push(Input::NodeSilent(node));
        self.later(now + span, Happening::Reconnect(node));
        self.later(now + self.nodes.lease, Happening::LeaseOut(node));
    }

    /// The node's own agent ends its work: it has not heard from us for too long.
    pub(super) fn lease_out(&mut self, now: Time, node: NodeId) {
        if self.nodes.condition[node.index()] == Condition::CutOff {
            self.nodes.condition[node.index()] = Condition::Dead;
            self.end_work_on(now, node);
        }
    }

    fn end_work_on(&mut self, now: Time, node: NodeId) {
        let here = self.live.iter().filter(|(_, live)| live.over.is_none() && live.nodes.contains(&node));
        let ids: Vec<AllocationId> = here.map(|(&id, _)| id).collect();
        for id in ids {
            self.note_progress(now, id);
            self.live.get_mut(&id).expect("just seen").over = Some(Outcome::Stopped);
        }
    }

    /// A node that was cut off is heard again: in time, or after its lease ran out.
    pub(super) fn reconnect(&mut self, now: Time, node: NodeId, inputs: &mut Vec<Input>) {
        match self.nodes.condition[node.index()] {
            Condition::Well => {}
            Condition::Dead => self.repair(node, inputs),
            Condition::CutOff => {
                self.nodes.condition[node.index()] = Condition::Well;
                inputs.push(Input::NodeReturned(node));
                self.tell_missed(now, node, inputs);
            }
        }
    }

    /// What ended, or came up, or was told to go while nobody could hear.
    fn tell_missed(&mut self, now: Time, node: NodeId, inputs: &mut Vec<Input>) {
        let here = self.live.iter().filter(|(_, live)| live.nodes.contains(&node));
        let missed: Vec<(AllocationId, Live)> = here.map(|(&id, live)| (id, live.clone())).collect();
        for (id, live) in missed {
            match (live.over, live.running) {
                (Some(outcome), _) => self.tell_ended(now, id, outcome, inputs),
                (None, None) if !live.leaving => self.later(now + self.delays.start, Happening::Up(id)),
                (None, _) => {}
            }
        }
    }

    /// A dead node comes back empty: whatever ran there before is known to be over.
    pub(super) fn repair(&mut self, node: NodeId, inputs: &mut Vec<Input>) {
        self.nodes.condition[node.index()] = Condition::Well;
        self.live.retain(|_, live| live.over.is_none() || !live.nodes.contains(&node));
        inputs.push(Input::NodeFenced(node));
        inputs.push(Input::NodeJoined(self.nodes.specs[node.index()].clone()));
    }
}
