//! Taking back, the same way for every rule: nothing before it is known to help, and no more than is needed.

use super::Pipeline;
use crate::draft::Draft;
use crate::policy::Key;
use crate::policy::reclaim::Weakest;
use crate::view::{AskView, Doing};
use consort_types::*;
use std::cmp::Reverse;

/// Everybody who could be stopped, weakest claim first, and of equal claims the one that came last. Made once in a pass,
/// when somebody first asks. Nothing in this order changes while nobody plans, so neither does who finds room.
#[derive(Default)]
pub(super) struct Victims(Option<Found>);

#[derive(Default)]
struct Found {
    all: Vec<Victim>,
    /// By kind: the weakest of those who hold some of it.
    weakest: Vec<Option<Weakest>>,
}

#[derive(Clone)]
struct Victim {
    id: AskId,
    key: Key,
    rank: Rank,
    loss: i128,
    /// Kinds it holds something of.
    kinds: Vec<KindId>,
}

/// An hour of one device, in device-thousandths times nanoseconds.
const DEVICE_HOUR: i128 = 3600 * 1_000_000_000 * WHOLE as i128;

/// What is lost if somebody is stopped. Who says what a restart costs loses that; it has saved the rest, and less than an
/// hour of one device is not worth a choice. Everybody else loses what they have run over all attempts, so that
/// one who was stopped before is spared, and not stopped again and again.
fn loss(victim: &AskView<'_>, now: Time) -> i128 {
    let restart = i128::from(victim.spec().restart_cost.0) * i128::from(victim.thousandths());
    if restart > 0 { restart - restart % DEVICE_HOUR } else { victim.attained_until(now) }
}

/// Class, level and priority: who has the least is stopped first.
type Rank = (Qos, Reverse<i64>, i32);

impl Victims {
    fn of(&mut self, pipeline: &Pipeline, draft: &Draft<'_>) -> &Found {
        self.0.get_or_insert_with(|| {
            let view = draft.view();
            let mut weakest: Vec<Option<Weakest>> = vec![];
            let mut victims: Vec<_> = view
                .granted()
                .filter_map(|id| view.ask(id))
                .filter(|victim| matches!(victim.doing(), Doing::Running | Doing::Starting))
                .filter(|victim| victim.spec().qos != Qos::Guaranteed)
                .map(|victim| {
                    let (id, spec) = (victim.id(), victim.spec());
                    let key = pipeline.order.key(&view, id, draft.now());
                    let mut kinds: Vec<KindId> =
                        victim.grants().iter().map(|grant| view.kind_of(grant.device)).collect();
                    kinds.sort_unstable();
                    kinds.dedup();
                    let this = Weakest { claim: (spec.qos, spec.priority), level: key.level };
                    for kind in &kinds {
                        weakest.resize(weakest.len().max(kind.index() + 1), None);
                        let known = &mut weakest[kind.index()];
                        *known = Some(known.map_or(this, |known| known.and(this)));
                    }
                    let rank = (spec.qos, Reverse(key.level), spec.priority);
                    let order = (rank, Reverse(victim.granted_at()), Reverse(id));
                    (order, Victim { id, key, rank, loss: loss(&victim, draft.now()), kinds })
                })
                .collect();
            victims.sort_unstable_by_key(|(order, _)| *order);
            Found { all: victims.into_iter().map(|(_, victim)| victim).collect(), weakest }
        })
    }
}

impl Found {
    /// The weakest of those who hold some of these kinds, if anybody does.
    fn weakest_of(&self, kinds: impl Iterator<Item = KindId>) -> Option<Weakest> {
        kinds.filter_map(|kind| *self.weakest.get(kind.index())?).reduce(Weakest::and)
    }
}

/// Of so many victims each is tried to be spared: every try looks for room once more.
pub(super) const SPARED: usize = 64;

/// Who takes back, and what it needs.
pub(super) struct Claimant<'a> {
    pub ask: AskView<'a>,
    pub key: Key,
    /// Members of each role at its least width.
    pub least: Vec<u32>,
    pub needs: Vec<(KindId, u64)>,
}

/// Who is stopped, and what is then started.
struct Bargain {
    taken: Vec<(AskId, StopCause)>,
    placement: Placement,
}

impl Pipeline {
    /// Starts an ask on what those with a worse claim give back. Whether it did.
    pub(super) fn take_back(
        &self,
        draft: &mut Draft<'_>,
        ask: &AskView<'_>,
        key: Key,
        victims: &mut Victims,
    ) -> bool {
        let needs = draft.least_needs(ask);
        let is_featured = ask.class().is_featured();
        let is_hosted = ask.class().shapes().any(|shape| !shape.host.is_none());
        let is_near = |draft: &Draft<'_>, victim: AskId| {
            let held = draft.view().ask(victim).map_or(&[][..], |victim| victim.grants());
            held.iter().any(|grant| draft.could_use(ask, grant.device) || (is_hosted && grant.is_of_host()))
        };
        let victims = victims.of(self, draft);
        let kinds = needs.iter().map(|(kind, _)| *kind).chain(draft.pool_kinds().filter(|_| is_hosted));
        let Some(weakest) = victims.weakest_of(kinds) else { return false };
        if !self.reclaim.iter().any(|rule| rule.could_take(draft, (ask.id(), key), &weakest)) {
            return false;
        }
        let is_useful = |draft: &Draft<'_>, victim: &&Victim| {
            let has_some = |kind: &KindId| victim.kinds.contains(kind);
            (needs.iter().any(|(kind, _)| has_some(kind))
                || (is_hosted && draft.pool_kinds().any(|pool| has_some(&pool))))
                && !draft.stops(victim.id)
                && (!is_featured || is_near(draft, victim.id))
        };
        let mut useful: Vec<&Victim> = victims.all.iter().filter(|victim| is_useful(draft, victim)).collect();
        let least = ask.class().least();
        let claimant = Claimant { ask: *ask, key, least, needs };
        let Some(mut bargain) = self.bargain(draft, &claimant, &useful) else { return false };
        if self.reclaim.iter().all(|rule| rule.minds_loss()) {
            useful.sort_by_key(|victim| (victim.rank, victim.loss));
            let loss = |bargain: &Bargain| {
                let taken =
                    useful.iter().filter(|victim| bargain.taken.iter().any(|(taken, _)| *taken == victim.id));
                taken.map(|victim| victim.loss).sum::<i128>()
            };
            let other = self.bargain(draft, &claimant, &useful);
            bargain = other.filter(|other| loss(other) < loss(&bargain)).unwrap_or(bargain);
        }
        let begin = draft.mark();
        stop_all(draft, &bargain.taken);
        let started = draft.start(ask.id(), bargain.placement).is_ok();
        if !started {
            draft.back_to(begin);
        }
        started
    }

    /// Stops victims in this order until the claimant fits, and then spares all who can be spared. Leaves the draft as it was.
    fn bargain(
        &self,
        draft: &mut Draft<'_>,
        claimant: &Claimant<'_>,
        victims: &[&Victim],
    ) -> Option<Bargain> {
        let begin = draft.mark();
        let mut taken: Vec<(AskId, StopCause)> = vec![];
        let mut placement = None;
        let mut left = victims.to_vec();
        // A rule that looks at what is free may say yes once others have been stopped.
        loop {
            let (before, mut skipped) = (taken.len(), vec![]);
            for victim in left {
                let claim = self.may_take(draft, (claimant.ask.id(), claimant.key), (victim.id, victim.key));
                let cause = StopCause::Preempted { by: claimant.ask.id(), claim };
                if claim.is_none() || draft.stop(victim.id, cause).is_err() {
                    skipped.push(victim);
                    continue;
                }
                taken.push((victim.id, cause));
                if could_fit(draft, claimant) {
                    placement = self.room(draft, claimant);
                }
                if placement.is_some() {
                    break;
                }
            }
            if placement.is_some() || taken.len() == before {
                break;
            }
            left = skipped;
        }
        draft.back_to(begin);
        let mut placement = placement?;
        // Whoever holds nothing of what it gets is spared, unless the tenant would then be above its ceiling.
        let holds_some = |(victim, _): &(AskId, StopCause)| {
            let grants = draft.view().ask(*victim).map_or(&[][..], |victim| victim.grants());
            grants.iter().any(|held| placement.grants.iter().any(|grant| grant.device == held.device))
        };
        let holders: Vec<_> = taken.iter().copied().filter(holds_some).collect();
        stop_all(draft, &holders);
        if can_start(draft, claimant, &placement) {
            taken = holders;
        }
        draft.back_to(begin);
        // So is everybody without whom it fits as well, the last in the order first.
        for spared in taken.clone().into_iter().rev().take(SPARED) {
            let rest: Vec<_> = taken.iter().copied().filter(|&victim| victim != spared).collect();
            stop_all(draft, &rest);
            if let Some(found) = self.room(draft, claimant) {
                (placement, taken) = (found, rest);
            }
            draft.back_to(begin);
        }
        Some(Bargain { taken, placement })
    }

    pub(super) fn room(&self, draft: &mut Draft<'_>, claimant: &Claimant<'_>) -> Option<Placement> {
        let found = draft.find_room(self.place.as_ref(), &claimant.ask, &claimant.least)?;
        can_start(draft, claimant, &found).then_some(found)
    }

    /// By the first rule that allows it.
    pub(super) fn may_take(
        &self,
        draft: &Draft<'_>,
        claimant: (AskId, Key),
        victim: (AskId, Key),
    ) -> Option<Claim> {
        self.reclaim.iter().find_map(|rule| rule.may_take(draft, claimant, victim))
    }
}

/// Whether enough whole devices are free to make a closer look worth while. Shares and several roles are always looked
/// at: counting says little about them.
pub(super) fn could_fit(draft: &Draft<'_>, claimant: &Claimant<'_>) -> bool {
    let is_plain = claimant.ask.class().is_plain();
    let enough =
        |&(kind, share): &(KindId, u64)| u64::from(draft.free().total(kind)) * u64::from(WHOLE) >= share;
    !is_plain || claimant.needs.iter().any(enough)
}

/// Whether the draft would let it start there. Leaves the draft as it was.
fn can_start(draft: &mut Draft<'_>, claimant: &Claimant<'_>, placement: &Placement) -> bool {
    let begin = draft.mark();
    let is_started = draft.start(claimant.ask.id(), placement.clone()).is_ok();
    draft.back_to(begin);
    is_started
}

fn stop_all(draft: &mut Draft<'_>, victims: &[(AskId, StopCause)]) {
    for &(victim, cause) in victims {
        let stopped = draft.stop(victim, cause);
        assert_eq!(stopped, Ok(()), "it was stopped a moment ago");
    }
}
