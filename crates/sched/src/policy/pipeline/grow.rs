//! Elastic gangs grow into room that nothing else wants.
//!
//! A gang that runs is made as wide as fits, once everything that is pending had its turn. It keeps its devices and gets
//! more beside them. It grows only
//! * on kinds that no pending ask could use, unless that ask waits for the ceiling of its own tenant: what a wide gang is
//!   saving up for must not be taken away bit by bit, only to be given back;
//! * if it was not resized within [`SETTLED`];
//! * where that takes a restart, if the job is known to save its work (it declares a restart cost or reported a save), and
//!   the time it is believed to gain is longer than what the restart costs. Without an estimate or reports nothing is
//!   believed, and it does not grow.
//!
//! First come those that the order puts first. Simplified: what a job gains from width is taken to be proportional
//! to it; one that hardly gains still takes what is free.

use super::Pipeline;
use crate::belief::length;
use crate::class::ClassId;
use crate::draft::Draft;
use crate::explain::ceiling;
use crate::view::AskView;
use consort_types::*;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How long the width of a gang is left alone after a resize, unless others need what it has. Between two plans nothing
/// may have changed but a short job that came and went; an application that saves, regroups and loads takes minutes.
/// It is a constant of the policy and not of the journal, since it decides what is planned and not what an event means.
pub(super) const SETTLED: Span = Span::seconds(600);

/// What a restart takes beside the work that the job says it adds: to let the workers go, and to start others.
const TURNAROUND: Span = Span::seconds(60);

impl Pipeline {
    pub(super) fn grow(&self, draft: &mut Draft<'_>) {
        if draft.capabilities().resize == Resize::No {
            return;
        }
        let view = draft.view();
        let mut able: Vec<_> = vec![];
        for ask in view.elastic().filter_map(|id| view.ask(id)) {
            if self.could_grow(draft, &ask) {
                let key = self.order.key(&view, ask.id(), draft.now());
                able.push((Reverse(view.queue(ask.queue()).priority), key, ask.id()));
            }
        }
        if able.is_empty() {
            return;
        }
        able.sort_unstable();
        let wanted = wanted_kinds(draft);
        for (_, _, id) in able {
            let ask = view.ask(id).expect("it runs");
            if ask.grants().iter().any(|grant| wanted.get(view.kind_of(grant.device).index()) == Some(&true))
            {
                continue;
            }
            if let Some(placement) = self.widest_beside(draft, &ask) {
                let _ = draft.resize(id, placement); // it was possible a moment ago
            }
        }
    }

    /// Whether it might grow now; if only time is in the way, asks for another plan then.
    fn could_grow(&self, draft: &mut Draft<'_>, ask: &AskView<'_>) -> bool {
        let roles = ask.class().roles.iter().zip(ask.fills());
        let is_narrow = roles.into_iter().any(|(role, fill)| fill.count < role.count.max);
        if !is_narrow || ask.running_since().is_none() {
            return false;
        }
        let settled = ask.resized_at().map_or(Time(i64::MIN), |at| at + SETTLED);
        let from = settled.max(ask.resize_after());
        if from > draft.now() {
            draft.wake_at(from);
            return false;
        }
        draft.may_resize(ask)
    }

    /// The widest placement that contains the one it has, by bisection like [`Pipeline::find`]; nothing if that is no wider,
    /// or not worth it.
    fn widest_beside(&self, draft: &mut Draft<'_>, ask: &AskView<'_>) -> Option<Placement> {
        let has: Vec<u32> = ask.fills().iter().map(|fill| fill.count).collect();
        let counts = |draft: &Draft<'_>, step| {
            let counts = self.size.counts(draft, ask, step);
            counts.iter().zip(&has).map(|(&count, &has)| count.max(has)).collect::<Vec<u32>>()
        };
        let (mut low, mut high) = (0, self.size.steps(draft, ask));
        let mut best = None;
        while low < high {
            let middle = low + (high - low) / 2;
            let wider = counts(draft, middle);
            if wider == has {
                high = middle;
                continue;
            }
            match self.fits_beside(draft, ask, &wider) {
                Some(placement) => (best, high) = (Some(placement), middle),
                None => low = middle + 1,
            }
        }
        best.filter(|placement| {
            draft.capabilities().resize == Resize::InPlace
                || is_worth_a_restart(draft, ask, placement.members())
        })
    }

    fn fits_beside(&self, draft: &mut Draft<'_>, ask: &AskView<'_>, counts: &[u32]) -> Option<Placement> {
        let mark = draft.mark();
        let placement = draft.find_wider(self.place.as_ref(), ask, counts)?;
        let fits = draft.resize(ask.id(), placement.clone()).is_ok();
        draft.back_to(mark);
        fits.then_some(placement)
    }
}

/// Whether a restart at this width ends earlier than going on, by more than it costs. A job of which it is not known that it
/// saves its work could lose all of it.
fn is_worth_a_restart(draft: &Draft<'_>, ask: &AskView<'_>, members: u32) -> bool {
    let has_saved = ask.progress().is_some_and(|progress| progress.sample.saved_milli > 0);
    if ask.spec().restart_cost <= Span::ZERO && !has_saved {
        return false;
    }
    let Some(left) = length::work_left(&draft.view(), ask.id(), draft.now()) else { return false };
    let (has, most) = ask.width();
    let saved = left.scaled(most, has) - left.scaled(most, members);
    saved > ask.spec().restart_cost.scaled(most, members) + TURNAROUND
}

/// By kind: whether some pending ask that this draft does not start could use it, and its tenant may have more.
fn wanted_kinds(draft: &Draft<'_>) -> Vec<bool> {
    let view = draft.view();
    let mut wanted: Vec<bool> = vec![];
    let mut seen: BTreeSet<(ClassId, TenantId)> = BTreeSet::new();
    for ask in view.waiting().filter(|&id| !draft.starts(id)).filter_map(|id| view.ask(id)) {
        let is_new = seen.insert((ask.class_id(), ask.tenant()));
        if !is_new || ceiling(draft, &ask).is_some() {
            continue;
        }
        let usable = draft.usable_kinds(&ask);
        wanted.resize(usable.len(), false);
        wanted.iter_mut().zip(usable).for_each(|(wanted, usable)| *wanted |= usable);
    }
    wanted
}
