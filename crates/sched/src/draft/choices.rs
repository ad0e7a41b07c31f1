//! What an ask could take at its least, role by role: the choices that it leaves open.

use super::Draft;
use crate::view::AskView;
use consort_types::KindId;
use std::collections::BTreeMap;

/// One shape of a role on one kind.
pub(crate) struct Choice {
    pub kind: KindId,
    /// Thousandths of a device of that kind, for the role at its least width.
    pub share: u64,
    /// What it asks for of hosts beside them, by the kinds of the pools.
    hosts: Vec<(KindId, u64)>,
}

impl Choice {
    /// Everything it takes, the devices first.
    pub fn needs(&self) -> impl Iterator<Item = (KindId, u64)> + '_ {
        std::iter::once((self.kind, self.share)).chain(self.hosts.iter().copied())
    }
}

impl Draft<'_> {
    /// For each role of an ask, what it could take at its least width, hosts included. Only looked at for tenants with
    /// ceilings; [`needs_by_role`](Self::needs_by_role) is for every ask.
    pub(crate) fn choices(&self, ask: &AskView<'_>) -> Vec<Vec<Choice>> {
        let cluster = &self.state.cluster;
        let roles = ask.class().roles.iter().map(|role| {
            let shapes = role.shapes.iter().flat_map(|shape| {
                let share = u64::from(role.count.min) * u64::from(shape.devices) * u64::from(shape.share);
                let kinds = shape.kinds(cluster).filter(|&kind| shape.suits(cluster, kind));
                let counts_hosts = self.capabilities.counts_hosts;
                let hosts =
                    move |kind| shape.asked_of_pools(cluster, kind, role.count.min, counts_hosts).collect();
                kinds.map(move |kind| Choice { kind, share, hosts: hosts(kind) })
            });
            shapes.collect()
        });
        roles.collect()
    }

    /// For each role of an ask, the least it could take of each kind it accepts, in thousandths of a device.
    pub fn needs_by_role(&self, ask: &AskView<'_>) -> Vec<Vec<(KindId, u64)>> {
        let cluster = &self.state.cluster;
        let roles = ask.class().roles.iter().map(|role| {
            let shapes = role.shapes.iter().flat_map(|shape| {
                let share = u64::from(role.count.min) * u64::from(shape.devices) * u64::from(shape.share);
                let kinds = shape.kinds(cluster).filter(|&kind| shape.suits(cluster, kind));
                kinds.map(move |kind| (kind, share))
            });
            shapes.collect()
        });
        roles.collect()
    }

    /// The same without regard to roles.
    pub fn least_needs(&self, ask: &AskView<'_>) -> Vec<(KindId, u64)> {
        self.needs_by_role(ask).into_iter().flatten().collect()
    }

    /// What an ask takes of each kind if all roles that accept it take it, at their least widths.
    pub fn most_needs(&self, ask: &AskView<'_>) -> BTreeMap<KindId, u64> {
        let mut needs = BTreeMap::new();
        for role in self.needs_by_role(ask) {
            let mut most: BTreeMap<KindId, u64> = BTreeMap::new();
            for (kind, share) in role {
                let already = most.entry(kind).or_default();
                *already = share.max(*already);
            }
            for (kind, share) in most {
                *needs.entry(kind).or_default() += share;
            }
        }
        needs
    }
}
