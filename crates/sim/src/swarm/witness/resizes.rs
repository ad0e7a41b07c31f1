//! What must hold of resizes, by the moves and the news alone.

use super::{Witness, whole};
use consort_sched::{Doing, View};
use consort_types::*;
use std::collections::BTreeMap;

/// Resizes on their way.
#[derive(Default)]
pub(in crate::swarm) struct Resizes {
    /// Planned, done in place, done by a restart.
    pub done: [u64; 3],
    /// In place: the placement that is to be, under the generation that is asked for.
    asked: BTreeMap<AllocationId, (u32, Placement)>,
    /// Generations that each attempt was ever asked for.
    generations: BTreeMap<AllocationId, u32>,
    /// By restart: the attempt that ends, and the placement of the next one.
    restarts: BTreeMap<AllocationId, Placement>,
}

impl Witness {
    pub(super) fn see_resize(&mut self, id: AllocationId, to: &Placement, in_place: bool, view: &View<'_>) {
        self.resizes.done[0] += 1;
        let spec = view.job(id.ask.job).map(|job| job.spec().clone());
        let has = view.ask(id.ask).map_or(&[][..], |ask| ask.grants());
        let whole = spec.ok_or("of no job".into()).and_then(|spec| whole(view, &spec, id.ask, (to, has)));
        if let Err(what) = whole {
            self.fail(format!("{id} was resized to something else than it asked for: {what}"));
        }
        let is_resizing = self.resizes.asked.contains_key(&id) || self.resizes.restarts.contains_key(&id);
        let lives = view.ask(id.ask).is_some_and(|ask| ask.allocation() == id && ask.resizing().is_some());
        self.expect(lives, || format!("{id} was resized, and is not"));
        // One that was called off before the world heard of it leaves no trace but the next one.
        let was_called_off = !self.resizes.restarts.contains_key(&id);
        self.expect(!is_resizing || was_called_off, || format!("{id} is resized twice at once"));
        if !in_place {
            self.resizes.restarts.insert(id, to.clone());
            return;
        }
        let generation = self.resizes.generations.entry(id).or_default();
        *generation += 1;
        let generation = *generation;
        self.resizes.asked.insert(id, (generation, to.clone()));
        let planned = view.ask(id.ask).and_then(|ask| ask.resizing()).and_then(|(_, generation)| generation);
        self.expect(planned == Some(generation), || {
            format!("{id} is resized as generation {planned:?} instead of {generation}")
        });
    }

    /// News of a resize was believed.
    pub(super) fn see_answer(&mut self, id: AllocationId, generation: u32, is_done: bool, view: &View<'_>) {
        let asked = self.resizes.asked.remove(&id);
        let is_asked = asked.as_ref().is_some_and(|(asked, _)| *asked == generation);
        self.expect(is_asked, || format!("{id} was not asked for generation {generation}"));
        let Some(ask) = view.ask(id.ask).filter(|ask| ask.allocation() == id) else {
            return self.fail(format!("{id} was resized and does not run"));
        };
        let (grants, fills, now) = (ask.grants(), ask.fills(), ask.generation());
        let is_there = asked.is_some_and(|(_, to)| to.grants == grants && to.fills == fills);
        self.resizes.done[1] += u64::from(is_done);
        self.expect(is_there == is_done, || format!("{id} has another placement than was confirmed"));
        self.expect((now == generation) == is_done, || format!("{id} has generation {now}"));
    }

    /// Where an attempt ended for a resize, the next one has the placement that was kept for it.
    pub(super) fn see_restarts(&mut self, view: &View<'_>) {
        for (id, to) in std::mem::take(&mut self.resizes.restarts) {
            let Some(ask) = view.ask(id.ask) else { continue };
            if ask.allocation() == id {
                if ask.resizing().is_some() {
                    self.resizes.restarts.insert(id, to);
                }
                continue; // otherwise it was called off
            }
            let is_on = matches!(ask.doing(), Doing::Planned | Doing::Starting);
            let has_it = ask.grants() == to.grants && ask.fills() == to.fills;
            self.expect(is_on && has_it, || format!("{} did not get what was kept for it", ask.allocation()));
            self.resizes.done[2] += 1;
            *self.attempts.entry(id.ask).or_default() += 1;
        }
    }
}
