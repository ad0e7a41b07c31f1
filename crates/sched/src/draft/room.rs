//! Looks for room for a whole request: role by role, each on the first shape and kind that has it.
//!
//! If a later role then finds none, an earlier one tries its next shape or kind: what the roles share must not depend
//! on who asked first. The search counts its steps, so that a request with many roles and kinds cannot stall a plan.

use super::Draft;
use crate::class::{Class, ClassShape};
use crate::policy::place::{Consolidated, share};
use crate::policy::{Need, Place};
use crate::state::cluster::Level;
use crate::view::AskView;
use consort_types::*;
use std::collections::BTreeMap;

/// Shapes and kinds tried for one request, over all roles.
pub(crate) const TRIES: u32 = 256;

struct Search<'s> {
    place: &'s dyn Place,
    class: &'s Class,
    counts: &'s [u32],
    tenant: Option<TenantId>,
    /// What the roles before this one take, kind by kind: together they must stay below the ceiling.
    taken: BTreeMap<KindId, u64>,
    tries: u32,
}

impl Draft<'_> {
    /// Room for an ask with every role at the given width. Writes nothing.
    pub fn find_room(&mut self, place: &dyn Place, ask: &AskView<'_>, counts: &[u32]) -> Option<Placement> {
        self.room_for(place, ask.class(), counts, Some(ask.tenant()))
    }

    /// The same for anything, on somebody's account or on nobody's.
    ///
    /// An opinion can place the first roles in the way of the last. Then the consolidated one, by which `accept` judged
    /// that the job could ever run, has the second word: else an accepted job might wait for ever in an empty cluster.
    pub(crate) fn room_for(
        &mut self,
        place: &dyn Place,
        class: &Class,
        counts: &[u32],
        tenant: Option<TenantId>,
    ) -> Option<Placement> {
        let found = self.search(place, class, counts, tenant);
        if found.is_some() || class.roles.len() == 1 {
            return found;
        }
        self.search(&Consolidated, class, counts, tenant)
    }

    fn search(
        &mut self,
        place: &dyn Place,
        class: &Class,
        counts: &[u32],
        tenant: Option<TenantId>,
    ) -> Option<Placement> {
        let mark = self.mark();
        let mut search = Search { place, class, counts, tenant, taken: BTreeMap::new(), tries: TRIES };
        let mut placement = Placement::default();
        let found = self.fill_roles(&mut search, &mut placement);
        self.back_to(mark);
        found.then_some(placement)
    }

    /// Fills the roles that `placement` does not fill yet.
    fn fill_roles(&mut self, search: &mut Search<'_>, placement: &mut Placement) -> bool {
        let class = search.class;
        let role = placement.fills.len();
        let is_last = role + 1 == class.roles.len();
        for (index, shape) in class.roles[role].shapes.iter().enumerate() {
            for kind in shape.kinds(&self.state.cluster) {
                if search.tries == 0 {
                    return false;
                }
                search.tries -= 1;
                let count = search.counts[role];
                let Some(grants) = self.room_on(search, shape, kind, count) else { continue };
                placement.fills.push(Fill { shape: index as u8, count });
                if is_last {
                    placement.grants.extend(grants);
                    return true;
                }
                let (mark, before) = (self.mark(), placement.grants.len());
                let share: u64 = grants.iter().map(|grant| u64::from(grant.share)).sum();
                let is_free = grants.iter().all(|grant| self.try_take(grant));
                assert!(is_free, "place opinions choose from what is free");
                placement.grants.extend(grants);
                *search.taken.entry(kind).or_default() += share;
                if self.fill_roles(search, placement) {
                    return true;
                }
                *search.taken.entry(kind).or_default() -= share;
                placement.grants.truncate(before);
                placement.fills.pop();
                self.back_to(mark);
            }
        }
        false
    }

    /// Room for one role on one shape and kind.
    fn room_on(
        &self,
        search: &Search<'_>,
        shape: &ClassShape,
        kind: KindId,
        count: u32,
    ) -> Option<Vec<Grant>> {
        let cluster = &self.state.cluster;
        if !shape.suits(cluster, kind) {
            return None;
        }
        let (devices, within) = (shape.devices, shape.within);
        if within == Some(Level::Island) && self.capabilities.grain == Grain::Node {
            return None; // `accept` refuses these; one may be left from a world that could
        }
        let before = search.taken.get(&kind).copied().unwrap_or(0);
        let share = before + u64::from(count) * u64::from(devices) * u64::from(shape.share);
        let leaving = |tenant| self.accounts.get(&(tenant, kind)).map_or(0, |change| change.1);
        if search.tenant.is_some_and(|tenant| !self.below_ceiling(tenant, kind, share, leaving(tenant))) {
            return None;
        }
        let only = self.free.nodes_having(&shape.features);
        let need = Need { cluster, free: self.free, only, kind, count, devices, within };
        match shape.share {
            WHOLE => search.place.place(&need),
            part => share::pack(&need, part, shape.memory_on(cluster, kind)),
        }
    }
}
