//! Classes that found no room, remembered until something grows that they could use.
//!
//! Only what holds for everybody is remembered: no room at the least width, on nobody's account, in a draft that had
//! written nothing yet. And only of requests with one role: less room never makes room for these, while several roles
//! are placed one after the other, so that less of it can lead the first ones out of the way of the last.

use super::LineId;
use crate::class::{Class, ClassId};
use crate::draft::Draft;
use crate::free::Free;
use crate::state::State;
use consort_types::KindId;
use std::sync::Arc;

/// By class: since when it is stuck, if it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Stuck(Vec<Option<Since>>);

#[derive(Clone, Debug)]
struct Since {
    /// Ids of classes are used again; this very one is meant.
    class: Arc<Class>,
    /// What the cluster was made of: another make may have other kinds.
    make: u64,
    /// What the growth clock showed.
    clock: u64,
    /// The kinds of which more would help.
    kinds: Arc<[KindId]>,
}

impl Stuck {
    fn has(&self, id: ClassId, class: &Arc<Class>, state: &State, free: &Free) -> bool {
        let Some(Some(since)) = self.0.get(id.0 as usize) else { return false };
        Arc::ptr_eq(&since.class, class)
            && since.make == state.cluster.make
            && !since.kinds.iter().any(|&kind| free.has_grown(kind, since.clock))
    }

    fn insert(&mut self, id: ClassId, class: &Arc<Class>, state: &State, free: &Free) {
        let slot = id.0 as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, None);
        }
        let is_hosted = class.shapes().any(|shape| !shape.host.is_none());
        let pools = state.cluster.pool_kinds().filter(|_| is_hosted);
        let kinds = class.shapes().flat_map(|shape| shape.kinds(&state.cluster)).chain(pools).collect();
        let (class, make, clock) = (class.clone(), state.cluster.make, free.clock());
        self.0[slot] = Some(Since { class, make, clock, kinds });
    }
}

/// Classes that get no turn in a pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shut(Vec<bool>);

impl Shut {
    pub fn has(&self, class: ClassId) -> bool {
        self.0.get(class.0 as usize).copied().unwrap_or(false)
    }

    pub fn insert(&mut self, class: ClassId) {
        let slot = class.0 as usize;
        if self.0.len() <= slot {
            self.0.resize(slot + 1, false);
        }
        self.0[slot] = true;
    }
}

/// Whether less room never makes room for it.
pub(crate) fn is_steady(class: &Class) -> bool {
    class.roles.len() == 1
}

impl Draft<'_> {
    /// Asks every class that waits in a queue which is not strict for room, unless it is known to have none. Returns
    /// those without.
    pub(crate) fn shut_classes(&mut self, mut has_room: impl FnMut(&mut Self, &Class) -> bool) -> Shut {
        let state = self.state;
        // Those who are shut out get no turn, in which they could say until when they back off.
        if let Some(at) = self.lines.wakes_at(state, self.now) {
            self.wake_at(at);
        }
        let is_strict = |line: &LineId| state.queues.get(line.0).strict;
        let mut classes: Vec<ClassId> =
            self.lines.lines.keys().filter(|line| !is_strict(line)).map(|line| line.1).collect();
        if state.queues.list.len() > 1 {
            classes.sort_unstable();
            classes.dedup();
        }
        let mut shut = Shut::default();
        for id in classes {
            let Some(class) = state.classes.find(id).filter(|class| is_steady(class)) else { continue };
            if self.lines.stuck.has(id, class, state, self.free) {
                shut.insert(id);
            } else if !has_room(self, class) {
                shut.insert(id);
                if self.is_blank() {
                    self.lines.stuck.insert(id, class, state, self.free);
                }
            }
        }
        shut
    }
}
