//! The kit: order, size, place, reclaim. A stock policy is a combination of four small opinions.
//!
//! Unmet guarantees are served first (`guarantees`). Then comes one pass over everybody who waits, in order. Each is
//! sized and placed; if there is no room, elastic gangs may have to give way (`shrink`), or it may reclaim; if it still cannot start and its queue is strict, its queue is
//! done for this pass. Requests of the same class are tried once; where nothing is taken back, those that had no room are
//! not even tried before something grows that they could use. In the end elastic gangs take what is left (`grow`), in worlds
//! that resize. Simplified: no reservations, so in a queue that is not
//! strict a wide gang can be passed for ever.

mod grow;
mod guarantees;
mod shrink;
mod take_back;

use super::{Key, Order, Place, Policy, Reclaim, Size};
use crate::class::{Class, ClassId};
use crate::draft::Draft;
use crate::explain::{ceiling, no_room};
use crate::lines::{Shut, is_steady};
use crate::view::{AskView, View};
use consort_types::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use take_back::Victims;

/// Four opinions under one name.
pub struct Pipeline {
    /// What people call the combination.
    pub name: String,
    /// Who goes first. Together with `place` it is the key of the lines that are kept from one plan to the next, by
    /// identity and not by name: two pipelines share them only if they share these very values.
    pub order: Arc<dyn Order>,
    /// How wide.
    pub size: Box<dyn Size>,
    /// Where.
    pub place: Arc<dyn Place>,
    /// Who may take from whom; any of these rules suffices.
    pub reclaim: Vec<Box<dyn Reclaim>>,
}

impl Policy for Pipeline {
    fn name(&self) -> &str {
        &self.name
    }

    fn settles(&self) -> bool {
        self.reclaim.is_empty()
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        // Whoever holds up a strict queue may reach its ceiling later in the pass, by what others of its tenant take.
        // Then it no longer waits for room, and those behind it get their turn in another pass.
        // Where the order goes by shares, what others of its tenant take may also put somebody else before it.
        let view = draft.view();
        loop {
            let before = draft.mark();
            let mut victims = Victims::default();
            self.serve_guarantees(draft, &mut victims);
            let heads = self.pass(draft, &mut victims);
            let is_over = |&head: &AskId| view.ask(head).is_some_and(|head| ceiling(draft, &head).is_some());
            let is_another = self.order.shares() || heads.iter().any(is_over);
            if heads.is_empty() || !is_another || draft.is_at(before) {
                break;
            }
        }
        self.grow(draft);
    }

    fn heeds_reports(&self) -> bool {
        self.order.heeds_reports()
    }

    fn next_change(&self, view: &View<'_>, now: Time) -> Option<Time> {
        self.order.next_change(view, now)
    }
}

/// Requests that found no room in this pass. One of the same class, tenant and service with no better claim finds
/// none either: within a pass devices only become fewer.
#[derive(Default)]
struct Full(BTreeMap<(ClassId, TenantId, Qos), Vec<(i32, i64)>>);

impl Full {
    fn rules_out(&self, ask: &AskView<'_>, key: Key) -> bool {
        let request = (ask.class_id(), ask.tenant(), ask.spec().qos);
        let priority = ask.spec().priority;
        let failed = self.0.get(&request);
        failed.is_some_and(|failed| failed.iter().any(|&(p, level)| p >= priority && level <= key.level))
    }

    fn insert(&mut self, ask: &AskView<'_>, key: Key) {
        if !self.rules_out(ask, key) {
            let request = (ask.class_id(), ask.tenant(), ask.spec().qos);
            self.0.entry(request).or_default().push((ask.spec().priority, key.level));
        }
    }
}

impl Pipeline {
    /// One pass over everybody who waits. Returns who holds up a strict queue.
    fn pass(&self, draft: &mut Draft<'_>, victims: &mut Victims) -> Vec<AskId> {
        let (view, order) = (draft.view(), self.order.as_ref());
        draft.sync_lines(&self.order, &self.place);
        let shut = match self.takes_back(draft) || self.could_shrink(draft) {
            true => Shut::default(), // an ask may start that finds no room
            false => draft.shut_classes(|draft, class| self.has_room(draft, class)),
        };
        let mut walk = draft.walk(order, shut);
        let (mut full, mut heads) = (Full::default(), vec![]);
        draft.forget_reason();
        while let Some((key, id)) = draft.next(&mut walk, order) {
            let ask = view.ask(id).expect("it waits");
            if ask.not_before() > draft.now() {
                draft.wake_at(ask.not_before());
                continue;
            }
            if ask.earlier_attempt().is_some() {
                continue; // the world reports its end; then there is another plan
            }
            let is_ruled_out = walk.is_shut(ask.class_id()) || full.rules_out(&ask, key);
            if draft.starts(id) || (!is_ruled_out && self.try_start(draft, &ask, key, victims)) {
                continue;
            }
            full.insert(&ask, key);
            walk.skip_group();
            if !is_ruled_out && self.is_full_for_all(draft, &ask) {
                walk.shut(draft, ask.class_id());
            }
            let queue = view.queue(ask.queue());
            let watched = draft.watched_in_place_of(&ask);
            if !queue.strict && watched.is_none() {
                continue;
            }
            let over = ceiling(draft, &ask);
            // Somebody at the ceiling waits for the own tenant, not for room: it does not hold up the others.
            let holds_up = queue.strict && over.is_none();
            if holds_up {
                walk.block(ask.queue());
                heads.push(id);
                note_behind(draft, &ask, queue);
            }
            if let Some(watched) = watched.filter(|watched| watched.id() == id || !holds_up) {
                let reason = over.unwrap_or_else(|| no_room(draft, &watched));
                draft.note(watched.id(), reason);
            }
        }
        draft.end(walk);
        heads
    }

    /// Whether somebody without room may get some from others, by these rules and in this world.
    fn takes_back(&self, draft: &Draft<'_>) -> bool {
        !self.reclaim.is_empty() && draft.capabilities().preempts
    }

    /// Whether an ask that could not start would not have started on anybody's account, so that none of its class will in
    /// this pass.
    fn is_full_for_all(&self, draft: &mut Draft<'_>, ask: &AskView<'_>) -> bool {
        if self.takes_back(draft) || self.could_shrink(draft) || !is_steady(ask.class()) {
            return false;
        }
        !(draft.is_limited(ask.tenant()) && self.has_room(draft, ask.class()))
    }

    /// Whether there is room for a request at its least width, on nobody's account.
    fn has_room(&self, draft: &mut Draft<'_>, class: &Class) -> bool {
        draft.room_for(self.place.as_ref(), class, &class.least(), None).is_some()
    }

    fn try_start(&self, draft: &mut Draft<'_>, ask: &AskView<'_>, key: Key, victims: &mut Victims) -> bool {
        match self.find(draft, ask) {
            Some(placement) => draft.start(ask.id(), placement).is_ok(),
            None => self.make_room(draft, ask, key, victims),
        }
    }

    /// The widest placement that fits, by bisection over the steps.
    ///
    /// Exact for one role: if `n` members fit, fewer fit too (`crates/sim/tests/properties.rs` compares with every width).
    /// Several roles are placed one after the other, so a wider step can fit where a narrower one did not; then this finds
    /// a placement, at worst the narrowest, but not always the widest. Trying every step would cost one search per step.
    fn find(&self, draft: &mut Draft<'_>, ask: &AskView<'_>) -> Option<Placement> {
        let (mut low, mut high) = (0, self.size.steps(draft, ask) - 1);
        let least = self.size.counts(draft, ask, high);
        let mut best = draft.find_room(self.place.as_ref(), ask, &least)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let counts = self.size.counts(draft, ask, middle);
            match draft.find_room(self.place.as_ref(), ask, &counts) {
                Some(placement) => (best, high) = (placement, middle),
                None => low = middle + 1,
            }
        }
        Some(best)
    }
}

/// If somebody asked about one behind `head`, this is why it waits; unless it was looked at before and has a reason of
/// its own.
fn note_behind(draft: &mut Draft<'_>, head: &AskView<'_>, queue: &QueueSpec) {
    let Some(watched) = draft.watched().and_then(|watched| draft.view().ask(watched)) else { return };
    if watched.queue() == head.queue() && !draft.starts(watched.id()) && !draft.has_reason() {
        let (name, queue) = (head.spec().name.clone(), queue.name.clone());
        draft.note(watched.id(), Reason::Behind { head: head.id(), name, queue });
    }
}
