//! A policy that resizes what runs for no reason, so that everything about resizes is played: wider, narrower, elsewhere,
//! onto what others give up, several at a time, and of jobs that no stock policy would touch.
//!
//! What it does follows from the state alone, like any policy: the number of events seen stands in for dice.

use crate::dice::Dice;
use consort_sched::policy::Place;
use consort_sched::{AskView, Draft, Policy, View};
use consort_types::{Placement, Qos, Time};
use std::sync::Arc;

/// Another policy, and unrest.
pub(super) struct Restless {
    calm: Arc<dyn Policy>,
    place: Arc<dyn Place>,
}

impl Restless {
    pub fn new(calm: Arc<dyn Policy>, place: Arc<dyn Place>) -> Self {
        Restless { calm, place }
    }

    /// Some placement that would do, which may be the one that it has.
    fn some_placement(&self, draft: &mut Draft<'_>, ask: &AskView<'_>, dice: &mut Dice) -> Option<Placement> {
        let roles = &ask.class().roles();
        let counts: Vec<u32> = roles.iter().map(|count| dice.whole(count.min, count.max)).collect();
        match dice.below(3) {
            0 => ask.narrower(&counts),
            1 => draft.find_wider(self.place.as_ref(), ask, &counts),
            _ => draft.find_room(self.place.as_ref(), ask, &counts),
        }
    }
}

impl Policy for Restless {
    fn name(&self) -> &str {
        self.calm.name()
    }

    fn settles(&self) -> bool {
        self.calm.settles()
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        self.calm.fill(draft);
        let view = draft.view();
        let mut dice = Dice::new(view.seen());
        if dice.chance(0.25) {
            // What one gives up the next may be promised.
            for ask in view.granted().filter_map(|id| view.ask(id)) {
                if dice.chance(0.4)
                    && draft.may_resize(&ask)
                    && ask.spec().qos != Qos::Guaranteed
                    && let Some(placement) = self.some_placement(draft, &ask, &mut dice)
                {
                    let _ = draft.resize(ask.id(), placement); // it is refused where it has to be
                }
            }
        }
    }

    fn next_change(&self, view: &View<'_>, now: Time) -> Option<Time> {
        self.calm.next_change(view, now)
    }
}
