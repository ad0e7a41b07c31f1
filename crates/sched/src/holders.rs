//! Who holds devices of each kind, and until when: what explanations say about other jobs.
//!
//! Derived from the state and kept outside of it. `apply` notes which asks changed; the index is brought in step when a
//! question is asked. So planning pays for a note and no more, and a question costs what changed since the last one, not
//! a look at everything that runs. A copy of a scheduler begins without an index.

use crate::belief::length;
use crate::state::State;
use crate::view::{AskView, Doing, View};
use consort_types::{AskId, DeviceId, Grant, JobId, KindId, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A job that holds devices which are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// Known ends come first.
    pub is_unknown: bool,
    pub until: Time,
    pub job: JobId,
    pub devices: u32,
}

/// Changes that are noted before following them costs more than starting afresh.
const NOTED: usize = 4_096;

/// When running tasks of a job are believed to end, unknown ends last; those that end together share a spot.
type Spot = (bool, Time, JobId);

/// What the tasks at one spot hold.
#[derive(Clone, Debug, Default)]
struct Held {
    tasks: u32,
    /// Grants of each kind, in the order of the kinds.
    grants: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    kinds: Vec<KindId>,
    spot: Spot,
    grants: Vec<u32>,
}

/// The index.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    /// Whether every change since the last question was noted.
    is_followed: bool,
    changed: Vec<AskId>,
    /// What each running ask was entered as.
    entries: BTreeMap<AskId, Entry>,
    /// By the kinds that they hold.
    running: BTreeMap<Vec<KindId>, BTreeMap<Spot, Held>>,
    /// Granted but not running: few, and when they end depends on the time of the question.
    others: BTreeSet<AskId>,
}

/// Large, and quickly made again.
impl Clone for Holders {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Holders {
    /// What this ask holds has changed.
    pub fn note(&mut self, ask: AskId) {
        if self.is_followed {
            self.is_followed = self.changed.len() < NOTED;
            self.changed.push(ask);
        }
    }

    /// Nothing is known any more; the next question starts afresh.
    pub fn forget(&mut self) {
        self.is_followed = false;
    }

    fn sync(&mut self, state: &State) {
        if !self.is_followed {
            *self = Self { is_followed: true, ..Self::default() };
            state.jobs.granted.iter().for_each(|&ask| self.enter(state, ask));
        }
        for ask in std::mem::take(&mut self.changed) {
            self.leave(ask);
            self.enter(state, ask);
        }
    }

    fn enter(&mut self, state: &State, id: AskId) {
        let view = View::of(state);
        let Some(ask) = view.ask(id) else { return };
        let Some(since) = ask.width_since() else {
            if !ask.grants().is_empty() {
                self.others.insert(id);
            }
            return;
        };
        // From its last report on, if there is one: what it says of the time before is no longer of interest.
        let from = ask.progress().map_or(since, |progress| progress.at.max(since));
        let until = length::time_left(&view, id, from).map(|left| from + left);
        let spot = (until.is_none(), until.unwrap_or(Time::NEVER), id.job);
        let mut of_kinds: BTreeMap<KindId, u32> = BTreeMap::new();
        for grant in ask.grants() {
            *of_kinds.entry(view.kind_of(grant.device)).or_default() += 1;
        }
        let (kinds, grants): (Vec<KindId>, Vec<u32>) = of_kinds.into_iter().unzip();
        let held = self.running.entry(kinds.clone()).or_default().entry(spot).or_default();
        held.tasks += 1;
        held.grants.resize(grants.len(), 0);
        held.grants.iter_mut().zip(&grants).for_each(|(sum, grants)| *sum += grants);
        self.entries.insert(id, Entry { kinds, spot, grants });
    }

    fn leave(&mut self, id: AskId) {
        self.others.remove(&id);
        let Some(entry) = self.entries.remove(&id) else { return };
        let spots = self.running.get_mut(&entry.kinds).expect("it was entered");
        let held = spots.get_mut(&entry.spot).expect("it was entered");
        held.tasks -= 1;
        held.grants.iter_mut().zip(&entry.grants).for_each(|(sum, grants)| *sum -= grants);
        if held.tasks == 0 {
            spots.remove(&entry.spot);
        }
    }

    /// Who holds devices of these kinds: the `most` that end soonest, and how many there are in all.
    pub fn of(
        &mut self,
        state: &State,
        now: Time,
        is_wanted: impl Fn(KindId) -> bool,
        most: usize,
    ) -> (Vec<Rank>, usize) {
        self.sync(state);
        let view = View::of(state);
        let device = |device: DeviceId| is_wanted(view.kind_of(device));
        let mut ranks = of_each(&view, self.others.iter().copied(), now, device);
        let mut count = ranks.len();
        for (kinds, spots) in &self.running {
            if !kinds.iter().any(|&kind| is_wanted(kind)) {
                continue;
            }
            count += spots.len();
            ranks.extend(spots.iter().take(most).map(|(&(is_unknown, until, job), held)| {
                let wanted = kinds.iter().zip(&held.grants).filter(|(kind, _)| is_wanted(**kind));
                let devices = wanted.map(|(_, grants)| grants).sum();
                Rank { is_unknown, until: until.max(now), job, devices }
            }));
        }
        ranks.sort_unstable();
        ranks.truncate(most);
        (ranks, count)
    }
}

/// Who of these asks holds devices that are wanted; tasks of one job that end together count once.
pub(crate) fn of_each(
    view: &View<'_>,
    asks: impl Iterator<Item = AskId>,
    now: Time,
    is_wanted: impl Fn(DeviceId) -> bool,
) -> Vec<Rank> {
    let asks: Vec<AskView<'_>> = asks.filter_map(|id| view.ask(id)).collect();
    let planned = asks.iter().filter(|ask| ask.doing() == Doing::Planned);
    let promised: BTreeSet<DeviceId> =
        planned.flat_map(|ask| ask.grants()).map(|grant| grant.device).collect();
    let mut ranks: Vec<Rank> = vec![];
    for ask in asks {
        let leaves = ask.doing() == Doing::Releasing;
        // What is on its way out counts for the ask it is promised to, and otherwise comes back about now.
        let counts =
            |grant: &&Grant| is_wanted(grant.device) && !(leaves && promised.contains(&grant.device));
        let devices = ask.grants().iter().filter(counts).count() as u32;
        if devices == 0 {
            continue;
        }
        let left = if leaves { Some(Span::ZERO) } else { length::time_left(view, ask.id(), now) };
        let (is_unknown, until) = (left.is_none(), left.map_or(Time::NEVER, |left| now + left));
        match ranks.last_mut() {
            Some(last) if (last.job, last.until) == (ask.id().job, until) => last.devices += devices,
            _ => ranks.push(Rank { is_unknown, until, job: ask.id().job, devices }),
        }
    }
    ranks
}
