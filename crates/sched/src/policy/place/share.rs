//! Shares are packed with shares: the fullest device that still has room, and only then a fresh one.

use super::Need;
use consort_types::{DeviceId, Grant};

/// Parts of devices for members that want less than a whole one; each on a device of its own.
pub(crate) fn pack(need: &Need<'_>, share: u16, memory_bytes: u64) -> Option<Vec<Grant>> {
    let has_room =
        |&(left, device): &(u16, DeviceId)| left >= share && need.free.device(device).1 >= memory_bytes;
    let partial = need.partial().filter(has_room);
    let devices = partial.map(|(_, device)| device).chain(fresh(need)).take(need.count as usize);
    let grants: Vec<Grant> = devices.map(|device| Grant { device, share, memory_bytes }).collect();
    (grants.len() == need.count as usize).then_some(grants)
}

/// Wholly free devices, from the nodes with the fewest of them.
fn fresh<'a>(need: &'a Need<'_>) -> impl Iterator<Item = DeviceId> + 'a {
    let nodes = (1..=need.most()).flat_map(move |free| need.nodes_with(free));
    nodes.flat_map(move |node| need.free.devices_on(need.cluster, node, need.kind, None))
}
