//! A fabric as vertices and links: what [`super::cut`] cuts.
//!
//! Devices hang on a switch for their island and on one for their host; hosts on their innermost domain, domains on the
//! one above. Where nobody said what a domain has towards the level above, it has as much as its hosts can take there.
//!
//! Generous where a fabric leaves something open, because a bound must not be too high: a host reaches its first switch
//! at the fastest speed of any level, and each of its devices reaches that way out beside its links inside. With
//! measured speeds there are no levels: a host sends as fast as to anybody, and receives as fast as from anybody.
//!
//! Does badly: several network cards of which each device can reach only one count as one way out of the host.

use super::cut::{Division, Wires};
use super::tiers::Tiers;
use crate::fabric::{Fabric, Host};
use std::collections::BTreeMap;

/// Vertices and links of a fabric; ranks are devices in the order of hosts.
pub fn of(fabric: &Fabric) -> Wires {
    let mut wires = Wires::default();
    for host in &fabric.hosts {
        wires.names.extend((0..host.devices).map(|device| format!("{}[{device}]", host.name)));
    }
    let ranks = wires.names.len();
    wires.ranks = ranks;
    divide(&mut wires, "devices", (0..ranks).map(|device| vec![device]).collect());
    let (mut islands, mut hosts, mut first) = (vec![], BTreeMap::new(), 0);
    let mut classes: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (index, host) in fabric.hosts.iter().enumerate() {
        let (switch, groups) = attach(&mut wires, fabric, host, first);
        let mut vertices: Vec<usize> = groups.iter().flatten().copied().collect();
        let door = Door::of(&mut wires, &host.name);
        vertices.extend([door.out, door.into, switch]);
        islands.extend(groups);
        let next = classes.len();
        let class = *classes.entry((host.devices, host.island)).or_insert(next);
        let typical = if host.devices > 0 { vec![first] } else { vec![] };
        // A path of its own for each host: one name more than any domain has.
        let mut path = host.domains.clone();
        path.resize(fabric.levels.len().saturating_sub(1), String::new());
        path.push(format!("{index:08}"));
        hosts.insert(path, Domain { vertices, hosts: 1, door, class, typical });
        first += host.devices as usize;
    }
    divide(&mut wires, "islands", islands);
    divide(&mut wires, "hosts", hosts.values().map(|host| host.vertices.clone()).collect());
    match &fabric.measured {
        Some(measured) => join_measured(&mut wires, measured, hosts),
        None => join_levels(&mut wires, fabric, hosts),
    }
    wires
}

/// Ranks in tiers as vertices and links: every member of a tier hangs on a switch of its group, by a way that all its
/// ranks share, or each rank by a way of its own.
pub fn of_tiers(tiers: &Tiers) -> Wires {
    let ranks = tiers.ranks() as usize;
    let names = (0..ranks).map(|rank| format!("rank {rank}")).collect();
    let mut wires = Wires { ranks, names, typical: vec![0], ..Wires::default() };
    let mut members: Vec<Vec<usize>> = (0..ranks).map(|rank| vec![rank]).collect();
    let mut called = "ranks".to_string();
    for (index, tier) in tiers.tiers.iter().enumerate() {
        let is_last = index + 1 == tiers.tiers.len();
        let mut groups = vec![];
        for (number, chunk) in members.chunks_mut(tier.members as usize).enumerate() {
            let name = if is_last { "network".into() } else { format!("host {number}") };
            let switch = add(&mut wires, name);
            for member in chunk.iter_mut() {
                let own: Vec<usize> = member.iter().copied().filter(|&vertex| vertex < ranks).collect();
                if tier.each < tier.link.bandwidth {
                    let speed = tier.link.bandwidth;
                    let name = wires.names[member.last().copied().unwrap_or(switch)].clone();
                    let door = Door::of(&mut wires, &name);
                    door.open(&mut wires, &own, speed, speed);
                    door.lead(&mut wires, switch, speed, speed);
                    member.splice(0..0, [door.out, door.into]);
                } else {
                    own.iter().for_each(|&rank| join(&mut wires, rank, switch, tier.each));
                }
            }
            groups.push(chunk.iter().flatten().copied().chain([switch]).collect());
        }
        // Members have their ways out only now.
        divide(&mut wires, &called, std::mem::replace(&mut members, groups));
        called = "hosts".into();
    }
    wires
}

/// A way more to divide the ranks.
fn divide(wires: &mut Wires, name: &str, groups: Vec<Vec<usize>>) {
    wires.divisions.push(Division { name: name.into(), groups });
}

/// A vertex more.
fn add(wires: &mut Wires, name: String) -> usize {
    wires.names.push(name);
    wires.names.len() - 1
}

/// A link in both directions.
fn join(wires: &mut Wires, one: usize, other: usize, speed: f64) {
    wires.links.extend([(one, other, speed), (other, one, speed)]);
}

/// The switches of one host: that of the host, and for each island its devices and its switch.
fn attach(wires: &mut Wires, fabric: &Fabric, host: &Host, first: usize) -> (usize, Vec<Vec<usize>>) {
    let switch = add(wires, host.name.clone());
    let devices = host.devices as usize;
    let island = (host.island as usize).clamp(1, devices.max(1));
    let mut groups = vec![];
    for begin in (0..devices).step_by(island) {
        let mut group: Vec<usize> =
            (begin..(begin + island).min(devices)).map(|device| first + device).collect();
        if island >= devices {
            // One island is the whole host: its switch is the host's.
            group.iter().for_each(|&device| join(wires, device, switch, fabric.island.bandwidth));
        } else {
            let inner = add(wires, format!("island {} of {}", begin / island, host.name));
            for &device in &group {
                join(wires, device, inner, fabric.island.bandwidth);
                join(wires, device, switch, fabric.node.bandwidth);
            }
            group.push(inner);
        }
        groups.push(group);
    }
    (switch, groups)
}

/// Hosts on one switch, each as fast as it was ever seen.
fn join_measured(wires: &mut Wires, measured: &[Vec<f64>], hosts: BTreeMap<Vec<String>, Domain>) {
    let middle = add(wires, "network".into());
    let count = hosts.len();
    let mut ordered: Vec<(Vec<String>, Domain)> = hosts.into_iter().collect();
    // The last name of a path is the position of the host.
    ordered.sort_by(|one, other| one.0.last().cmp(&other.0.last()));
    let speed =
        |from: usize, to: usize| measured.get(from).and_then(|row| row.get(to)).copied().unwrap_or(0.0);
    for (index, (_, host)) in ordered.iter().enumerate() {
        let others = || (0..count).filter(|&other| other != index);
        let sends = others().map(|other| speed(index, other)).fold(0.0, f64::max);
        let takes = others().map(|other| speed(other, index)).fold(0.0, f64::max);
        if count > 1 {
            host.door.open(wires, &host.devices(wires.ranks), sends, takes);
            host.door.lead(wires, middle, sends, takes);
        }
    }
    wires.typical = ordered.into_iter().flat_map(|(_, host)| host.typical).collect();
}

/// A host or a domain, while domains are put together.
#[derive(Default)]
struct Domain {
    vertices: Vec<usize>,
    hosts: usize,
    door: Door,
    /// Domains of one class are interchangeable.
    class: usize,
    /// A device of every class of host in it.
    typical: Vec<usize>,
}

impl Domain {
    /// Its vertices that are ranks.
    fn devices(&self, ranks: usize) -> Vec<usize> {
        self.vertices.iter().copied().filter(|&vertex| vertex < ranks).collect()
    }
}

/// The way out of a host or a domain, and the way in. Two vertices, so that nobody inside can turn round there.
#[derive(Clone, Copy, Default)]
struct Door {
    out: usize,
    into: usize,
}

impl Door {
    fn of(wires: &mut Wires, name: &str) -> Self {
        Self { out: add(wires, format!("way out of {name}")), into: add(wires, format!("way into {name}")) }
    }

    /// Lets these ranks through.
    fn open(self, wires: &mut Wires, ranks: &[usize], out: f64, into: f64) {
        wires.links.extend(ranks.iter().flat_map(|&rank| [(rank, self.out, out), (self.into, rank, into)]));
    }

    /// Joins it to a switch outside.
    fn lead(self, wires: &mut Wires, switch: usize, out: f64, into: f64) {
        wires.links.extend([(self.out, switch, out), (switch, self.into, into)]);
    }
}

/// Hosts on their innermost domains, domains on those above.
fn join_levels(wires: &mut Wires, fabric: &Fabric, mut below: BTreeMap<Vec<String>, Domain>) {
    let devices = wires.ranks;
    let fastest = fabric.levels.iter().map(|level| level.link.bandwidth).fold(0.0, f64::max);
    for depth in (0..fabric.levels.len()).rev() {
        let uplink = fabric.levels.get(depth + 1).and_then(|inner| inner.uplink);
        let mut above: BTreeMap<Vec<String>, Vec<Domain>> = BTreeMap::new();
        for (path, domain) in below {
            above.entry(path[..depth].to_vec()).or_default().push(domain);
        }
        let (mut classes, mut joined): (BTreeMap<Vec<usize>, usize>, _) = (BTreeMap::new(), BTreeMap::new());
        for (path, members) in above {
            let name = path.last().unwrap_or(&fabric.levels[depth].name).clone();
            let switch = add(wires, name);
            let mut domain = Domain { door: Door { out: switch, into: switch }, ..Domain::default() };
            for member in &members {
                let speed = match depth + 1 == fabric.levels.len() {
                    true => {
                        member.door.open(wires, &member.devices(devices), fastest, fastest);
                        fastest
                    }
                    false => uplink.unwrap_or(member.hosts as f64 * fabric.levels[depth].link.bandwidth),
                };
                member.door.lead(wires, switch, speed, speed);
                domain.vertices.extend(&member.vertices);
                domain.hosts += member.hosts;
            }
            domain.vertices.push(switch);
            domain.typical = one_of_each(&members);
            let mut kinds: Vec<usize> = members.iter().map(|member| member.class).collect();
            kinds.sort_unstable();
            let next = classes.len();
            domain.class = *classes.entry(kinds).or_insert(next);
            joined.insert(path, domain);
        }
        let name = format!("domains of level {}", fabric.levels[depth].name);
        divide(wires, &name, joined.values().map(|domain| domain.vertices.clone()).collect());
        below = joined;
    }
    wires.typical = below.into_values().flat_map(|domain| domain.typical).collect();
}

/// Members of one class can change places without anybody noticing: the first of them stands for all.
fn one_of_each(members: &[Domain]) -> Vec<usize> {
    let mut seen: Vec<usize> = vec![];
    let mut typical = vec![];
    for member in members {
        if !seen.contains(&member.class) {
            seen.push(member.class);
            typical.extend(&member.typical);
        }
    }
    typical
}

#[cfg(test)]
mod tests;
