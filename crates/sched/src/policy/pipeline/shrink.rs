//! Elastic gangs give way before anything is preempted.
//!
//! An ask that finds no room is given what running gangs have beyond their least width, if its claim is at least as good
//! as theirs: it is in a queue of the same or higher priority, of the same or a better quality of service and priority, and
//! its level in the order is no worse; or a rule would let it preempt them. Those with the weakest claims give first, each no more
//! than is needed, and tenants keep their guarantees. If that is not enough, others are preempted as well, and if it still
//! is not, they are preempted alone.
//!
//! Where a gang has to be restarted for that, it gives to those who may not preempt it only what resizes have brought it: a
//! gang that was never resized keeps the width that it started with, and one that was is left alone for [`SETTLED`].
//! Otherwise jobs of equal claims would restart each other. Members leave from the end of their role.
//! Simplified: nobody asks which members could best be spared, so a claimant that needs a whole node may be helped late.

use super::grow::SETTLED;
use super::take_back::{Claimant, SPARED, Victims, could_fit};
use super::{Key, Pipeline};
use crate::draft::Draft;
use crate::view::AskView;
use consort_types::*;
use std::cmp::Reverse;

/// A gang that can be narrower.
struct Wide {
    id: AskId,
    /// By how many members, at most: all roles together, each down to its least.
    most: u32,
    /// Whether it belongs to the tenant for whom it gives way.
    is_own: bool,
}

impl Pipeline {
    /// Starts an ask for which there is no room on what others give up. Whether it did.
    pub(super) fn make_room(
        &self,
        draft: &mut Draft<'_>,
        ask: &AskView<'_>,
        key: Key,
        victims: &mut Victims,
    ) -> bool {
        let takes_back = self.takes_back(draft);
        let wide = self.wide(draft, ask, key);
        if wide.is_empty() {
            return takes_back && self.take_back(draft, ask, key, victims);
        }
        self.start_on_less(draft, ask, key, &wide)
            || takes_back
                && (self.start_on_both(draft, ask, (key, &wide), victims)
                    || self.take_back(draft, ask, key, victims))
    }

    /// Whether some gang is wider than it must be, in a world where it could be narrower.
    pub(super) fn could_shrink(&self, draft: &Draft<'_>) -> bool {
        let view = draft.view();
        draft.capabilities().resize != Resize::No && view.elastic().next().is_some()
    }

    /// Gangs that must give way to an ask, weakest claim first, and of equal claims the one that came last.
    fn wide(&self, draft: &mut Draft<'_>, ask: &AskView<'_>, key: Key) -> Vec<Wide> {
        if draft.capabilities().resize == Resize::No {
            return vec![];
        }
        let view = draft.view();
        let mut wide = vec![];
        for other in view.elastic().filter_map(|id| view.ask(id)) {
            let roles = other.class().roles.iter().zip(other.fills());
            let most = roles.map(|(role, fill)| fill.count.saturating_sub(role.count.min)).max().unwrap_or(0);
            let is_near = || other.grants().iter().any(|grant| draft.could_use(ask, grant.device));
            if most == 0 || other.spec().qos == Qos::Guaranteed || !is_near() {
                continue;
            }
            if other.running_since().is_some() && other.resize_after() > draft.now() {
                draft.wake_at(other.resize_after());
            }
            let other_key = self.order.key(&view, other.id(), draft.now());
            if draft.may_resize(&other) && self.gives_way(draft, (&other, other_key), (ask, key)) {
                let rank = (other.spec().qos, Reverse(other_key.level), other.spec().priority);
                let order = (rank, Reverse(other.granted_at()), Reverse(other.id()));
                let is_own = other.tenant() == ask.tenant();
                wide.push((order, Wide { id: other.id(), most, is_own }));
            }
        }
        wide.sort_unstable_by_key(|(order, _)| *order);
        wide.into_iter().map(|(_, wide)| wide).collect()
    }

    fn gives_way(
        &self,
        draft: &mut Draft<'_>,
        (other, other_key): (&AskView<'_>, Key),
        (ask, key): (&AskView<'_>, Key),
    ) -> bool {
        let queue = |ask: &AskView<'_>| draft.view().queue(ask.queue()).priority;
        let claim = |ask: &AskView<'_>| (ask.spec().qos, ask.spec().priority);
        let is_no_worse =
            queue(ask) >= queue(other) && claim(ask) >= claim(other) && key.level <= other_key.level;
        let is_victim =
            |draft: &Draft<'_>| self.may_take(draft, (ask.id(), key), (other.id(), other_key)).is_some();
        if draft.capabilities().resize == Resize::InPlace {
            return is_no_worse || is_victim(draft);
        }
        if is_victim(draft) {
            return true;
        }
        let Some(settled) = other.resized_at().filter(|_| is_no_worse).map(|at| at + SETTLED) else {
            return false;
        };
        if settled > draft.now() {
            draft.wake_at(settled);
        }
        settled <= draft.now()
    }

    /// Starts an ask on what gangs give up alone, as few of them and as little as will do.
    fn start_on_less(&self, draft: &mut Draft<'_>, ask: &AskView<'_>, key: Key, wide: &[Wide]) -> bool {
        let (least, needs) = (ask.class().least(), draft.least_needs(ask));
        let claimant = Claimant { ask: *ask, key, least, needs };
        let begin = draft.mark();
        let mut cut: Vec<(&Wide, u32)> = vec![];
        let mut fits = false;
        for gang in wide {
            if !shrink(draft, gang, gang.most) {
                continue;
            }
            cut.push((gang, gang.most));
            fits = could_fit(draft, &claimant) && self.room(draft, &claimant).is_some();
            if fits {
                break;
            }
        }
        draft.back_to(begin);
        if !fits {
            return false;
        }
        for position in 0..cut.len().min(SPARED) {
            let (mut low, mut high) = (0, cut[position].1);
            while low < high {
                let middle = low + (high - low) / 2;
                cut[position].1 = middle;
                match self.fits_on(draft, &claimant, &cut) {
                    true => high = middle,
                    false => low = middle + 1,
                }
            }
            cut[position].1 = high;
        }
        let is_cut = cut.iter().all(|&(gang, by)| shrink(draft, gang, by));
        let placement = is_cut.then(|| self.room(draft, &claimant)).flatten();
        let is_started = placement.is_some_and(|placement| draft.start(ask.id(), placement).is_ok());
        if !is_started {
            draft.back_to(begin);
        }
        is_started
    }

    fn fits_on(&self, draft: &mut Draft<'_>, claimant: &Claimant<'_>, cut: &[(&Wide, u32)]) -> bool {
        let begin = draft.mark();
        let is_cut = cut.iter().all(|&(gang, by)| shrink(draft, gang, by));
        let fits = is_cut && self.room(draft, claimant).is_some();
        draft.back_to(begin);
        fits
    }

    /// Preempts for an ask what gangs cannot give up. Those that then give nothing to it keep their width.
    fn start_on_both(
        &self,
        draft: &mut Draft<'_>,
        ask: &AskView<'_>,
        (key, wide): (Key, &[Wide]),
        victims: &mut Victims,
    ) -> bool {
        let (begin, before) = (draft.mark(), draft.moves().len());
        let cut: Vec<&Wide> = wide.iter().filter(|gang| shrink(draft, gang, gang.most)).collect();
        if !self.take_back(draft, ask, key, victims) {
            draft.back_to(begin);
            return false;
        }
        let written = draft.moves()[before..].to_vec();
        let Some(Move::Start { placement, after, .. }) = written.last() else { return true };
        draft.back_to(begin);
        let gives = |gang: &&&Wide| after.iter().any(|giver| giver.ask == gang.id);
        cut.iter().filter(gives).all(|gang| shrink(draft, gang, gang.most));
        let stops = written.iter().filter_map(|change| match change {
            Move::Stop { allocation, cause } => Some((allocation.ask, *cause)),
            _ => None,
        });
        let is_stopped =
            stops.map(|(victim, cause)| draft.stop(victim, cause)).all(|stopped| stopped.is_ok());
        let is_started = is_stopped && draft.start(ask.id(), placement.clone()).is_ok();
        if !is_started {
            draft.back_to(begin);
        }
        is_started
    }
}

/// Makes a gang narrower by so many members, unless its tenant would then have less than its guarantee.
fn shrink(draft: &mut Draft<'_>, gang: &Wide, by: u32) -> bool {
    if by == 0 {
        return true;
    }
    let view = draft.view();
    let Some(ask) = view.ask(gang.id) else { return false };
    let roles = ask.class().roles.iter().zip(ask.fills());
    let counts: Vec<u32> =
        roles.map(|(role, fill)| fill.count.saturating_sub(by).max(role.count.min)).collect();
    let Some(placement) = ask.narrower(&counts) else { return false };
    let mark = draft.mark();
    let is_spare = |draft: &Draft<'_>, grant: &Grant| {
        let kind = view.kind_of(grant.device);
        draft.standing(ask.tenant(), kind) >= view.account(ask.tenant(), kind).guarantee
    };
    let is_shrunk = draft.resize(gang.id, placement).is_ok()
        && (gang.is_own || ask.grants().iter().all(|grant| is_spare(draft, grant)));
    if !is_shrunk {
        draft.back_to(mark);
    }
    is_shrunk
}
