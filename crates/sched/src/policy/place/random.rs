//! Random: any node that has room, all of them equally likely. A baseline, so that others have something to beat.
//!
//! The dice are a digest of a seed, of the decision and of the node: the same state gives the same plan on any machine.
//! Looks at every node. Does badly by design.

use super::{Need, Place};
use crate::state::cluster::Level;
use consort_types::{Digest, Grant, NodeId, WHOLE};
use std::hash::Hasher;

/// Any node that has room.
pub struct Random {
    /// Another seed gives other dice.
    pub seed: u64,
}

impl Random {
    fn throw(&self, need: &Need<'_>, about: u32) -> i64 {
        let mut digest = Digest::seeded(self.seed);
        digest.write_u64(need.salt);
        digest.write_u32(about);
        (digest.finish() >> 1) as i64
    }

    /// Nodes with room for a member, in the order of the dice.
    fn nodes(&self, need: &Need<'_>, among: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
        let mut nodes: Vec<_> =
            among.filter(|&node| need.has_room(node)).map(|node| (self.throw(need, node.0), node)).collect();
        nodes.sort_unstable();
        nodes.into_iter().map(|(_, node)| node).collect()
    }

    fn lone(&self, need: &Need<'_>) -> Option<NodeId> {
        let nodes = need.nodes().filter(|&node| need.has_room(node));
        nodes.min_by_key(|node| self.throw(need, node.0))
    }
}

impl Place for Random {
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        if need.free() < need.total() {
            return None;
        }
        let mut grants = Vec::with_capacity(need.total() as usize);
        if need.count == 1 && need.within.is_none() {
            need.take(self.lone(need)?, 1, &mut grants);
            return Some(grants);
        }
        match need.within {
            Some(Level::Node | Level::Island) => need.on_one_node(),
            Some(Level::Domain(level)) => {
                let mut domains = need.domains(level);
                domains.sort_by_key(|&domain| self.throw(need, u32::MAX - domain));
                domains.into_iter().find_map(|domain| {
                    let inside = need.cluster.domains[domain as usize].nodes.iter().copied();
                    fill(need, self.nodes(need, inside.filter(|&node| need.is_admitted(node))))
                })
            }
            None => fill(need, self.nodes(need, need.nodes())),
        }
    }

    fn part(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        let mut grants = vec![];
        if need.count == 1 {
            let node = self.lone(need)?;
            let (device, _) = need.parts(node).min_by_key(|(id, _)| self.throw(need, u32::MAX - id.0))?;
            need.grant(node, &[device], &mut grants);
            return Some(grants);
        }
        let mut left = need.count;
        for node in self.nodes(need, need.nodes()) {
            let here = need.parts(node).take(need.hosted_on(node).min(left) as usize);
            for (device, _) in here {
                need.grant(node, &[device], &mut grants);
                left -= 1;
            }
            if left == 0 {
                return Some(grants);
            }
        }
        None
    }

    fn seat(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        let (mut grants, mut left) = (vec![], need.count);
        for node in self.nodes(need, need.nodes()) {
            let members = need.hosted_on(node).min(left);
            (0..members).for_each(|_| need.grant(node, &[], &mut grants));
            left -= members;
            if left == 0 {
                return Some(grants);
            }
        }
        None
    }

    fn cost(&self, need: &Need<'_>, grants: &[Grant]) -> Option<i64> {
        Some(self.throw(need, need.node_of(grants.first()?).0))
    }
}

/// Fills nodes in the given order until every member has a place.
fn fill(need: &Need<'_>, nodes: Vec<NodeId>) -> Option<Vec<Grant>> {
    debug_assert!(need.share == WHOLE);
    let (mut grants, mut left) = (Vec::with_capacity(need.total() as usize), need.count);
    for node in nodes {
        let members = need.members_in(need.on_node(node)).min(left);
        need.take(node, members, &mut grants);
        left -= members;
        if left == 0 {
            return Some(grants);
        }
    }
    None
}
