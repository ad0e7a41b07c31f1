//! A world behind a journal: it hears of desires only once they are written down, and is asked once in each turn.
//!
//! The owner of a loop with a disk in the middle wraps its world in this, commits what a turn gave, and only then calls
//! [`Held::hand_over`] and [`Held::settle`], in this order.

use consort_types::{
    AllocationId, Capabilities, Desired, DeviceId, Input, NodeId, NodeSpec, Refusal, Time, World,
};

/// A world that is held back until a turn is on disk.
pub struct Held<W> {
    /// The world itself.
    pub world: W,
    /// What it is to be told once that is durable.
    pub desires: Vec<Desired>,
    /// Attempts that it may forget once that is durable.
    pub settled: Vec<AllocationId>,
    /// Whether it was asked in this turn; whoever begins a turn says no.
    pub asked: bool,
}

impl<W> Held<W> {
    /// Holds a world back.
    pub fn new(world: W) -> Self {
        Held { world, desires: vec![], settled: vec![], asked: false }
    }
}

impl<W: World> Held<W> {
    /// Tells the world what is newly desired.
    pub fn hand_over(&mut self, now: Time) {
        let desires = std::mem::take(&mut self.desires);
        if !desires.is_empty() {
            self.world.desire(now, &desires);
        }
    }

    /// Tells the world which attempts it may forget.
    pub fn settle(&mut self) {
        let settled = std::mem::take(&mut self.settled);
        if !settled.is_empty() {
            self.world.settled(&settled);
        }
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

    fn left(&mut self, node: NodeId) {
        self.world.left(node);
    }

    fn settled(&mut self, ended: &[AllocationId]) {
        self.settled.extend_from_slice(ended);
    }

    fn refused(&mut self, now: Time, input: &Input, refusal: &Refusal) {
        self.world.refused(now, input, refusal);
    }
}
