//! Waiting lines in the order of a policy, kept from one plan to the next.
//!
//! Those who ask for the same thing with the same claim form a group, and each group has a line of its own: once the
//! first of a group finds no room, none of the others is looked at. A queue with a hundred thousand like tasks costs no
//! more than one of them.
//!
//! For an order whose keys never change while an ask waits, the lines are kept sorted: what arrived since the last plan
//! is inserted, what left is dropped when it is met. For an order whose keys move, they are sorted afresh. Either way
//! the walk is the same, so a cold cache gives the same plan.

use crate::class::ClassId;
use crate::policy::order::{Key, Order};
use crate::state::State;
use crate::state::jobs::AskState;
use crate::view::{AskView, View};
use consort_types::{AskId, Qos, QueueId, TenantId, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Bound;

/// Those who find room, or find none, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    queue: QueueId,
    class: ClassId,
    tenant: TenantId,
    qos: Qos,
    priority: i32,
}

impl Group {
    pub fn of(ask: &AskView<'_>) -> Self {
        let spec = ask.spec();
        let (class, tenant) = (ask.class_id(), ask.tenant());
        Group { queue: ask.queue(), class, tenant, qos: spec.qos, priority: spec.priority }
    }
}

type Entry = (Key, AskId);

/// The kept lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// The order they are kept in; none while cold.
    order: Option<&'static str>,
    groups: BTreeMap<Group, BTreeSet<Entry>>,
    arrivals: Vec<AskId>,
    kept: usize,
}

impl Lines {
    /// Somebody new waits. A cold line finds out by itself.
    pub fn arrive(&mut self, ask: AskId) {
        if self.order.is_some() {
            self.arrivals.push(ask);
        }
    }

    fn sync(&mut self, state: &State, order: &dyn Order, now: Time) {
        let waiting = state.jobs.waiting.len();
        let is_bloated = self.kept + self.arrivals.len() > 2 * waiting + 1024;
        if self.order != Some(order.name()) || is_bloated {
            *self = Lines { order: Some(order.name()), ..Lines::default() };
            self.arrivals.extend(state.jobs.waiting.iter().copied());
        }
        let view = View::of(state);
        for id in std::mem::take(&mut self.arrivals) {
            if let Some(ask) = view.ask(id) {
                let line = self.groups.entry(Group::of(&ask)).or_default();
                self.kept += usize::from(line.insert((order.key(&view, id, now), id)));
            }
        }
    }

    /// The first entry of a group behind `behind` that still waits.
    fn next(&mut self, state: &State, group: &Group, behind: Option<Entry>) -> Option<Entry> {
        let line = self.groups.get_mut(group)?;
        loop {
            let next = match behind {
                None => line.first(),
                Some(behind) => line.range((Bound::Excluded(behind), Bound::Unbounded)).next(),
            };
            let entry = *next?;
            if state.jobs.ask(entry.1).is_some_and(|ask| matches!(ask.state, AskState::Waiting)) {
                return Some(entry);
            }
            line.remove(&entry);
            self.kept -= 1;
        }
    }
}

/// One pass over everybody who waits: queues of higher priority first, then by key, then by id.
pub(crate) struct Walk {
    cursors: Vec<Cursor>,
    /// The first of each group that has not had its turn.
    heads: BinaryHeap<Reverse<(Reverse<i32>, Entry, usize)>>,
    /// Whose turn it was last; the group moves up only when the next one is asked for.
    last: Option<(Entry, usize)>,
    blocked: BTreeSet<QueueId>,
}

struct Cursor {
    group: Group,
    priority: Reverse<i32>,
    /// Present when the keys move: the rest of the line, last first.
    sorted: Option<Vec<Entry>>,
}

impl Walk {
    pub fn begin(lines: &mut Lines, state: &State, order: &dyn Order, now: Time) -> Walk {
        let sorted: Vec<(Group, Option<Vec<Entry>>)> = if order.moves() {
            sorted_afresh(state, order, now).into_iter().map(|(group, line)| (group, Some(line))).collect()
        } else {
            lines.sync(state, order, now);
            lines.groups.retain(|_, line| !line.is_empty());
            lines.groups.keys().map(|&group| (group, None)).collect()
        };
        let mut walk =
            Walk { cursors: vec![], heads: BinaryHeap::new(), last: None, blocked: BTreeSet::new() };
        for (group, sorted) in sorted {
            let priority = Reverse(state.queues.get(group.queue).priority);
            walk.cursors.push(Cursor { group, priority, sorted });
            walk.move_up(lines, state, walk.cursors.len() - 1, None);
        }
        walk
    }

    fn move_up(&mut self, lines: &mut Lines, state: &State, index: usize, behind: Option<Entry>) {
        let cursor = &mut self.cursors[index];
        let next = match &mut cursor.sorted {
            Some(line) => line.pop(),
            None => lines.next(state, &cursor.group, behind),
        };
        if let Some(entry) = next {
            self.heads.push(Reverse((cursor.priority, entry, index)));
        }
    }

    /// The next in the pass.
    pub fn next(&mut self, lines: &mut Lines, state: &State) -> Option<Entry> {
        if let Some((entry, index)) = self.last.take() {
            self.move_up(lines, state, index, Some(entry));
        }
        loop {
            let Reverse((_, entry, index)) = self.heads.pop()?;
            if !self.blocked.contains(&self.cursors[index].group.queue) {
                self.last = Some((entry, index));
                return Some(entry);
            }
        }
    }

    /// Nobody else of the group whose turn it was gets one in this pass.
    pub fn skip_group(&mut self) {
        self.last = None;
    }

    /// Nobody else of this queue gets a turn in this pass.
    pub fn block(&mut self, queue: QueueId) {
        self.blocked.insert(queue);
    }
}

fn sorted_afresh(state: &State, order: &dyn Order, now: Time) -> BTreeMap<Group, Vec<Entry>> {
    let view = View::of(state);
    let mut groups: BTreeMap<Group, Vec<Entry>> = BTreeMap::new();
    for &id in &state.jobs.waiting {
        let ask = view.ask(id).expect("it waits");
        groups.entry(Group::of(&ask)).or_default().push((order.key(&view, id, now), id));
    }
    groups.values_mut().for_each(|line| line.sort_unstable_by(|a, b| b.cmp(a)));
    groups
}
