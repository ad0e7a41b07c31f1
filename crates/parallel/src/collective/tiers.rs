//! Ranks in tiers: islands in hosts, hosts in racks, racks on a spine; and what a collective costs on them.
//!
//! Idea: the hierarchical all-reduce. Reduce-scatter inside the innermost tier, then with what is left of the vector in
//! the next, and so on; then all-gather back. Where every rank has a way of its own between two hosts (rails), parts
//! travel side by side; where ranks share one, they take turns.
//!
//! An algorithm that knows nothing of tiers is priced as if every message crossed the slowest: a ring crosses each link
//! once, so it gets the link alone; in others all ranks send at once, and each gets its share of it.
//!
//! Simplified: tiers follow each other and do not overlap. Does badly: very large messages in chunks, where a library
//! keeps all tiers busy at once and takes as long as the slowest alone.

use super::cost::{self, Algorithm, Operation};
use crate::fabric::{Fabric, Link};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// One tier: groups of equal size, and how their members talk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tier {
    /// Members of one group: devices of an island, islands of a host, hosts of a rack.
    pub members: u32,
    /// From one member to another, when nobody else sends.
    pub link: Link,
    /// What each rank gets of it when all ranks of a member send at once, in bytes per second.
    pub each: f64,
}

/// All tiers, innermost first; none has a single member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tiers {
    /// Innermost first.
    pub tiers: Vec<Tier>,
    /// What was taken for granted on the way here.
    pub assumed: Vec<String>,
    /// Nobody can know something of everybody sooner, however small the message.
    pub floor_s: f64,
}

/// Why there is no price.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// One rank talks to nobody.
    OneRank,
    /// More ranks than anybody has.
    TooMany(u64),
    /// Hosts of so many ranks do not make up so many ranks.
    Uneven(u32, u32),
    /// A speed that is not one.
    Bandwidth(f64),
    /// A wait that is not one.
    Latency(f64),
}

/// More ranks are refused.
pub const MOST_RANKS: u64 = 65_536;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::OneRank => {
                write!(f, "a single rank has nothing to exchange; give at least two")
            }
            Refusal::TooMany(ranks) => write!(f, "{ranks} ranks are more than {MOST_RANKS}; plan for fewer"),
            Refusal::Uneven(ranks, node) => write!(
                f,
                "{ranks} ranks do not fill hosts of {node}; name a multiple of {node} or another number of ranks in a host"
            ),
            Refusal::Bandwidth(value) => {
                write!(f, "invalid bandwidth of {value} bytes per second; give one above zero")
            }
            Refusal::Latency(value) => {
                write!(f, "invalid latency of {value} seconds; give one from 0 to 1000 s")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Whether ranks of one host share its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// Each rank has a way of its own.
    Rail,
    /// All ranks of a host share one.
    Shared,
}

impl Tiers {
    /// Ranks that are all alike.
    pub fn flat(ranks: u32, link: Link) -> Result<Self, Refusal> {
        Self::checked(vec![Tier { members: ranks, link, each: link.bandwidth }])
    }

    /// Ranks in hosts of equal size.
    pub fn hosts(ranks: u32, node: u32, inside: Link, between: Link, exit: Exit) -> Result<Self, Refusal> {
        if node == 0 || !ranks.is_multiple_of(node) {
            return Err(Refusal::Uneven(ranks, node));
        }
        let each = match exit {
            Exit::Rail => between.bandwidth,
            Exit::Shared => between.bandwidth / f64::from(node),
        };
        Self::checked(vec![
            Tier { members: node, link: inside, each: inside.bandwidth },
            Tier { members: ranks / node, link: between, each },
        ])
    }

    /// A fabric as tiers. Where hosts or domains differ in size, what differs is one tier at the slowest speed.
    pub fn of(fabric: &Fabric) -> Result<Self, Refusal> {
        let devices: u64 = fabric.hosts.iter().map(|host| u64::from(host.devices)).sum();
        if devices > MOST_RANKS {
            return Err(Refusal::TooMany(devices));
        }
        let alike = |host: &&crate::fabric::Host| {
            host.devices == fabric.hosts[0].devices && host.island == fabric.hosts[0].island
        };
        let mut found = match fabric.hosts.iter().all(|host| alike(&host)) {
            true => Self::of_alike(fabric),
            false => Self::of_unlike(fabric, devices as u32),
        };
        if fabric.measured.is_some() {
            found
                .assumed
                .push("hosts talk at the measured speeds; a ring joins them in the order given".into());
        }
        found.tiers = Self::checked(found.tiers)?.tiers;
        found.floor_s = floor(fabric);
        Ok(found)
    }

    fn of_alike(fabric: &Fabric) -> Self {
        let Some(first) = fabric.hosts.first() else { return Self::default() };
        let island = first.island.clamp(1, first.devices.max(1));
        let own = |members, link: Link| Tier { members, link, each: link.bandwidth };
        let mut tiers = vec![own(island, fabric.island), own(first.devices / island, fabric.node)];
        match domain_tiers(fabric, first.devices) {
            Some(levels) => {
                tiers.extend(levels);
                Self::assuming(tiers, "ranks that are near each other in the fabric are neighbours")
            }
            None => {
                let (link, each) = slowest(fabric);
                tiers.push(Tier { members: fabric.hosts.len() as u32, link, each });
                let said =
                    "domains of unequal size, or measured speeds, count as one tier at the slowest speed";
                Self::assuming(tiers, said)
            }
        }
    }

    fn of_unlike(fabric: &Fabric, devices: u32) -> Self {
        let (between, mut each) = slowest(fabric);
        let inner = [fabric.island, fabric.node];
        let mut link = between;
        for inside in inner {
            link.bandwidth = link.bandwidth.min(inside.bandwidth);
            link.latency_s = link.latency_s.max(inside.latency_s);
            each = each.min(inside.bandwidth);
        }
        let said = "hosts have unequal numbers of devices, so nothing is done host by host";
        Self::assuming(vec![Tier { members: devices, link, each }], said)
    }

    fn assuming(tiers: Vec<Tier>, said: &str) -> Self {
        Self { tiers, assumed: vec![said.into()], floor_s: 0.0 }
    }

    fn checked(tiers: Vec<Tier>) -> Result<Self, Refusal> {
        let ranks: u64 = tiers.iter().fold(1, |all, tier| all.saturating_mul(u64::from(tier.members)));
        match ranks {
            0 | 1 => return Err(Refusal::OneRank),
            _ if ranks > MOST_RANKS => return Err(Refusal::TooMany(ranks)),
            _ => (),
        }
        let tiers: Vec<Tier> = tiers.into_iter().filter(|tier| tier.members > 1).collect();
        for tier in &tiers {
            for speed in [tier.link.bandwidth, tier.each] {
                if !(speed > 0.0 && speed.is_finite()) {
                    return Err(Refusal::Bandwidth(speed));
                }
            }
            if !(0.0..=1000.0).contains(&tier.link.latency_s) {
                return Err(Refusal::Latency(tier.link.latency_s));
            }
        }
        let (mut below, mut floor_s) = (1u64, 0.0f64);
        for (index, tier) in tiers.iter().enumerate() {
            let waits = tiers[index..].iter().map(|tier| tier.link.latency_s);
            floor_s = floor_s.max(spread(ranks / below, below) * waits.fold(f64::INFINITY, f64::min));
            below *= u64::from(tier.members);
        }
        Ok(Self { tiers, assumed: vec![], floor_s })
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.tiers.iter().map(|tier| tier.members).product()
    }

    /// Seconds; `None` where the algorithm does not do this operation, or where there is only one tier to be done.
    pub fn time(&self, operation: Operation, algorithm: Algorithm, bytes: f64) -> Option<f64> {
        if matches!(algorithm, Algorithm::Hierarchical | Algorithm::HierarchicalHalving) {
            let does = operation.algorithms().contains(&algorithm) && self.tiers.len() > 1;
            return does.then(|| self.hierarchical(operation, algorithm, bytes));
        }
        let least = |speed: fn(&Tier) -> f64| self.tiers.iter().map(speed).fold(f64::INFINITY, f64::min);
        let latency_s = self.tiers.iter().map(|tier| tier.link.latency_s).fold(0.0, f64::max);
        let bandwidth = match algorithm.is_neighbourly() {
            true => least(|tier| tier.link.bandwidth),
            false => least(|tier| tier.each),
        };
        cost::time(operation, algorithm, self.ranks(), bytes, Link { bandwidth, latency_s })
    }

    /// One tier after another.
    fn hierarchical(&self, operation: Operation, algorithm: Algorithm, bytes: f64) -> f64 {
        let halves = match (operation, algorithm) {
            (_, Algorithm::Hierarchical) => Algorithm::Ring,
            (Operation::AllReduce, _) => Algorithm::Rabenseifner,
            _ => Algorithm::RecursiveDoubling,
        };
        let (mut total, mut left) = (0.0, bytes);
        for tier in &self.tiers {
            let link = Link { bandwidth: tier.each, ..tier.link };
            let price = |operation, algorithm, bytes, link| {
                cost::time(operation, algorithm, tier.members, bytes, link).unwrap_or(0.0)
            };
            total += match operation {
                Operation::AllReduce | Operation::ReduceScatter | Operation::AllGather => {
                    price(operation, halves, left, link)
                }
                Operation::AllToAll => price(operation, Algorithm::Pairwise, bytes, link),
                // One rank of each member passes the message on, so nobody shares its way.
                Operation::Broadcast => price(operation, Algorithm::TreePipelined, bytes, tier.link),
            };
            left /= f64::from(tier.members);
        }
        total
    }

    /// Everything that does this operation, and its seconds, in the order in which ties are broken.
    pub fn times(&self, operation: Operation, bytes: f64) -> Vec<(Algorithm, f64)> {
        let price = |&algorithm: &Algorithm| Some((algorithm, self.time(operation, algorithm, bytes)?));
        operation.algorithms().iter().filter_map(price).collect()
    }

    /// The fastest of them.
    pub fn best(&self, operation: Operation, bytes: f64) -> (Algorithm, f64) {
        let mut best = (Algorithm::Ring, f64::INFINITY);
        for &algorithm in operation.algorithms() {
            match self.time(operation, algorithm, bytes) {
                Some(time) if time < best.1 => best = (algorithm, time),
                _ => (),
            }
        }
        best
    }
}

/// How many messages in a row it takes until so many members know something of each other, when each has so many ranks
/// that send at once: whoever knows can tell as many others in the time of one message as it has ranks.
fn spread(members: u64, ranks: u64) -> f64 {
    let (mut reached, mut rounds) = (1u64, 0.0);
    while reached < members {
        reached = reached.saturating_mul(ranks.saturating_add(1));
        rounds += 1.0;
    }
    rounds
}

/// The same for a fabric: among devices, hosts, and the domains of every level.
fn floor(fabric: &Fabric) -> f64 {
    let between = |depth: usize| {
        let waits = fabric.levels[..depth.min(fabric.levels.len())].iter().map(|level| level.link.latency_s);
        waits.fold(f64::INFINITY, f64::min)
    };
    let devices: u64 = fabric.hosts.iter().map(|host| u64::from(host.devices)).sum();
    let inside = fabric.island.latency_s.min(fabric.node.latency_s);
    let mut floor_s = spread(devices, 1) * inside.min(between(fabric.levels.len()));
    for depth in 1..=fabric.levels.len() {
        // Below the innermost level are hosts, each a domain of its own.
        let mut sizes: BTreeMap<(&[String], usize), u64> = BTreeMap::new();
        for (index, host) in fabric.hosts.iter().enumerate() {
            let path = host.domains.get(..depth).unwrap_or(&host.domains);
            let own = if depth == fabric.levels.len() { index } else { 0 };
            *sizes.entry((path, own)).or_default() += u64::from(host.devices);
        }
        let largest = sizes.values().copied().max().unwrap_or(1);
        let rounds = spread(sizes.len() as u64, largest);
        floor_s = floor_s.max(if rounds > 0.0 { rounds * between(depth) } else { 0.0 });
    }
    floor_s
}

/// Hosts in domains in domains, innermost first; `None` where two domains of a level differ in size.
fn domain_tiers(fabric: &Fabric, devices: u32) -> Option<Vec<Tier>> {
    if fabric.measured.is_some() {
        return None;
    }
    let (mut tiers, mut hosts_below) = (vec![], 1u32);
    for (depth, level) in fabric.levels.iter().enumerate().rev() {
        let innermost = depth + 1 == fabric.levels.len();
        let mut members: BTreeMap<&[String], BTreeMap<&[String], u32>> = BTreeMap::new();
        for host in &fabric.hosts {
            let group = members.entry(host.domains.get(..depth)?).or_default();
            *group.entry(if innermost { &[] } else { host.domains.get(..=depth)? }).or_default() += 1;
        }
        let size = |group: &BTreeMap<&[String], u32>| match innermost {
            true => group.values().sum(),
            false => group.len() as u32,
        };
        let count = size(members.values().next()?);
        if members.values().any(|group| size(group) != count) {
            return None;
        }
        let (mut link, mut each) = (level.link, level.link.bandwidth / f64::from(devices));
        if let Some(uplink) = fabric.levels.get(depth + 1).and_then(|inner| inner.uplink) {
            link.bandwidth = link.bandwidth.min(uplink);
            each = each.min(uplink / f64::from(devices * hosts_below));
        }
        tiers.push(Tier { members: count, link, each });
        hosts_below *= count;
    }
    Some(tiers)
}

/// The slowest way between two hosts: alone, and what each device gets of it when all send.
fn slowest(fabric: &Fabric) -> (Link, f64) {
    let most = fabric.hosts.iter().map(|host| host.devices).max().unwrap_or(1).max(1);
    let latency_s = fabric.levels.iter().map(|level| level.link.latency_s).fold(0.0, f64::max);
    if let Some(measured) = &fabric.measured {
        let count = fabric.hosts.len();
        let speed = |from: usize, to: usize| measured.get(from).and_then(|row| row.get(to)).copied();
        let ring = (0..count).filter_map(|from| speed(from, (from + 1) % count));
        let pairs =
            (0..count).flat_map(|from| (0..count).filter(move |&to| to != from).map(move |to| (from, to)));
        let all = pairs.filter_map(|(from, to)| speed(from, to)).fold(f64::INFINITY, f64::min);
        let bandwidth = if count > 1 { ring.fold(f64::INFINITY, f64::min) } else { f64::MAX };
        return (Link { bandwidth, latency_s }, all.min(f64::MAX) / f64::from(most));
    }
    let mut bandwidth = fabric.levels.iter().map(|level| level.link.bandwidth).fold(f64::INFINITY, f64::min);
    let mut each = bandwidth / f64::from(most);
    for (depth, level) in fabric.levels.iter().enumerate().skip(1) {
        let Some(uplink) = level.uplink else { continue };
        let mut sizes: BTreeMap<&[String], u64> = BTreeMap::new();
        for host in &fabric.hosts {
            let path = host.domains.get(..depth).unwrap_or_default();
            *sizes.entry(path).or_default() += u64::from(host.devices);
        }
        let largest = sizes.values().copied().max().unwrap_or(1).max(1);
        bandwidth = bandwidth.min(uplink);
        each = each.min(uplink / largest as f64);
    }
    (Link { bandwidth, latency_s }, each)
}

#[cfg(test)]
pub(crate) mod tests;
