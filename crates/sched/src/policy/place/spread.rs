//! Spread: the members of a gang on as many nodes as there are, the emptiest first.
//!
//! For work that is limited by what members of one node share (memory bandwidth, disks, the network card), or that should
//! lose little when one node dies. Shares and seats are still packed. Does badly for gangs that talk a lot, and leaves no
//! node empty for the next wide job.

use super::{Need, Place};
use crate::state::cluster::Level;
use consort_types::{Grant, NodeId};
use std::cmp::Reverse;

/// As far apart as possible.
pub struct Spread;

impl Place for Spread {
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        if need.free() < need.total() {
            return None;
        }
        match need.within {
            Some(Level::Node | Level::Island) => need.on_one_node(),
            Some(Level::Domain(level)) => {
                let mut domains = need.domains(level);
                domains.sort_by_key(|&domain| (Reverse(need.in_domain(domain)), domain));
                let nodes = |domain: u32| need.cluster.domains[domain as usize].nodes.iter().copied();
                domains.into_iter().find_map(|domain| deal(need, nodes(domain)))
            }
            None => {
                // As many nodes as could matter: one for each member, and more only if these do not hold all.
                let sizes = (need.devices..=need.most()).rev();
                let nodes = sizes.flat_map(|free| need.nodes_with(free));
                let mut nodes = nodes.filter(|&node| need.on_node(node) >= need.devices);
                let few: Vec<NodeId> = nodes.by_ref().take(need.count as usize).collect();
                deal(need, few.iter().copied()).or_else(|| deal(need, few.into_iter().chain(nodes)))
            }
        }
    }
}

/// Deals members out, one to each node in turn, emptiest nodes first.
fn deal(need: &Need<'_>, nodes: impl Iterator<Item = NodeId>) -> Option<Vec<Grant>> {
    let mut seats: Vec<(u32, NodeId)> =
        nodes.map(|node| (need.members_in(need.on_node(node)), node)).collect();
    seats.retain(|&(room, _)| room > 0);
    seats.sort_unstable_by_key(|&(room, node)| (Reverse(room), node));
    if seats.iter().map(|&(room, _)| u64::from(room)).sum::<u64>() < u64::from(need.count) {
        return None;
    }
    // How many rounds it takes until everybody sits, and who sits in the last one.
    let (mut left, mut round) = (need.count, 0);
    let mut dealt = vec![0; seats.len()];
    while left > 0 {
        round += 1;
        for (members, _) in dealt.iter_mut().zip(&seats).filter(|(_, (room, _))| *room >= round) {
            if left > 0 {
                (*members, left) = (*members + 1, left - 1);
            }
        }
    }
    let mut grants = Vec::with_capacity(need.total() as usize);
    let used = dealt.into_iter().zip(seats).filter(|&(members, _)| members > 0);
    used.for_each(|(members, (_, node))| need.take(node, members, &mut grants));
    Some(grants)
}
