//! Taking back, the same way for every rule: nothing before it is known to help, and no more than is needed.

use super::Pipeline;
use crate::draft::Draft;
use crate::policy::Key;
use crate::policy::reclaim::Weakest;
use crate::view::{AskView, Doing};
use consort_types::*;
use std::cmp::Reverse;

/// Everybody who could be stopped, weakest claim first, and of equal claims the one that has run least, since it loses
/// least. Made once in a pass, when somebody first asks.
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
    /// Kinds it holds something of.
    kinds: Vec<KindId>,
}

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
                    let since = victim.running_since().unwrap_or(draft.now());
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
                    let claim = (spec.qos, Reverse(key.level), spec.priority, Reverse(since), Reverse(id));
                    (claim, Victim { id, key, kinds })
                })
                .collect();
            victims.sort_unstable_by_key(|(claim, _)| *claim);
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
const SPARED: usize = 64;

impl Pipeline {
    /// Starts an ask on what those with a worse claim give back. Whether it did.
    pub(super) fn take_back(
        &self,
        draft: &mut Draft<'_>,
        ask: &AskView<'_>,
        key: Key,
        victims: &mut Victims,
    ) -> bool {
        let least = self.size.counts(ask.class(), self.size.steps(ask.class()) - 1);
        let needs = draft.least_needs(ask);
        let is_featured = ask.class().is_featured();
        let is_hosted = ask.class().shapes().any(|shape| !shape.host.is_none());
        let is_near = |draft: &Draft<'_>, victim: AskId| {
            let held = draft.view().ask(victim).map_or(&[][..], |victim| victim.grants());
            held.iter().any(|grant| draft.could_use(ask, grant.device) || (is_hosted && grant.is_of_host()))
        };
        let victims = victims.of(self, draft);
        let kinds = needs.iter().map(|(kind, _)| *kind).chain(draft.pools().filter(|_| is_hosted));
        let Some(weakest) = victims.weakest_of(kinds) else { return false };
        if !self.reclaim.iter().any(|rule| rule.could_take(draft, (ask.id(), key), &weakest)) {
            return false;
        }
        let begin = draft.mark();
        let mut taken: Vec<(AskId, StopCause)> = vec![];
        let mut placement = None;
        let is_useful = |draft: &Draft<'_>, victim: &&Victim| {
            let has_some = |kind: &KindId| victim.kinds.contains(kind);
            (needs.iter().any(|(kind, _)| has_some(kind))
                || (is_hosted && draft.pools().is_some_and(|pools| has_some(&pools))))
                && !draft.stops(victim.id)
                && (!is_featured || is_near(draft, victim.id))
        };
        let mut left: Vec<&Victim> = victims.all.iter().filter(|victim| is_useful(draft, victim)).collect();
        // A rule that looks at what is free may say yes once others have been stopped.
        loop {
            let (before, mut skipped) = (taken.len(), vec![]);
            for victim in left {
                let claim = self.may_take(draft, (ask.id(), key), (victim.id, victim.key));
                let cause = StopCause::Preempted { by: ask.id(), claim };
                if claim.is_none() || draft.stop(victim.id, cause).is_err() {
                    skipped.push(victim);
                    continue;
                }
                taken.push((victim.id, cause));
                if could_fit(draft, ask, &needs) {
                    placement = draft.find_room(self.place.as_ref(), ask, &least);
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
        let Some(found) = &placement else { return false };
        // Whoever holds nothing of what it gets is spared.
        taken.retain(|&(victim, _)| {
            let grants = draft.view().ask(victim).map_or(&[][..], |victim| victim.grants());
            grants.iter().any(|held| found.grants.iter().any(|grant| grant.device == held.device))
        });
        // So is everybody without whom it fits as well, those with the better claim first.
        for spared in taken.clone().into_iter().rev().take(SPARED) {
            let rest: Vec<_> = taken.iter().copied().filter(|&victim| victim != spared).collect();
            stop_all(draft, &rest);
            if let Some(found) = draft.find_room(self.place.as_ref(), ask, &least) {
                (placement, taken) = (Some(found), rest);
            }
            draft.back_to(begin);
        }
        stop_all(draft, &taken);
        let placement = placement.expect("just found");
        let started = draft.start(ask.id(), placement).is_ok();
        if !started {
            draft.back_to(begin);
        }
        started
    }

    /// By the first rule that allows it.
    fn may_take(&self, draft: &Draft<'_>, claimant: (AskId, Key), victim: (AskId, Key)) -> Option<Claim> {
        self.reclaim.iter().find_map(|rule| rule.may_take(draft, claimant, victim))
    }
}

/// Whether enough whole devices are free to make a closer look worth while. Shares and several roles are always looked
/// at: counting says little about them.
fn could_fit(draft: &Draft<'_>, ask: &AskView<'_>, needs: &[(KindId, u64)]) -> bool {
    let is_plain = ask.class().is_plain();
    let enough =
        |&(kind, share): &(KindId, u64)| u64::from(draft.free().total(kind)) * u64::from(WHOLE) >= share;
    !is_plain || needs.iter().any(enough)
}

fn stop_all(draft: &mut Draft<'_>, victims: &[(AskId, StopCause)]) {
    for &(victim, cause) in victims {
        let stopped = draft.stop(victim, cause);
        assert_eq!(stopped, Ok(()), "it was stopped a moment ago");
    }
}
