//! Looks for room for a whole request: role by role, each on the first shape and kind that has it.
//!
//! If a later role then finds none, an earlier one tries its next shape or kind: what the roles share must not depend
//! on who asked first. The search counts its steps, so that a request with many roles and kinds cannot stall a plan.

use super::Draft;
use crate::class::{Class, ClassRole, ClassShape};
use crate::free::Free;
use crate::policy::place::{About, Consolidated};
use crate::policy::{Need, Place};
use crate::state::cluster::{Cluster, Level};
use crate::view::AskView;
use consort_types::*;
use std::collections::BTreeMap;

/// Shapes and kinds tried for one request, over all roles.
pub(crate) const TRIES: u32 = 256;

struct Search<'s> {
    place: &'s dyn Place,
    class: &'s Class,
    counts: &'s [u32],
    /// Whose account is charged; nobody's where it is asked for all asks of a class.
    tenant: Option<TenantId>,
    ask: Option<AskView<'s>>,
    /// What the roles before this one take, kind by kind: together they must stay below the ceiling.
    taken: BTreeMap<KindId, u64>,
    tries: u32,
}

impl Draft<'_> {
    /// Room for an ask with every role at the given width. Writes nothing.
    pub fn find_room(&mut self, place: &dyn Place, ask: &AskView<'_>, counts: &[u32]) -> Option<Placement> {
        self.room_of((place, ask.class(), counts), Some(ask.tenant()), Some(*ask))
    }

    /// The same for any class, on the account of a tenant or on no account.
    pub(crate) fn room_for(
        &mut self,
        place: &dyn Place,
        class: &Class,
        counts: &[u32],
        tenant: Option<TenantId>,
    ) -> Option<Placement> {
        self.room_of((place, class, counts), tenant, None)
    }

    /// An opinion can place the first roles in the way of the last. Then the consolidated one, by which `accept` judged
    /// that the job could ever run, has the second word: else an accepted job might wait for ever in an empty cluster.
    fn room_of(
        &mut self,
        (place, class, counts): (&dyn Place, &Class, &[u32]),
        tenant: Option<TenantId>,
        ask: Option<AskView<'_>>,
    ) -> Option<Placement> {
        let search = Search { place, class, counts, tenant, ask, taken: BTreeMap::new(), tries: TRIES };
        if class.roles.len() == 1 {
            return self.search(search);
        }
        let second = Search { place: &Consolidated, taken: BTreeMap::new(), ..search };
        self.search(search).or_else(|| self.search(second))
    }

    fn search(&mut self, mut search: Search<'_>) -> Option<Placement> {
        let mark = self.mark();
        let mut placement = Placement::default();
        let found = self.fill_roles(&mut search, &mut placement);
        self.back_to(mark);
        found.then_some(placement)
    }

    /// Fills the roles that `placement` does not fill yet.
    fn fill_roles(&mut self, search: &mut Search<'_>, placement: &mut Placement) -> bool {
        let role = &search.class.roles[placement.fills.len()];
        let mut weighed: Vec<Weighed> = vec![];
        for way in ways(role, &self.state.cluster) {
            if search.tries == 0 {
                break;
            }
            // With one role there is nothing to come back to, and every way is tried once.
            search.tries -= u32::from(search.class.roles.len() > 1);
            let count = search.counts[placement.fills.len()];
            let Some((grants, cost)) = self.room_on(search, role, &way, count) else { continue };
            if let Some(cost) = cost {
                weighed.push(((way.is_second, cost), way, grants));
            } else if self.take_cheapest(search, placement, &mut weighed)
                || self.take_way(search, placement, &way, grants)
            {
                return true;
            }
        }
        self.take_cheapest(search, placement, &mut weighed)
    }

    /// Fills the next role in one of these ways: as close as preferred first, and then what costs least.
    fn take_cheapest(
        &mut self,
        search: &mut Search<'_>,
        placement: &mut Placement,
        weighed: &mut Vec<Weighed>,
    ) -> bool {
        weighed.sort_by_key(|(weight, ..)| *weight);
        weighed.drain(..).any(|(_, way, grants)| self.take_way(search, placement, &way, grants))
    }

    /// Fills the next role this way, and the roles behind it somehow.
    fn take_way(
        &mut self,
        search: &mut Search<'_>,
        placement: &mut Placement,
        way: &Way,
        grants: Vec<Grant>,
    ) -> bool {
        let count = search.counts[placement.fills.len()];
        placement.fills.push(Fill { shape: way.shape as u8, count });
        if placement.fills.len() == search.class.roles.len() {
            placement.grants.extend(grants);
            return true;
        }
        let (mark, before) = (self.mark(), placement.grants.len());
        let share: u64 = grants.iter().map(|grant| u64::from(grant.share)).sum();
        let role = &search.class.roles[placement.fills.len() - 1];
        let counts_hosts = self.capabilities.counts_hosts;
        let asked = role.shapes[way.shape].asked_of_pools(&self.state.cluster, way.kind, count, counts_hosts);
        let taken: Vec<(KindId, u64)> = asked.chain([(way.kind, share)]).collect();
        let before_this = search.taken.clone();
        let is_free = grants.iter().all(|grant| self.try_take(grant));
        assert!(is_free, "place opinions choose from what is free");
        placement.grants.extend(grants);
        for (kind, amount) in taken {
            let sum = search.taken.entry(kind).or_default();
            *sum = sum.saturating_add(amount);
        }
        if self.fill_roles(search, placement) {
            return true;
        }
        search.taken = before_this;
        placement.grants.truncate(before);
        placement.fills.pop();
        self.back_to(mark);
        false
    }

    /// Whether what `count` members ask for of hosts keeps the tenant below its ceilings, were there room for it.
    fn hosts_below_ceiling(&self, search: &Search<'_>, shape: &ClassShape, kind: KindId, count: u32) -> bool {
        let Some(tenant) = search.tenant else { return true };
        let counts_hosts = self.capabilities.counts_hosts;
        shape.asked_of_pools(&self.state.cluster, kind, count, counts_hosts).all(|(pool, asked)| {
            let leaving = self.accounts.get(&(tenant, pool)).map_or(0, |change| change.1);
            let asked_before = search.taken.get(&pool).copied().unwrap_or(0);
            asked == 0 || self.below_ceiling(tenant, pool, asked.saturating_add(asked_before), leaving)
        })
    }

    /// Room for one role, and what the opinion says it costs.
    fn room_on(
        &self,
        search: &Search<'_>,
        role: &ClassRole,
        way: &Way,
        count: u32,
    ) -> Option<(Vec<Grant>, Option<i64>)> {
        let (cluster, kind, within) = (&self.state.cluster, way.kind, way.within);
        let shape = &role.shapes[way.shape];
        if !shape.suits(cluster, kind) {
            return None;
        }
        if within == Some(Level::Island) && self.capabilities.grain == Grain::Node {
            return None; // `accept` refuses these; one may be left from a world that could
        }
        let before = search.taken.get(&kind).copied().unwrap_or(0);
        let share = before + u64::from(count) * u64::from(shape.devices) * u64::from(shape.share);
        let leaving = |tenant| self.accounts.get(&(tenant, kind)).map_or(0, |change| change.1);
        let is_above = |tenant| share > 0 && !self.below_ceiling(tenant, kind, share, leaving(tenant));
        if search.tenant.is_some_and(is_above) {
            return None;
        }
        if !self.hosts_below_ceiling(search, shape, kind, count) {
            return None;
        }
        let least = u64::from(role.count.min) * u64::from(shape.devices) * u64::from(shape.share);
        let is_promised = |tenant| least == 0 || self.is_promised(tenant, kind, before + least);
        if self.within_guarantees && !search.tenant.is_some_and(is_promised) {
            return None;
        }
        let mut need = shape.need(cluster, self.free, kind, count, within);
        need.about = Some(About { view: self.view(), now: self.now, ask: search.ask });
        need.counts_hosts = self.capabilities.counts_hosts;
        // What opinions that throw dice may throw: the same in the same state, and another for each decision.
        need.salt = self.state.seen.wrapping_mul(1 << 20) + self.moves.len() as u64;
        let grants = need.placed_by(search.place)?;
        let cost = search.place.cost(&need, &grants);
        Some((grants, cost))
    }
}

/// One way to fill a role: which of its shapes, on which kind, how close together.
struct Way {
    shape: usize,
    kind: KindId,
    within: Option<Level>,
    /// Something closer was preferred.
    is_second: bool,
}

/// What a way costs, the way, and what it takes.
type Weighed = ((bool, i64), Way, Vec<Grant>);

/// All of them, the most wanted first: shape by shape, and for each on all kinds as close as preferred before as close as
/// must be.
fn ways(role: &ClassRole, cluster: &Cluster) -> impl Iterator<Item = Way> {
    role.shapes.iter().enumerate().flat_map(move |(index, shape)| {
        let preferred = shape.prefer.filter(|&level| Some(level) > shape.within);
        let levels = preferred.map(Some).into_iter().chain([shape.within]);
        levels.flat_map(move |within| {
            let is_second = preferred.is_some() && within == shape.within;
            shape.kinds(cluster).map(move |kind| Way { shape: index, kind, within, is_second })
        })
    })
}

impl ClassShape {
    /// So many members of this shape, on one kind.
    pub(crate) fn need<'a>(
        &self,
        cluster: &'a Cluster,
        free: &'a Free,
        kind: KindId,
        count: u32,
        within: Option<Level>,
    ) -> Need<'a> {
        Need {
            cluster,
            free,
            only: free.nodes_having(&self.features),
            kind,
            count,
            devices: self.devices,
            share: self.share,
            memory_bytes: self.memory_on(cluster, kind),
            host: self.host,
            counts_hosts: false,
            within,
            about: None,
            salt: 0,
        }
    }
}
