//! Shares are packed with shares: the fullest device that still has room, and only then a fresh one.

use super::Need;
use consort_types::{DeviceId, Grant, NodeId};
use std::collections::BTreeMap;

/// Parts of devices for members that want less than a whole one; each on a device of its own.
pub(super) fn pack(need: &Need<'_>) -> Option<Vec<Grant>> {
    let has_room = |&(left, device): &(u16, DeviceId)| {
        left >= need.share && need.free.device(device).1 >= need.memory_bytes
    };
    let partial = need.partial().filter(has_room).map(|(_, device)| device);
    let mut hosted: BTreeMap<NodeId, u32> = BTreeMap::new();
    let (mut grants, mut left) = (Vec::with_capacity(need.count as usize), need.count);
    for device in partial.chain(fresh(need)) {
        let node = need.cluster.device(device).node;
        if !need.host.is_none() {
            let room = hosted.entry(node).or_insert_with(|| need.hosted_on(node));
            if *room == 0 {
                continue;
            }
            *room -= 1;
        }
        need.grant(node, &[device], &mut grants);
        left -= 1;
        if left == 0 {
            return Some(grants);
        }
    }
    None
}

/// Wholly free devices, from the nodes with the fewest of them.
fn fresh<'a>(need: &'a Need<'_>) -> impl Iterator<Item = DeviceId> + 'a {
    let nodes = (1..=need.most()).flat_map(move |free| need.nodes_with(free));
    nodes.flat_map(move |node| need.free.devices_on(need.cluster, node, need.kind, None))
}
