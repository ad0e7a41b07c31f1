//! Members without devices sit where devices are fewest and the least processors are left, so that what they take is
//! missed least. Looks at every node: such members are few where devices are scheduled.

use super::Need;
use consort_types::{Grant, NodeId, Pool};

/// Places for members that want nothing but a part of a host.
pub(super) fn tightest(need: &Need<'_>) -> Option<Vec<Grant>> {
    let mut nodes: Vec<_> = need.seats().map(|(node, room)| (weight(need, node), node, room)).collect();
    nodes.sort_unstable();
    let (mut grants, mut left) = (vec![], need.count);
    for (_, node, room) in nodes {
        let members = room.min(left);
        (0..members).for_each(|_| need.grant(node, &[], &mut grants));
        left -= members;
        if left == 0 {
            return Some(grants);
        }
    }
    None
}

fn weight(need: &Need<'_>, node: NodeId) -> (u32, u64) {
    (need.cluster.nodes[node.index()].count, need.free.host(need.cluster, node).cpu_milli)
}

impl Need<'_> {
    /// Nodes with room for members without devices, and for how many. One that accounts for nothing they want cannot hold
    /// them: there would be nothing to grant.
    pub(crate) fn seats(&self) -> impl Iterator<Item = (NodeId, u32)> + '_ {
        let nodes = self.nodes().filter(|&node| self.is_accounted(node));
        nodes.map(|node| (node, self.hosted_on(node))).filter(|&(_, room)| room > 0)
    }

    pub(super) fn is_accounted(&self, node: NodeId) -> bool {
        let node = &self.cluster.nodes[node.index()];
        Pool::ALL.into_iter().any(|pool| pool.of(&self.host) > 0 && node.pool(pool).is_some())
    }
}
