//! What the scheduler was told about nodes, and what has changed since.
//!
//! For: thousands of nodes are looked at again and again, and only what is new is said.
//! Promises: the cost of one look is that of reading the answer. Work of ours is not foreign use, whichever of the two was
//! seen first. A node whose devices are others than before is given up and joins again; one of which only the place or
//! the features changed does so once it runs nothing of ours. A node that Slurm no longer has leaves for good.
//! Never: counts positions of devices as Slurm does: Slurm picks them itself, so only their number means anything.

use crate::cluster::{Condition, Found};
use consort_types::{DeviceId, Host, Illness, Input, NodeId, NodeSpec, Pool, WHOLE};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What becomes of work on a node that an administrator drains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDrain {
    /// It is ended with grace and begins again elsewhere.
    #[default]
    Move,
    /// It may finish.
    Finish,
}

/// What the scheduler believes of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Belief {
    /// Nothing of ours can be running there.
    pub fenced: bool,
    /// Not heard of.
    pub silent: bool,
    /// Takes no new work.
    pub closed: bool,
    /// Devices that must not be used, if they all are for the same reason.
    pub ill: Option<Arc<str>>,
    /// Thousandths in foreign hands, by device.
    pub foreign: Vec<u16>,
    /// Processors and memory in foreign hands.
    pub foreign_host: Host,
}

/// Nodes on which something of an earlier attempt may be left although no device is held for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occupied {
    /// Those of these names.
    These(BTreeSet<String>),
    /// Nobody knows which: any of them.
    Any,
}

impl Default for Occupied {
    fn default() -> Self {
        Occupied::These(BTreeSet::new())
    }
}

impl Occupied {
    fn contains(&self, name: &str) -> bool {
        match self {
            Occupied::These(names) => names.contains(name),
            Occupied::Any => true,
        }
    }
}

/// One node.
#[derive(Clone, Debug)]
struct Member {
    id: NodeId,
    first: u32,
    spec: NodeSpec,
    belief: Belief,
    /// It was said to join; what the scheduler makes of it comes back.
    joining: bool,
    /// It was reported to have left; until that is confirmed.
    leaving: bool,
}

/// All nodes.
#[derive(Clone, Debug, Default)]
pub struct Census {
    members: BTreeMap<String, Member>,
    /// Members that have devices, by the first of them.
    by_first: BTreeMap<u32, String>,
    kinds: BTreeSet<String>,
    /// New nodes that were said to join.
    new: BTreeSet<String>,
    /// Nodes on which an attempt of ours may be left of which only its going is desired.
    occupied: Occupied,
    on_drain: OnDrain,
}

impl Census {
    /// Of a cluster that nobody knows yet.
    pub fn new(on_drain: OnDrain) -> Self {
        Self { on_drain, ..Self::default() }
    }

    /// What the scheduler calls a node that joined.
    pub fn joined(&mut self, id: NodeId, first: DeviceId, spec: &NodeSpec) {
        self.new.remove(&spec.name);
        self.kinds.extend(spec.devices.iter().map(|group| group.kind.clone()));
        let devices: u32 = spec.devices.iter().map(|group| group.count).sum();
        let belief = Belief { foreign: vec![0; devices as usize], ..Belief::default() };
        let member =
            Member { id, first: first.0, spec: spec.clone(), belief, joining: false, leaving: false };
        if devices > 0 {
            self.by_first.insert(first.0, spec.name.clone());
        }
        if let Some(before) = self.members.insert(spec.name.clone(), member)
            && before.first != first.0
            && self.by_first.get(&before.first) == Some(&spec.name)
        {
            self.by_first.remove(&before.first);
        }
    }

    /// A node left for good.
    pub fn left(&mut self, id: NodeId) {
        let Some((name, member)) = self.members.iter().find(|(_, member)| member.id == id) else { return };
        let (name, first) = (name.clone(), member.first);
        if self.by_first.get(&first) == Some(&name) {
            self.by_first.remove(&first);
        }
        self.members.remove(&name);
    }

    /// What the scheduler believes of a node, where it was there before us.
    pub fn believe(&mut self, name: &str, belief: Belief) {
        if let Some(member) = self.members.get_mut(name) {
            member.belief = belief;
        }
    }

    /// Something we said was not believed: the scheduler knows better how the node is.
    pub fn refused(&mut self, input: &Input) {
        let by_id = |id: NodeId| move |member: &&mut Member| member.id == id;
        match input {
            Input::NodeReturned(id) | Input::NodeFenced(id) => {
                if let Some(member) = self.members.values_mut().find(by_id(*id)) {
                    member.belief.fenced = true;
                }
            }
            Input::NodeLeft(id) => {
                if let Some(member) = self.members.values_mut().find(by_id(*id)) {
                    member.leaving = false;
                }
            }
            Input::NodeJoined(spec) => {
                self.new.remove(&spec.name);
                if let Some(member) = self.members.get_mut(&spec.name) {
                    (member.joining, member.belief.fenced) = (false, false);
                }
            }
            _ => {}
        }
    }

    /// Nodes on which something of an earlier attempt may be left although no device is held for it. While they are
    /// fenced, they do not join, and they are not fenced for having changed: the scheduler relies on a node that joins
    /// being clean.
    pub fn set_occupied(&mut self, nodes: Occupied) {
        self.occupied = nodes;
    }

    /// The node of a device, its kind, and its name.
    pub fn locate(&self, device: DeviceId) -> Option<(&str, &str)> {
        let (_, name) = self.by_first.range(..=device.0).next_back()?;
        let member = self.members.get(name)?;
        let mut position = device.0 - member.first;
        for group in &member.spec.devices {
            match position.checked_sub(group.count) {
                None => return Some((&member.spec.name, &group.kind)),
                Some(rest) => position = rest,
            }
        }
        None
    }

    /// What is new. `ours` is all that work of ours may hold, or held until just now.
    pub fn compare(&mut self, found: &[Found], ours: &Ours) -> Vec<Input> {
        let mut inputs = vec![];
        for kind in crate::cluster::kinds(found) {
            if self.kinds.insert(kind.name.clone()) {
                inputs.push(Input::SetKind(kind));
            }
        }
        for node in found {
            match self.members.get_mut(&node.spec.name) {
                Some(member) => {
                    let holds = member.holds(ours) || self.occupied.contains(&node.spec.name);
                    member.compare(node, ours, holds, self.on_drain, &mut inputs);
                }
                None if node.condition == Condition::Down => {}
                None if self.new.insert(node.spec.name.clone()) => {
                    inputs.push(Input::NodeJoined(node.spec.clone()));
                }
                None => {}
            }
        }
        let there: BTreeSet<&str> = found.iter().map(|node| node.spec.name.as_str()).collect();
        for (name, member) in &mut self.members {
            if there.contains(name.as_str()) || member.joining || member.leaving {
                continue;
            }
            match member.holds(ours) || self.occupied.contains(name) {
                true if member.belief.fenced => {}
                true => {
                    let gone = Condition::Closed("it is no longer in the partition".into());
                    member.close(&gone, OnDrain::Move, &mut inputs);
                }
                false if member.belief.fenced => {
                    member.leaving = true;
                    inputs.push(Input::NodeLeft(member.id));
                }
                false => member.fence(&mut inputs),
            }
        }
        inputs
    }
}

impl Member {
    /// `holds`: something of ours may be there.
    fn compare(
        &mut self,
        found: &Found,
        ours: &Ours,
        holds: bool,
        on_drain: OnDrain,
        inputs: &mut Vec<Input>,
    ) {
        if self.joining {
            return;
        }
        match (&found.condition, self.belief.fenced) {
            (Condition::Down, true) => return,
            (Condition::Down, false) => return self.fence(inputs),
            // Something of ours from before may still be there: it is to join clean.
            (_, true) if holds => return,
            (_, true) => {
                self.joining = true;
                return inputs.push(Input::NodeJoined(found.spec.clone()));
            }
            _ => {}
        }
        if found.spec != self.spec && !holds {
            return self.fence(inputs); // and joins with the next look
        }
        if found.spec.devices != self.spec.devices {
            // Its jobs still run there: they are moved first.
            return self.close(&Condition::Closed("its devices have changed".into()), OnDrain::Move, inputs);
        }
        match (found.condition == Condition::Silent, self.belief.silent) {
            (true, false) => inputs.push(Input::NodeSilent(self.id)),
            (false, true) => inputs.push(Input::NodeReturned(self.id)),
            _ => {}
        }
        self.belief.silent = found.condition == Condition::Silent;
        if !self.belief.silent {
            self.close(&found.condition, on_drain, inputs);
        }
        let (shares, host) = (self.foreign(found, ours), self.foreign_host(found, ours));
        if (&shares, host) != (&self.belief.foreign, self.belief.foreign_host) {
            (self.belief.foreign, self.belief.foreign_host) = (shares.clone(), host);
            inputs.push(Input::ForeignUse { node: self.id, shares, host });
        }
    }

    fn holds(&self, ours: &Ours) -> bool {
        ours.has_any(self.first, self.size())
    }

    fn fence(&mut self, inputs: &mut Vec<Input>) {
        inputs.push(Input::NodeFenced(self.id));
        self.belief = Belief { fenced: true, closed: self.belief.closed, ..Belief::default() };
        self.belief.foreign = vec![0; self.spec.devices.iter().map(|group| group.count as usize).sum()];
    }

    fn close(&mut self, condition: &Condition, on_drain: OnDrain, inputs: &mut Vec<Input>) {
        let why = match condition {
            Condition::Closed(why) => Some(why),
            _ => None,
        };
        if on_drain == OnDrain::Finish {
            match (why.is_some(), self.belief.closed) {
                (true, false) => inputs.push(Input::Drain(self.id)),
                (false, true) => inputs.push(Input::Undrain(self.id)),
                _ => {}
            }
            self.belief.closed = why.is_some();
            return;
        }
        let why: Option<Arc<str>> = why.map(|why| crate::words::printable(why).into());
        if why != self.belief.ill {
            let ill = |why: &Arc<str>| {
                (0..self.size()).map(|device| Illness { device, why: why.clone() }).collect()
            };
            let ill = why.as_ref().map_or(vec![], ill);
            inputs.push(Input::DeviceHealth { node: self.id, ill });
            self.belief.ill = why;
        }
    }

    fn size(&self) -> u32 {
        self.belief.foreign.len() as u32
    }

    /// What is used and not by us, on positions that nobody of ours holds, from the last one down.
    fn foreign(&self, found: &Found, ours: &Ours) -> Vec<u16> {
        let mut shares = vec![0; self.size() as usize];
        let mut first = 0;
        for group in &self.spec.devices {
            let positions = first..first + group.count;
            first += group.count;
            let is_ours = |position: &u32| ours.has(DeviceId(self.first + position));
            let used = found.used.get(&group.kind).copied().unwrap_or(0);
            let held = positions.clone().filter(is_ours).count() as u32;
            // Where no processor is left, nothing can be started, whatever is free beside.
            let foreign = if found.full { group.count } else { used.saturating_sub(held) };
            for position in positions.rev().filter(|position| !is_ours(position)).take(foreign as usize) {
                shares[position as usize] = WHOLE;
            }
        }
        shares
    }

    /// Processors and memory that jobs of others use, as far as the scheduler knows the size of the pool.
    fn foreign_host(&self, found: &Found, ours: &Ours) -> Host {
        let of = |pool: Pool| {
            let there = pool.of(&self.spec.host);
            let device = DeviceId(self.first + self.size() + pool as u32);
            let in_use = pool.of(&found.host_used).min(there);
            ours.foreign_of(device, in_use, pool.of(&self.belief.foreign_host))
        };
        Host { cpu_milli: of(Pool::Cpu), memory_bytes: of(Pool::Memory) }
    }
}

mod ours;
#[cfg(test)]
mod tests;

pub use ours::Ours;
