//! Waiting lines in the order of a policy, kept from one plan to the next.
//!
//! Those who ask for the same thing in the same queue stand in one line, and in it those with the same claim form a
//! group: once the first of a group finds no room, none of the others is looked at. A queue with a hundred thousand like
//! tasks costs no more than one of them.
//!
//! For an order whose keys never change while an ask waits, the lines are kept sorted: what arrived since the last plan
//! is inserted, what left is dropped when it is met. For an order whose keys move, they are sorted afresh. Either way
//! the walk is the same, so a cold cache gives the same plan. A copy shares its lines, and what it changes of them it copies.
//! Lines belong to the very order and placement they were made with (`Keeper`), never to a name.
//!
//! Beside the lines it is remembered which classes found no room, and when (`stuck`): until something grows that they
//! could use, a plan need not ask again. `walk` goes through what is left.

mod stuck;
mod walk;

pub(crate) use stuck::{Shut, is_steady};

use crate::chunked::SortedSet;
use crate::class::ClassId;
use crate::policy::order::{Key, Order};
use crate::policy::place::Place;
use crate::state::State;
use crate::state::jobs::AskState;
use crate::view::{AskView, View};
use consort_types::{AskId, JobId, Qos, QueueId, TenantId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stuck::Stuck;

/// Those who find room, or find none, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    line: LineId,
    claim: Claim,
}

impl Group {
    pub fn of(ask: &AskView<'_>) -> Self {
        let (line, spec) = ((ask.queue(), ask.class_id()), ask.spec());
        Group { line, claim: (ask.tenant(), spec.qos, spec.priority) }
    }
}

/// A line: those who ask for the same thing in the same queue.
type LineId = (QueueId, ClassId);
/// On whose account, and how firmly.
type Claim = (TenantId, Qos, i32);
type Entry = (Key, AskId);
/// A place in a line: each claim's entries stand together, in order.
type Spot = (Claim, Entry);

const FIRST: Entry = (Key { level: i64::MIN, rank: i64::MIN }, AskId { job: JobId(0), stage: 0, task: 0 });
const LAST: Entry = (
    Key { level: i64::MAX, rank: i64::MAX },
    AskId { job: JobId(u64::MAX), stage: u16::MAX, task: u32::MAX },
);

/// The order in which lines are kept, and the placement that found classes stuck. Holding both keeps their addresses from
/// being used again, so identity is enough, and an order with other parameters is another one.
#[derive(Clone)]
struct Keeper(Arc<dyn Order>, Arc<dyn Place>);

impl Keeper {
    fn is(&self, order: &Arc<dyn Order>, place: &Arc<dyn Place>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(order))
            && std::ptr::addr_eq(Arc::as_ptr(&self.1), Arc::as_ptr(place))
    }
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an order and a placement")
    }
}

/// The kept lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// Whose they are; nobody's while cold.
    keeper: Option<Keeper>,
    lines: BTreeMap<LineId, Arc<SortedSet<Spot>>>,
    arrivals: Vec<AskId>,
    kept: usize,
    /// Those who wait and back off, by the time until which they do. Some may have gone.
    resting: BTreeSet<(Time, AskId)>,
    stuck: Stuck,
}

impl Lines {
    /// Somebody new waits. A cold line finds out by itself.
    pub fn arrive(&mut self, ask: AskId) {
        if self.keeper.is_some() {
            self.arrivals.push(ask);
        }
    }

    /// Brings the lines in step with who waits.
    pub fn sync(&mut self, state: &State, order: &Arc<dyn Order>, place: &Arc<dyn Place>, now: Time) {
        let is_bloated = self.kept + self.arrivals.len() > 2 * state.jobs.waiting.len() + 1024;
        let is_others = self.keeper.as_ref().is_none_or(|keeper| !keeper.is(order, place));
        if is_others {
            self.stuck = Stuck::default();
            self.keeper = Some(Keeper(order.clone(), place.clone()));
        }
        let view = View::of(state);
        let is_afresh = is_others || is_bloated || order.moves();
        let mut resting = if is_afresh { BTreeSet::new() } else { std::mem::take(&mut self.resting) };
        let mut place = |id: AskId| {
            let ask = view.ask(id)?;
            let group = Group::of(&ask);
            if ask.not_before() > state.now {
                resting.insert((ask.not_before(), id));
            }
            Some((group.line, (group.claim, (order.key(&view, id, now), id))))
        };
        if is_afresh {
            let places = state.jobs.waiting.iter().filter_map(|&id| place(id)).collect();
            self.sort_afresh(places);
            self.arrivals.clear();
        }
        for id in std::mem::take(&mut self.arrivals) {
            if let Some((line, spot)) = place(id) {
                let line = Arc::make_mut(self.lines.entry(line).or_default());
                self.kept += usize::from(line.insert(spot));
            }
        }
        self.resting = resting;
    }

    /// When the next of those who wait has backed off long enough.
    pub fn wakes_at(&mut self, state: &State, now: Time) -> Option<Time> {
        let rests = |&(until, id): &(Time, AskId)| {
            let ask = state.jobs.ask(id).filter(|ask| matches!(ask.state, AskState::Waiting));
            until > state.now && ask.is_some_and(|ask| ask.not_before == until)
        };
        while self.resting.first().is_some_and(|first| !rests(first)) {
            self.resting.pop_first();
        }
        self.resting.iter().find(|entry| entry.0 > now && rests(entry)).map(|entry| entry.0)
    }

    fn sort_afresh(&mut self, mut places: Vec<(LineId, Spot)>) {
        places.sort_unstable();
        self.kept = places.len();
        let lines = places.chunk_by(|one, other| one.0 == other.0);
        let spots = |line: &[(LineId, Spot)]| Arc::new(line.iter().map(|&(_, spot)| spot).collect());
        self.lines = lines.map(|line| (line[0].0, spots(line))).collect();
    }

    /// Takes out those who were met and waited no longer.
    fn sweep(&mut self, gone: Vec<(LineId, Spot)>) {
        for (id, spot) in gone {
            if let Some(line) = self.lines.get_mut(&id) {
                self.kept -= usize::from(Arc::make_mut(line).remove(&spot));
                if line.is_empty() {
                    self.lines.remove(&id);
                }
            }
        }
    }

    /// The first of each group in a line, of one tenant or of all. They may have gone.
    fn firsts(&self, line: LineId, tenant: Option<TenantId>) -> impl Iterator<Item = Spot> + '_ {
        let spots = self.lines.get(&line);
        let least = (tenant.unwrap_or(TenantId(0)), Qos::BestEffort, i32::MIN);
        let mut last: Option<Claim> = None;
        std::iter::from_fn(move || {
            let first = *match last {
                None => spots?.at_or_above(&(least, FIRST)),
                Some(claim) => spots?.above(&(claim, LAST)),
            }?;
            last = Some(first.0);
            tenant.is_none_or(|tenant| tenant == first.0.0).then_some(first)
        })
    }

    /// The one behind a spot in its group. It may have gone.
    fn next(&self, line: LineId, spot: Spot) -> Option<Entry> {
        let next = self.lines.get(&line)?.above(&spot)?;
        (next.0 == spot.0).then_some(next.1)
    }
}
