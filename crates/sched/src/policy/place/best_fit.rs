//! Best fit: every member goes to the node with the fewest free devices that still holds it.
//!
//! Keeps large holes large. Does badly for gangs that talk a lot: it scatters them over the fragments of the
//! cluster, because fragments are what it wants to use up.

use super::{Need, Place};
use crate::state::cluster::Level;
use consort_types::Grant;

/// The tightest node for each member.
pub struct BestFit;

impl Place for BestFit {
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        if need.free() < need.total() {
            return None;
        }
        if need.count == 1 || matches!(need.within, Some(Level::Node | Level::Island)) {
            return need.on_one_node();
        }
        match need.within {
            Some(Level::Domain(level)) => need.domains(level).into_iter().find_map(|domain| {
                let nodes = need.cluster.domains[domain as usize].nodes.iter().copied();
                let mut nodes: Vec<_> = nodes.map(|node| (need.on_node(node), node)).collect();
                nodes.sort_unstable();
                fill(need, nodes.into_iter())
            }),
            _ => {
                let sizes = need.devices..=need.most();
                let nodes = sizes.flat_map(|free| need.nodes_with(free));
                fill(need, nodes.map(|node| (need.on_node(node), node)))
            }
        }
    }
}

/// Fills nodes in the given order, tightest first, until every member has a place.
fn fill(need: &Need<'_>, nodes: impl Iterator<Item = (u32, consort_types::NodeId)>) -> Option<Vec<Grant>> {
    let mut grants = Vec::with_capacity(need.total() as usize);
    let mut left = need.count;
    for (free, node) in nodes {
        let members = need.members_in(free).min(left);
        need.take(node, members, &mut grants);
        left -= members;
        if left == 0 {
            return Some(grants);
        }
    }
    None
}
