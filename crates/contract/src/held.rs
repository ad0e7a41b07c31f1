//! A world that hears of desires only once they are written down, and is asked once in each turn: as in the daemon.

use consort_types::{Capabilities, Desired, Input, Refusal, Time, World};

pub(crate) struct Held<W> {
    pub world: W,
    pub desires: Vec<Desired>,
    pub asked: bool,
}

impl<W> Held<W> {
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

    fn refused(&mut self, now: Time, input: &Input, refusal: &Refusal) {
        self.world.refused(now, input, refusal);
    }
}
