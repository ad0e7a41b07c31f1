//! Consolidated: the whole gang in in the smallest domain that has room, on as few nodes as possible.
//!
//! One node if possible (the tightest one), else the innermost level with a domain that has room (the tightest
//! domain), else anywhere. Inside a domain the emptiest nodes are taken first and the rest goes to the tightest
//! node that still holds it. Does badly when many small jobs arrive after a wide one: it spends the empty nodes
//! that the next wide one would need.

use super::{Need, Place};
use crate::state::cluster::Level;
use consort_types::{Grant, NodeId};

/// As close together as possible.
pub struct Consolidated;

impl Place for Consolidated {
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        if need.free() < need.total() {
            return None;
        }
        if let Some(grants) = need.on_one_node() {
            return Some(grants);
        }
        let outermost = match need.within {
            Some(Level::Node | Level::Island) => return None,
            Some(Level::Domain(level)) => level,
            None => 0,
        };
        for level in (outermost..need.cluster.settings.levels.len() as u8).rev() {
            for domain in need.domains(level) {
                let nodes = need.cluster.domains[domain as usize].nodes.iter().copied();
                if let Some(grants) =
                    fewest_nodes(need, nodes.map(|node| (need.on_node(node), node)).collect())
                {
                    return Some(grants);
                }
            }
        }
        if need.within.is_some() {
            return None;
        }
        let sizes = (need.devices..=need.most()).rev();
        let nodes = sizes.flat_map(|free| need.nodes_with(free)).map(|node| (need.on_node(node), node));
        let nodes = nodes.filter(|&(free, _)| free >= need.devices);
        // As many nodes as could matter: each takes at least one member.
        fewest_nodes(need, nodes.take(need.count as usize).chain(tightest_for_rest(need)).collect())
    }
}

/// Nodes that could hold any remainder tightly: one for each size of remainder.
fn tightest_for_rest<'a>(need: &'a Need<'_>) -> impl Iterator<Item = (u32, NodeId)> + 'a {
    (1..=need.members_in(need.most())).filter_map(|members| {
        let node = need.tightest(members * need.devices)?;
        Some((need.on_node(node), node))
    })
}

/// Emptiest nodes first; the last one is the tightest that holds what is left.
fn fewest_nodes(need: &Need<'_>, mut nodes: Vec<(u32, NodeId)>) -> Option<Vec<Grant>> {
    nodes.sort_unstable_by_key(|&(free, node)| (std::cmp::Reverse(free), node));
    nodes.dedup();
    let mut grants = Vec::with_capacity(need.total() as usize);
    let mut left = need.count;
    for (index, &(free, node)) in nodes.iter().enumerate() {
        let members = need.members_in(free);
        if members < left {
            need.take(node, members, &mut grants);
            left -= members;
            continue;
        }
        let fitting = nodes[index..].iter().take_while(|&&(free, _)| need.members_in(free) >= left);
        let &(_, last) = fitting.min_by_key(|&&(free, node)| (free, node))?;
        need.take(last, left, &mut grants);
        return Some(grants);
    }
    None
}

impl Need<'_> {
    /// Domains of a level that may have room, tightest first, lowest id on ties.
    pub(super) fn domains(&self, level: u8) -> Vec<u32> {
        let all = 0..self.cluster.domains.len() as u32;
        let mut fitting: Vec<(u32, u32)> = all
            .filter(|&domain| self.cluster.domains[domain as usize].level == level)
            .map(|domain| (self.in_domain(domain), domain))
            .filter(|&(free, _)| free >= self.total())
            .collect();
        fitting.sort_unstable();
        fitting.into_iter().map(|(_, domain)| domain).collect()
    }
}
