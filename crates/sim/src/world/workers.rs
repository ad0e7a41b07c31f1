//! Who really has a process on which device: the world's own ledger, kept apart from the scheduler's.
//!
//! It counts pessimistically. A worker counts from the moment its node hears of it until its end has been reported,
//! or its node died, or the node's own agent ended it because the lease ran out. Two workers that would meet on one
//! device, and two attempts of one ask that would run at the same time, are written down as overlaps: whoever runs a
//! simulation can ask for them, and a correct scheduler causes none, whatever breaks.

use consort_types::*;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Workers {
    /// Node, device and thousandths of every part of an allocation that is alive.
    alive: BTreeMap<AllocationId, Vec<(NodeId, DeviceId, u16)>>,
    used: BTreeMap<DeviceId, u32>,
    overlaps: Vec<String>,
}

impl Workers {
    /// Workers of an allocation come up on these devices. Telling it twice changes nothing.
    pub fn come(
        &mut self,
        now: Time,
        id: AllocationId,
        parts: impl Iterator<Item = (NodeId, DeviceId, u16)>,
    ) {
        if self.alive.contains_key(&id) {
            return;
        }
        let from = AllocationId { attempt: 0, ..id };
        let to = AllocationId { attempt: u32::MAX, ..id };
        if let Some((other, _)) = self.alive.range(from..=to).find(|(_, parts)| !parts.is_empty()) {
            self.overlaps.push(format!("at {now}: {id} comes up while {other} still runs"));
        }
        let parts: Vec<_> = parts.collect();
        for &(_, device, share) in &parts {
            let used = self.used.entry(device).or_default();
            *used += u32::from(share);
            if *used > u32::from(WHOLE) {
                self.overlaps.push(format!("at {now}: {id} meets another worker on {device}"));
            }
        }
        self.alive.insert(id, parts);
    }

    /// More workers of an allocation come up, beside those that are there.
    pub fn join(&mut self, now: Time, id: AllocationId, parts: &[(NodeId, DeviceId, u16)]) {
        for &(_, device, share) in parts {
            let used = self.used.entry(device).or_default();
            *used += u32::from(share);
            if *used > u32::from(WHOLE) {
                self.overlaps
                    .push(format!("at {now}: {id} meets another worker on {device} as it is resized"));
            }
        }
        self.alive.entry(id).or_default().extend_from_slice(parts);
    }

    /// These are the workers of an allocation from now on; all others have left.
    pub fn stay(&mut self, id: AllocationId, parts: Vec<(NodeId, DeviceId, u16)>) {
        self.go(id);
        for &(_, device, share) in &parts {
            *self.used.entry(device).or_default() += u32::from(share);
        }
        self.alive.insert(id, parts);
    }

    /// No worker of an allocation is left.
    pub fn go(&mut self, id: AllocationId) {
        for (_, device, share) in self.alive.remove(&id).unwrap_or_default() {
            *self.used.get_mut(&device).expect("it came") -= u32::from(share);
        }
    }

    /// No worker is left on a node.
    pub fn go_from(&mut self, node: NodeId) {
        for parts in self.alive.values_mut() {
            for &(_, device, share) in parts.iter().filter(|part| part.0 == node) {
                *self.used.get_mut(&device).expect("it came") -= u32::from(share);
            }
            parts.retain(|part| part.0 != node);
        }
    }

    /// Parts of devices on which somebody of it is alive.
    pub fn count(&self, id: AllocationId) -> usize {
        self.alive.get(&id).map_or(0, Vec::len)
    }

    pub fn overlaps(&self) -> &[String] {
        &self.overlaps
    }
}
