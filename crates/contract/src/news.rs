//! What was said in one turn, and what became of it.

use consort_sched::{Scheduler, Watch};
use consort_types::{AllocationId, Event, Fact, Input, Outcome, Refusal, Time};

/// Something a world said about an allocation.
#[derive(Clone, Debug)]
pub struct News {
    /// Which allocation.
    pub allocation: AllocationId,
    /// What it said.
    pub input: Input,
    /// Why it was not believed, if so.
    pub refusal: Option<Refusal>,
    /// Counts how often the world was opened.
    pub opening: u32,
    /// Whether what became of it was written down before the next crash.
    pub written: bool,
}

impl News {
    /// Whether it says that the allocation is over.
    pub fn is_ending(&self) -> bool {
        self.input.ended().is_some()
    }

    /// Whether it was believed and written down.
    pub fn counts(&self) -> bool {
        self.written && self.refusal.is_none()
    }

    /// How the allocation ended, if it did.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.input {
            Input::Ended { outcome, .. } => Some(outcome),
            _ => None,
        }
    }
}

/// Writes down one turn.
#[derive(Default)]
pub(crate) struct Scribe {
    pub events: Vec<Event>,
    pub news: Vec<(AllocationId, Input, Option<Refusal>)>,
    /// Refusals of what users and administrators asked.
    pub refused: Vec<Refusal>,
}

fn about(input: &Input) -> Option<AllocationId> {
    match input {
        Input::Started(allocation)
        | Input::Resized { allocation, .. }
        | Input::ResizeRefused { allocation, .. } => Some(*allocation),
        _ => input.ended(),
    }
}

impl Watch for Scribe {
    fn event(&mut self, event: &Event, _scheduler: &Scheduler) {
        if let Fact::Accepted(input) = &event.fact
            && let Some(allocation) = about(input)
        {
            self.news.push((allocation, input.clone(), None));
        }
        self.events.push(event.clone());
    }

    fn refused(&mut self, _at: Time, input: &Input, refusal: &Refusal) {
        match about(input) {
            Some(allocation) => self.news.push((allocation, input.clone(), Some(refusal.clone()))),
            None => self.refused.push(refusal.clone()),
        }
    }
}
