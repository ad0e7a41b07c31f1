//! Nodes that die, are cut off and come back; and allocations that are brought up and taken down on them.
//!
//! A dead node cannot be told from one that is cut off. So the end of work on a silent node is reported only when
//! the node responds again, or when its lease has run out: by then its own agent has ended everything there. A node that
//! is *adrift* has no such agent: its work goes on until the node is in reach again.

use super::{Happening, Live, VirtualWorld};
use crate::truth::Place;
use crate::workload::Cluster;
use consort_types::*;
use std::collections::BTreeMap;

/// The true condition of the nodes, and news that is on its way.
pub(super) struct Nodes {
    specs: Vec<NodeSpec>,
    /// The node of each device, as the scheduler numbers them.
    of_device: Vec<NodeId>,
    condition: Vec<Condition>,
    /// Counts how often each node fell silent or was heard again, so that what was planned before does not touch it after.
    silences: Vec<u32>,
    /// Silent for so long that nothing can be running there.
    out: Vec<bool>,
    lease: Span,
    mail: BTreeMap<u64, Input>,
    next_mail: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Well,
    Dead,
    CutOff,
    Adrift {
        given_up: bool,
    },
    /// It left; whether the scheduler has confirmed that.
    Left {
        confirmed: bool,
    },
}

/// How many numbers a node's devices take, and its host if it accounts for it.
fn size(spec: &NodeSpec) -> usize {
    let devices: usize = spec.devices.iter().map(|group| group.count as usize).sum();
    devices + if spec.host.is_none() { 0 } else { 2 }
}

impl Nodes {
    pub fn new(cluster: &Cluster) -> Self {
        let of_device =
            cluster.nodes.iter().enumerate().flat_map(|(index, spec)| vec![NodeId(index as u32); size(spec)]);
        Nodes {
            of_device: of_device.collect(),
            specs: cluster.nodes.clone(),
            condition: vec![Condition::Well; cluster.nodes.len()],
            silences: vec![0; cluster.nodes.len()],
            out: vec![false; cluster.nodes.len()],
            lease: cluster.settings.lease,
            mail: BTreeMap::new(),
            next_mail: 0,
        }
    }

    pub fn is_silent(&self, node: NodeId) -> bool {
        self.condition[node.index()] != Condition::Well
    }

    fn has_left(&self, node: NodeId) -> bool {
        matches!(self.condition[node.index()], Condition::Left { .. })
    }

    /// The scheduler has numbered a node: one that has just joined, or any that is there when it starts again.
    pub fn joined(&mut self, node: NodeId, first: DeviceId, spec: &NodeSpec) {
        if self.specs.len() <= node.index() {
            let count = node.index() + 1;
            self.specs.resize(count, NodeSpec::default());
            self.condition.resize(count, Condition::Well);
            self.silences.resize(count, 0);
            self.out.resize(count, false);
        }
        self.specs[node.index()] = spec.clone();
        if self.condition[node.index()] == (Condition::Left { confirmed: true }) {
            self.is_heard_again(node); // another node, by the number of one that left
        }
        let devices = first.index()..first.index() + size(spec);
        if self.of_device.len() < devices.end {
            self.of_device.resize(devices.end, node);
        }
        self.of_device[devices].fill(node);
    }

    /// The kind of a device; empty if it is of a host.
    fn kind_of(&self, device: DeviceId) -> &str {
        let Some(&node) = self.of_device.get(device.index()) else { return "" };
        let before = self.of_device[..device.index()].iter().rev();
        let mut position = before.take_while(|&&other| other == node).count() as u32;
        for group in &self.specs[node.index()].devices {
            match position.checked_sub(group.count) {
                Some(behind) => position = behind,
                None => return &group.kind,
            }
        }
        ""
    }

    pub fn left(&mut self, node: NodeId) {
        self.condition[node.index()] = Condition::Left { confirmed: true };
    }

    pub fn silent(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.condition.len() as u32)
            .map(NodeId)
            .filter(|&node| self.is_silent(node) && !self.has_left(node))
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

    /// Nobody is to hear of an allocation any more.
    pub fn drop_mail(&mut self, id: AllocationId) {
        self.mail.retain(|_, input| match input {
            Input::Started(other)
            | Input::Resized { allocation: other, .. }
            | Input::ResizeRefused { allocation: other, .. } => *other != id,
            _ => input.ended() != Some(id),
        });
    }

    /// Whether the news that an allocation is over is on its way.
    fn is_over(&self, id: AllocationId) -> bool {
        self.mail.values().any(|input| input.ended() == Some(id))
    }

    pub(super) fn of(&self, grants: &[Grant]) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> =
            grants.iter().map(|grant| self.of_device[grant.device.index()]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The parts of devices that these are, with the nodes they are on.
    pub(super) fn parts(&self, grants: &[Grant]) -> Vec<(NodeId, DeviceId, u16)> {
        let part = |grant: &Grant| (self.of_device[grant.device.index()], grant.device, grant.share);
        grants.iter().map(part).collect()
    }

    fn falls_silent(&mut self, node: NodeId, into: Condition) {
        self.condition[node.index()] = into;
        self.silences[node.index()] += 1;
    }

    fn is_heard_again(&mut self, node: NodeId) {
        (self.condition[node.index()], self.out[node.index()]) = (Condition::Well, false);
        self.silences[node.index()] += 1;
    }
}

impl VirtualWorld {
    /// The true pace on these grants, as a fraction of the full one.
    pub(super) fn pace(&self, ask: AskId, grants: &[Grant], members: u32) -> (u64, u64) {
        let stage = self.truth(ask).map(|truth| &truth.spec.stages[usize::from(ask.stage)]);
        let most = stage.map_or(members, |stage| stage.roles.iter().map(|role| role.count.max).sum());
        let Some(speed) = self.speed(ask) else { return (members.into(), most.into()) };
        let first = grants.iter().find(|grant| !grant.is_of_host()).map(|grant| grant.device);
        let kind = first.map_or("", |device| self.nodes.kind_of(device));
        speed.at(&Place { kind, members, most, nodes: self.nodes.of(grants).len() as u32 })
    }

    pub(super) fn bring_up(&mut self, now: Time, id: AllocationId, placement: &Placement, generation: u32) {
        if self.nodes.is_over(id) {
            return; // told again after a crash; its end is on its way
        }
        let members = placement.members();
        let nodes = self.nodes.of(&placement.grants);
        let is_dead = nodes.iter().any(|&node| self.nodes.is_silent(node));
        let grants = placement.grants.clone();
        let live = Live {
            nodes,
            pace: self.pace(id.ask, &grants, members),
            grants,
            running: None,
            ahead: None,
            generation,
            refused: 0,
            resizing: None,
            untold: false,
            over: None,
            leaving: false,
        };
        self.live.insert(id, live);
        if is_dead {
            return; // nobody there to hear; the scheduler will find out that the node is gone
        }
        self.come(now, id);
        let by_chance = self.faults.refuse > 0.0 && self.dice.chance(self.faults.refuse);
        let refused = self.is_refused(id.ask.job) || by_chance;
        let happening = if refused { Happening::Refuse(id) } else { Happening::Up(id) };
        self.later(now + self.delays.start, happening);
    }

    /// Enters the workers of an allocation into the world's own ledger.
    pub(super) fn come(&mut self, now: Time, id: AllocationId) {
        if let Some(live) = self.live.get(&id) {
            let parts = self.nodes.parts(&live.grants);
            self.workers.come(now, id, parts.into_iter());
        }
    }

    pub(super) fn take_down(&mut self, now: Time, id: AllocationId) {
        match self.live.get_mut(&id) {
            Some(live) if live.leaving => {}
            Some(live) => {
                live.leaving = true;
                // On nodes that have been silent for too long, nothing is left to be ended.
                live.nodes.retain(|&node| !self.nodes.out[node.index()]);
                self.later(now + self.delays.stop, Happening::Gone(id));
            }
            None if self.nodes.is_over(id) => {} // it is gone already, and that news is on its way
            None => {
                // Never heard of it: say so.
                let over = Input::over(id, Outcome::Stopped);
                let number = self.nodes.keep(over);
                self.later(now + self.delays.stop, Happening::Heard(number));
            }
        }
    }

    pub(super) fn die(&mut self, now: Time, node: NodeId, inputs: &mut Vec<Input>) {
        let was = self.nodes.condition[node.index()];
        if self.nodes.has_left(node) {
            return;
        }
        self.end_work_on(now, node);
        match was {
            Condition::Well => {
                self.nodes.falls_silent(node, Condition::Dead);
                let number = self.nodes.silences[node.index()];
                self.later(now + self.nodes.lease, Happening::LeaseOut(node, number));
                inputs.push(Input::NodeSilent(node));
            }
            _ => self.nodes.condition[node.index()] = Condition::Dead,
        }
    }

    pub(super) fn cut_off(&mut self, now: Time, node: NodeId, span: Span, inputs: &mut Vec<Input>) {
        if self.nodes.is_silent(node) {
            return;
        }
        self.nodes.falls_silent(node, Condition::CutOff);
        let number = self.nodes.silences[node.index()];
        inputs.push(Input::NodeSilent(node));
        self.later(now + span, Happening::Reconnect(node, number));
        self.later(now + self.nodes.lease, Happening::LeaseOut(node, number));
    }

    /// A node drops out of reach, and nothing on it ends its work.
    pub(super) fn set_adrift(
        &mut self,
        now: Time,
        node: NodeId,
        span: Span,
        given_up: bool,
        inputs: &mut Vec<Input>,
    ) {
        if self.nodes.is_silent(node) {
            return;
        }
        self.nodes.falls_silent(node, Condition::Adrift { given_up });
        inputs.push(if given_up { Input::NodeFenced(node) } else { Input::NodeSilent(node) });
        self.later(now + span, Happening::Reconnect(node, self.nodes.silences[node.index()]));
    }

    /// A node that was given up is in reach again, with what still runs on it. What was pending there may come up at this
    /// moment: that is news of attempts which the scheduler has given up. Then everything is ended, and the node joins.
    fn drifts_back(&mut self, now: Time, node: NodeId, inputs: &mut Vec<Input>) {
        let here = self.live.iter().filter(|(_, live)| live.nodes.contains(&node));
        inputs.extend(here.map(|(&id, _)| Input::Started(id)));
        self.later(now + self.delays.stop, Happening::Emptied(node, self.nodes.silences[node.index()]));
    }

    /// Nothing is left on a node that the scheduler has given up: it joins again.
    pub(super) fn emptied(&mut self, now: Time, node: NodeId, number: u32, inputs: &mut Vec<Input>) {
        if self.nodes.silences[node.index()] == number {
            self.empty(now, node);
            inputs.push(Input::NodeJoined(self.nodes.specs[node.index()].clone()));
        }
    }

    /// The scheduler has given a node up before it was heard of again: what ran on is ended, and the node joins.
    pub(super) fn return_refused(&mut self, now: Time, node: NodeId) {
        if let Some(&number) = self.nodes.silences.get(node.index())
            && !self.nodes.is_silent(node)
        {
            // By then the scheduler has fenced it, if its time was up just now.
            self.later(now + Span::seconds(1), Happening::Emptied(node, number));
        }
    }

    /// The node's own agent ends its work: it has not heard from us for too long.
    pub(super) fn lease_out(&mut self, now: Time, node: NodeId, number: u32) {
        if !self.nodes.is_silent(node) || self.nodes.silences[node.index()] != number {
            return;
        }
        if self.nodes.condition[node.index()] == Condition::CutOff {
            self.nodes.condition[node.index()] = Condition::Dead;
            self.end_work_on(now, node);
        }
        self.nodes.out[node.index()] = true;
        self.nothing_is_left(now, node, false);
    }

    /// What was told to go need not wait for this node any more; nor need anything else, if the node is `empty`.
    fn nothing_is_left(&mut self, now: Time, node: NodeId, empty: bool) {
        let mut going = vec![];
        for (&id, live) in &mut self.live {
            if live.nodes.contains(&node) && (live.leaving || empty) {
                live.nodes.retain(|&other| other != node);
                if live.leaving {
                    going.push(id);
                }
            }
        }
        for id in going {
            self.later(now + self.delays.stop, Happening::Gone(id));
        }
    }

    fn end_work_on(&mut self, now: Time, node: NodeId) {
        self.workers.go_from(node);
        let here = self.live.iter().filter(|(_, live)| live.over.is_none() && live.nodes.contains(&node));
        let ids: Vec<AllocationId> = here.map(|(&id, _)| id).collect();
        for id in ids {
            self.note_progress(now, id);
            self.live.get_mut(&id).expect("just seen").over = Some(Outcome::Stopped);
        }
    }

    /// A node that was cut off responds again: in time, or after its lease ran out.
    pub(super) fn reconnect(&mut self, now: Time, node: NodeId, number: u32, inputs: &mut Vec<Input>) {
        if self.nodes.silences[node.index()] != number {
            return;
        }
        match self.nodes.condition[node.index()] {
            Condition::Well | Condition::Left { .. } => {}
            Condition::Dead => self.repair(now, node, None, inputs),
            Condition::Adrift { given_up: true } => self.drifts_back(now, node, inputs),
            Condition::CutOff | Condition::Adrift { given_up: false } => {
                self.nodes.is_heard_again(node);
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
                (None, _) => {
                    if let Some(resizing) = &live.resizing {
                        self.later(now + self.delays.resize, Happening::Resized(id, resizing.generation));
                    }
                }
            }
        }
    }

    /// Nothing is left on a node, and it is heard of.
    fn empty(&mut self, now: Time, node: NodeId) {
        self.end_work_on(now, node);
        self.nodes.is_heard_again(node);
        self.nothing_is_left(now, node, true);
        let bare: Vec<AllocationId> = self
            .live
            .iter()
            .filter(|(_, live)| live.nodes.is_empty() && !live.leaving)
            .map(|(&id, _)| id)
            .collect();
        for id in bare {
            self.live.remove(&id);
            self.workers.go(id);
        }
    }

    /// A silent node comes back empty, perhaps with other devices: whatever ran there before is known to be over.
    pub(super) fn repair(
        &mut self,
        now: Time,
        node: NodeId,
        refit: Option<(Vec<DeviceGroup>, Vec<String>)>,
        inputs: &mut Vec<Input>,
    ) {
        if !self.nodes.is_silent(node) || self.nodes.has_left(node) {
            return;
        }
        self.empty(now, node);
        if let Some((devices, features)) = refit {
            self.nodes.specs[node.index()].features = features;
            self.nodes.specs[node.index()].devices = devices;
        }
        inputs.push(Input::NodeFenced(node));
        inputs.push(Input::NodeJoined(self.nodes.specs[node.index()].clone()));
    }

    /// A node is switched off, with all that ran there, and does not come back.
    pub(super) fn leave(&mut self, now: Time, node: NodeId, inputs: &mut Vec<Input>) {
        if self.nodes.has_left(node) {
            return;
        }
        self.empty(now, node);
        self.nodes.falls_silent(node, Condition::Left { confirmed: false });
        self.nodes.out[node.index()] = true; // nothing is running there, nor will be
        inputs.push(Input::NodeFenced(node));
        inputs.push(Input::NodeLeft(node));
    }

    /// A node joins. One that was about to leave is back instead; and one that cannot be heard keeps its name, which no other
    /// machine can have meanwhile: what runs on it would go on unseen.
    pub(super) fn arrive(&mut self, spec: NodeSpec, inputs: &mut Vec<Input>) {
        let is_out_there = |at: usize| {
            let node = NodeId(at as u32);
            self.nodes.specs[at].name == spec.name && self.nodes.is_silent(node) && !self.nodes.has_left(node)
        };
        if (0..self.nodes.specs.len()).any(is_out_there) {
            return;
        }
        let leaving = |nodes: &Nodes, at: usize| {
            nodes.condition[at] == Condition::Left { confirmed: false } && nodes.specs[at].name == spec.name
        };
        if let Some(at) = (0..self.nodes.specs.len()).find(|&at| leaving(&self.nodes, at)) {
            self.nodes.is_heard_again(NodeId(at as u32));
        }
        inputs.push(Input::NodeJoined(spec));
    }

    /// The scheduler still waits for the end of an attempt that had a part on the node: it is reported again.
    pub(super) fn leaving_refused(&mut self, now: Time, node: NodeId) {
        if self.nodes.condition.get(node.index()) == Some(&Condition::Left { confirmed: false }) {
            self.later(now + Span::seconds(1), Happening::Leaves(node));
        }
    }

    pub(super) fn leaves(&mut self, node: NodeId, inputs: &mut Vec<Input>) {
        if self.nodes.condition[node.index()] == (Condition::Left { confirmed: false }) {
            inputs.push(Input::NodeLeft(node));
        }
    }
}
