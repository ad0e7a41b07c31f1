//! What people say where a file does not: which hosts, how many devices, how fast.
//!
//! A Slurm topology and Kubernetes labels tell who is near whom, not how fast. Where nobody says, a level gets a class:
//! 50 GB/s and 2 us at the innermost, and at every level further out half the bandwidth and 2 us more. For the order of
//! ranks only the order of the classes matters, and the answer says that they were assumed.

use super::{Fabric, Flaw, Host, Level, Link};
use std::collections::BTreeMap;

/// Devices of a host when nobody said.
pub const DEVICES: u32 = 8;
/// Between islands of one host when nobody said.
pub const NODE: Link = Link { bandwidth: 64e9, latency_s: 1e-6 };
/// Inside an island when nobody said.
pub const ISLAND: Link = Link { bandwidth: 450e9, latency_s: 1e-6 };
/// At the innermost level when nobody said.
const INNERMOST: Link = Link { bandwidth: 50e9, latency_s: 2e-6 };

/// What people say where a file does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// Only these hosts, in this order; all when absent.
    pub hosts: Option<Vec<String>>,
    /// Devices of each host.
    pub devices: Option<u32>,
    /// How fast hosts talk that meet at a level: its name, bytes per second.
    pub speeds: Vec<(String, f64)>,
    /// Labels that are levels, outermost first; those that are known when empty. Only for Kubernetes.
    pub levels: Vec<String>,
}

/// A fabric, and what was assumed about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The fabric.
    pub fabric: Fabric,
    /// Each a short sentence.
    pub assumed: Vec<String>,
}

/// A host that was found, with all its domains, the one that joins everybody included.
pub(super) struct Sighted {
    pub name: String,
    pub path: Vec<String>,
    pub devices: Option<u32>,
    pub kind: String,
}

/// The class of a level that has so many levels inside it.
pub(super) fn class(inside: usize) -> Link {
    let halvings = (1u64 << inside.min(40)) as f64;
    Link { bandwidth: INNERMOST.bandwidth / halvings, latency_s: INNERMOST.latency_s * (inside + 1) as f64 }
}

/// Keeps the hosts that are wanted, in the wanted order.
pub(super) fn wanted(found: Vec<Sighted>, hints: &Hints) -> Result<Vec<Sighted>, Flaw> {
    let Some(names) = &hints.hosts else { return Ok(found) };
    let mut index = BTreeMap::new();
    for host in found {
        let name = host.name.clone();
        if index.insert(name.clone(), host).is_some() {
            return Err(Flaw::HostTwice(name));
        }
    }
    let mut kept = vec![];
    for (at, name) in names.iter().enumerate() {
        match index.remove(name) {
            Some(host) => kept.push(host),
            None if names[..at].contains(name) => return Err(Flaw::HostTwice(name.clone())),
            None => return Err(Flaw::Unknown(name.clone())),
        }
    }
    Ok(kept)
}

/// Levels that are islands across hosts, as NVIDIA labels them: as fast as an island where nobody says otherwise.
const ISLANDS: &[&str] = &["accelerator", "clique"];

/// Puts a fabric together. `ratios` says, where known, how fast levels are beside the innermost one.
pub(super) fn built(
    names: Vec<String>,
    hosts: Vec<Sighted>,
    ratios: Option<Vec<f64>>,
    hints: &Hints,
) -> Result<Found, Flaw> {
    let mut assumed = vec![];
    // Islands across hosts have a speed of their own, and take no part in the halving.
    let networks = names.iter().filter(|name| !ISLANDS.contains(&name.as_str())).count();
    let mut levels: Vec<Level> = vec![];
    let mut unsaid = vec![];
    for (at, name) in names.into_iter().enumerate() {
        let mut link = class(networks.saturating_sub(at + 1));
        if ISLANDS.contains(&name.as_str()) {
            link = ISLAND;
        }
        if let Some(ratios) = &ratios {
            link.bandwidth = INNERMOST.bandwidth * ratios[at];
        }
        match hints.speeds.iter().find(|(level, _)| *level == name) {
            Some((_, speed)) => link.bandwidth = *speed,
            None => unsaid.push(format!("{name} {}", super::shown(link.bandwidth))),
        }
        levels.push(Level { name, link, uplink: None });
    }
    if let Some((level, _)) =
        hints.speeds.iter().find(|(name, _)| levels.iter().all(|level| level.name != *name))
    {
        return Err(Flaw::NoSuchLevel(level.clone(), levels.into_iter().map(|level| level.name).collect()));
    }
    if !unsaid.is_empty() {
        let how = if ratios.is_some() {
            "in the ratio of the link speeds"
        } else {
            "halved at every level outwards"
        };
        assumed.push(format!("unknown speeds, {how}: {}; only their order matters", unsaid.join(", ")));
    }
    if hints.devices.is_none() && hosts.iter().any(|host| host.devices.is_none()) {
        assumed.push(format!("{DEVICES} devices on each host without a number of devices"));
    }
    let host = |host: Sighted| {
        let devices = hints.devices.or(host.devices).unwrap_or(DEVICES);
        Host { name: host.name, domains: host.path[1..].to_vec(), devices, island: devices, kind: host.kind }
    };
    assumed.push("the devices of a host are one island".into());
    let hosts = hosts.into_iter().map(host).collect();
    let fabric = Fabric { levels, node: NODE, island: ISLAND, hosts, measured: None };
    fabric.check()?;
    Ok(Found { fabric, assumed })
}
