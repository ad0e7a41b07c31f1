//! Waiting lines in the order of a policy, kept from one plan to the next.
//!
//! For an order whose keys never change while an ask waits, the line is kept sorted: what arrived since the last
//! plan is inserted, what left is dropped when it is met. For an order whose keys move, the line is sorted afresh.
//! Either way the walk is the same, so a cold cache gives the same plan.

use crate::policy::order::{Key, Order};
use crate::state::State;
use crate::view::View;
use consort_types::{AskId, QueueId, Time};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;

/// The kept lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// The order they are kept in; none while cold.
    order: Option<&'static str>,
    queues: Vec<BTreeSet<(Key, AskId)>>,
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
        self.queues.resize(state.queues.list.len(), BTreeSet::new());
        for ask in std::mem::take(&mut self.arrivals) {
            let view = View::of(state);
            if let Some(queue) = view.ask(ask).map(|ask| ask.queue()) {
                let is_new = self.queues[queue.index()].insert((order.key(&view, ask, now), ask));
                self.kept += usize::from(is_new);
            }
        }
    }

    /// The first entry behind `behind` that still waits.
    fn next(&mut self, state: &State, queue: QueueId, behind: Option<(Key, AskId)>) -> Option<(Key, AskId)> {
        let line = &mut self.queues[queue.index()];
        loop {
            let next = match behind {
                None => line.first(),
                Some(behind) => line.range((Bound::Excluded(behind), Bound::Unbounded)).next(),
            };
            let entry = *next?;
            if state
                .jobs
                .ask(entry.1)
                .is_some_and(|ask| matches!(ask.state, crate::state::jobs::AskState::Waiting))
            {
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
}

struct Cursor {
    queue: QueueId,
    priority: Reverse<i32>,
    head: Option<(Key, AskId)>,
    /// Present when the keys move: the rest of the line, last first.
    sorted: Option<Vec<(Key, AskId)>>,
}

impl Walk {
    pub fn begin(lines: &mut Lines, state: &State, order: &dyn Order, now: Time) -> Walk {
        let moving = order.moves();
        let mut sorted: Vec<Vec<(Key, AskId)>> = vec![];
        if moving {
            sorted.resize(state.queues.list.len(), vec![]);
            let view = View::of(state);
            for &ask in &state.jobs.waiting {
                let queue = view.ask(ask).expect("it waits").queue();
                sorted[queue.index()].push((order.key(&view, ask, now), ask));
            }
            sorted.iter_mut().for_each(|line| line.sort_unstable_by(|a, b| b.cmp(a)));
        } else {
            lines.sync(state, order, now);
        }
        let mut sorted = sorted.into_iter();
        let queues = state.queues.list.iter().enumerate();
        let cursors = queues.map(|(index, queue)| {
            let (queue, priority) = (QueueId(index as u32), Reverse(queue.priority));
            let mut sorted = sorted.next();
            let head = match &mut sorted {
                Some(line) => line.pop(),
                None => lines.next(state, queue, None),
            };
            Cursor { queue, priority, head, sorted }
        });
        Walk { cursors: cursors.filter(|cursor| cursor.head.is_some()).collect() }
    }

    pub fn next(&mut self, lines: &mut Lines, state: &State) -> Option<(Key, AskId)> {
        let heads = self
            .cursors
            .iter()
            .enumerate()
            .filter_map(|(index, cursor)| Some((cursor.priority, cursor.head?, index)));
        let (_, entry, index) = heads.min()?;
        let cursor = &mut self.cursors[index];
        cursor.head = match &mut cursor.sorted {
            Some(line) => line.pop(),
            None => lines.next(state, cursor.queue, Some(entry)),
        };
        Some(entry)
    }

    /// Nobody else of this queue gets a turn in this pass.
    pub fn block(&mut self, queue: QueueId) {
        self.cursors.retain(|cursor| cursor.queue != queue);
    }
}
