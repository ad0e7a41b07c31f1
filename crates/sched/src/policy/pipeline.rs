//! The kit: order, size, place, reclaim. A stock policy is a combination of four small opinions.
//!
//! One pass over everybody who waits, in order. Each is sized and placed; if there is no room, it may reclaim; if
//! it still cannot start and its queue is strict, its queue is done for this pass. Requests of the same class are
//! tried once. Simplified: no reservations, so in a queue that is not strict a wide gang can be passed for ever.

use super::{Key, Order, Place, Policy, Reclaim, Size};
use crate::class::ClassId;
use crate::draft::Draft;
use crate::explain::{ceiling, no_room};
use crate::view::{AskView, Doing};
use consort_types::*;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Four opinions under one name.
pub struct Pipeline {
    /// What people call the combination.
    pub name: String,
    /// Who goes first.
    pub order: Box<dyn Order>,
    /// How wide.
    pub size: Box<dyn Size>,
    /// Where.
    pub place: Box<dyn Place>,
    /// Who may take from whom; any of these rules suffices.
    pub reclaim: Vec<Box<dyn Reclaim>>,
}

impl Policy for Pipeline {
    fn name(&self) -> &str {
        &self.name
    }

    fn heeds_starts(&self) -> bool {
        self.order.heeds_starts()
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        let view = draft.view();
        let mut walk = draft.walk(self.order.as_ref());
        // Of one tenant, requests of a class that found no room find none later in the same pass.
        let mut full: BTreeSet<(ClassId, TenantId)> = BTreeSet::new();
        while let Some((key, id)) = draft.next(&mut walk) {
            let ask = view.ask(id).expect("it waits");
            if ask.not_before() > draft.now() {
                draft.wake_at(ask.not_before());
                continue;
            }
            let request = (ask.class_id(), ask.tenant());
            let is_hopeless = full.contains(&request) && self.reclaim.is_empty() && !draft.is_watched(id);
            if !is_hopeless && self.try_start(draft, &ask, key) {
                continue;
            }
            full.insert(request);
            let over = ceiling(draft, &ask);
            if draft.is_watched(id) {
                let reason = over.clone().unwrap_or_else(|| no_room(draft, &ask));
                draft.note(id, reason);
            }
            // Somebody at the ceiling waits for the own tenant, not for room: it does not hold up the others.
            let queue = view.queues().nth(ask.queue().index()).expect("it waits there").1;
            if queue.strict && over.is_none() {
                walk.block(ask.queue());
                let watched = draft.watched().filter(|&watched| watched != id);
                if let Some(behind) =
                    watched.filter(|&w| view.ask(w).is_some_and(|w| w.queue() == ask.queue()))
                {
                    let reason =
                        Reason::Behind { head: id, name: ask.spec().name.clone(), queue: queue.name.clone() };
                    // Whoever was looked at before has a reason of its own.
                    if !draft.starts(behind) && !draft.has_reason() {
                        draft.note(behind, reason);
                    }
                }
            }
        }
        if let Some(at) = self.order.next_change(&view, draft.now()) {
            draft.wake_at(at);
        }
    }
}

impl Pipeline {
    fn try_start(&self, draft: &mut Draft<'_>, ask: &AskView<'_>, key: Key) -> bool {
        match self.find(draft, ask) {
            Some(placement) => draft.start(ask.id(), placement).is_ok(),
            None => !self.reclaim.is_empty() && self.take_back(draft, ask, key),
        }
    }

    /// The widest placement that fits. Room shrinks with width, so the steps can be halved.
    fn find(&self, draft: &mut Draft<'_>, ask: &AskView<'_>) -> Option<Placement> {
        let (mut low, mut high) = (0, self.size.steps(ask.class()) - 1);
        let mut best = draft.find_room(self.place.as_ref(), ask, &self.size.counts(ask.class(), high))?;
        while low < high {
            let middle = low + (high - low) / 2;
            match draft.find_room(self.place.as_ref(), ask, &self.size.counts(ask.class(), middle)) {
                Some(placement) => (best, high) = (placement, middle),
                None => low = middle + 1,
            }
        }
        Some(best)
    }

    /// Takes from those with a worse claim: nothing before it is known to help, and no more than is needed.
    fn take_back(&self, draft: &mut Draft<'_>, ask: &AskView<'_>, key: Key) -> bool {
        let least = self.size.counts(ask.class(), self.size.steps(ask.class()) - 1);
        let cause = StopCause::Preempted { by: ask.id() };
        let begin = draft.mark();
        let mut taken: Vec<AskId> = vec![];
        let mut placement = None;
        for (victim, victim_key) in self.victims(draft, ask) {
            let (claim, held) = ((ask.id(), key), (victim, victim_key));
            let entitled = self.reclaim.iter().any(|rule| rule.may_take(draft, claim, held));
            if entitled && draft.stop(victim, cause).is_ok() {
                taken.push(victim);
                placement = draft.find_room(self.place.as_ref(), ask, &least);
                if placement.is_some() {
                    break;
                }
            }
        }
        draft.back_to(begin);
        if placement.is_none() {
            return false;
        }
        // Everybody without whom it fits as well is spared, those with the better claim first.
        for spared in taken.clone().into_iter().rev() {
            let rest: Vec<AskId> = taken.iter().copied().filter(|&victim| victim != spared).collect();
            stop_all(draft, &rest, cause);
            if let Some(found) = draft.find_room(self.place.as_ref(), ask, &least) {
                (placement, taken) = (Some(found), rest);
            }
            draft.back_to(begin);
        }
        stop_all(draft, &taken, cause);
        let placement = placement.expect("just found");
        let started = draft.start(ask.id(), placement).is_ok();
        if !started {
            draft.back_to(begin);
        }
        started
    }

    /// Those who run on something the ask could use: weakest claim first, and of equal claims the one that has run
    /// least, since it loses least.
    fn victims(&self, draft: &Draft<'_>, ask: &AskView<'_>) -> Vec<(AskId, Key)> {
        let view = draft.view();
        let kinds: BTreeSet<KindId> = draft.least_needs(ask).into_iter().map(|(kind, _)| kind).collect();
        let mut victims: Vec<_> = view
            .granted()
            .filter_map(|id| view.ask(id))
            .filter(|victim| matches!(victim.doing(), Doing::Running | Doing::Starting))
            .filter(|victim| victim.spec().qos != Qos::Guaranteed && !draft.stops(victim.id()))
            .filter(|victim| victim.grants().iter().any(|grant| kinds.contains(&view.kind_of(grant.device))))
            .map(|victim| {
                let key = self.order.key(&view, victim.id(), draft.now());
                let since = victim.running_since().unwrap_or(draft.now());
                let spec = victim.spec();
                ((spec.qos, Reverse(key.level), spec.priority, Reverse(since), Reverse(victim.id())), key)
            })
            .collect();
        victims.sort_unstable_by_key(|victim| victim.0);
        victims.into_iter().map(|((.., Reverse(id)), key)| (id, key)).collect()
    }
}

fn stop_all(draft: &mut Draft<'_>, victims: &[AskId], cause: StopCause) {
    for &victim in victims {
        let stopped = draft.stop(victim, cause);
        assert_eq!(stopped, Ok(()), "it was stopped a moment ago");
    }
}
