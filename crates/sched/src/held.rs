//! A world behind a journal: it hears of desires only once they are written down, and is asked once in each turn.
//!
//! Whoever owns a loop with a disk in the middle puts its world in here, commits what a turn gave, and only then hands
//! over the desires and says which endings are settled.

use consort_types::{Capabilities, Desired, DeviceId, Input, NodeId, NodeSpec, Refusal, Time, World};

/// A world that is held back until a turn is on disk.
pub struct Held<W> {
    /// The world itself.
    pub world: W,
    /// What it is to be told once that is durable.
    pub desires: Vec<Desired>,
    /// Whether it was asked in this turn; whoever begins a turn says no.
    pub asked: bool,
}

impl<W> Held<W> {
    /// Holds a world back.
    pub fn new(world: W) -> Self {
        Held { world, desires: vec![], asked: false }
    }
}

impl<W: World> World for Held<W> {
    fn capabilities(&self) -> Capabilities {
        self.world.capabilities()
    }

    fn desire(&mut self, _now: Time, changes: &[Desired]) {
        self.desires.extend_from_slice(changes);
    }

    fn next_at(&self) -> Option<Time> {
        if self.asked { None } else { self.world.next_at() }
    }

    fn observe(&mut self, now: Time, inputs: &mut Vec<Input>) {
        self.asked = true;
        self.world.observe(now, inputs);
    }

    fn joined(&mut self, node: NodeId, first: DeviceId, spec: &NodeSpec) {
        self.world.joined(node, first, spec);
    }

    fn refused(&mut self, now: Time, input: &Input, refusal: &Refusal) {
        self.world.refused(now, input, refusal);
    }
}
