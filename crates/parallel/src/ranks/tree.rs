//! The best order of hosts in a tree of links: domain by domain, all the way down.
//!
//! **Why it is the best.** Every ring leaves each domain of a level at least once, so that at least as many links meet
//! outside that level as it has domains (where it has more than one). Going through the tree depth first meets outside
//! exactly that often, at all levels at once. Where links further in are no slower than those further out, that is the
//! fastest slowest link and the smallest sum of 1/bandwidth that any ring can have: the bound is reached. Among the many
//! orders that do, hosts come as people count them, and domains in the order of their first host.
//!
//! **Does badly** where the tree is not how the hosts are really joined; then measure, and [`super::ring`] looks at pairs.

use super::natural;
use crate::fabric::{Fabric, Paths};
use std::collections::BTreeMap;

/// Hosts domain by domain.
pub fn order(fabric: &Fabric, paths: &Paths<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..fabric.hosts.len()).collect();
    order.sort_by(|&one, &other| natural::compare(&fabric.hosts[one].name, &fabric.hosts[other].name));
    // The place of every domain is that of its first host.
    let mut first: BTreeMap<u32, usize> = BTreeMap::new();
    for (place, &host) in order.iter().enumerate() {
        for &domain in paths.domains(host) {
            first.entry(domain).or_insert(place);
        }
    }
    let key = |&host: &usize| paths.domains(host).iter().map(|domain| first[domain]).collect::<Vec<_>>();
    // Stable: inside the innermost domain, hosts stay as they are counted.
    order.sort_by_cached_key(key);
    order
}

/// What no ring in this tree can beat: the slowest link, and the time around.
pub fn bound(fabric: &Fabric, paths: &Paths<'_>) -> (f64, f64) {
    let (count, depth) = (fabric.hosts.len(), fabric.levels.len());
    // How many links at least meet at this level or further out.
    let mut outside = vec![];
    for level in 1..depth {
        let mut domains: Vec<u32> = (0..count).map(|host| paths.domains(host)[level - 1]).collect();
        domains.sort_unstable();
        domains.dedup();
        outside.push(if domains.len() > 1 { domains.len() } else { 0 });
    }
    outside.push(count);
    let (mut slowest, mut around, mut counted) = (f64::INFINITY, 0.0, 0);
    for (level, &links) in outside.iter().enumerate() {
        let speed = fabric.told(level).bandwidth;
        if links > counted {
            slowest = speed.min(slowest);
            around += (links - counted) as f64 / speed;
            counted = links;
        }
    }
    (slowest, around)
}
