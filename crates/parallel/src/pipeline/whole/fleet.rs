//! The devices of a plan, and what joins them.
//!
//! A link of a host is one port: two hosts exchange with its speed, however many of their devices take part. Inside a
//! host every device has a port of its own. Different exchanges never slow each other, which is a simplification: a
//! gradient exchange and activations that share a port at the same moment would.

use super::Kind;
use super::refusal::Refusal;
use crate::fabric::{Fabric, Host, Level, Link};

/// Devices that are all alike, in levels of one width each, innermost first: eight in a host at the first speed, four hosts at
/// the second. Empty levels are one device alone.
pub fn even(levels: &[(u32, Link)], kind: &str) -> Fabric {
    let none = Link { bandwidth: f64::INFINITY, latency_s: 0.0 };
    let (devices, island) = levels.first().copied().unwrap_or((1, none));
    let outer = levels.get(1..).unwrap_or_default();
    let hosts: u32 = outer.iter().map(|(width, _)| width).product();
    let host = |number: u32| {
        // Outermost first, without the level that joins all.
        let mut below: u32 = hosts;
        let domains = outer.iter().rev().take(outer.len().saturating_sub(1)).map(|(width, _)| {
            below /= (*width).max(1);
            format!("d{}", number / below.max(1))
        });
        Host {
            name: format!("h{number}"),
            domains: domains.collect(),
            devices,
            island: devices,
            kind: kind.into(),
        }
    };
    let level = |(number, &(_, link)): (usize, &(u32, Link))| Level {
        name: format!("level{number}"),
        link,
        uplink: None,
    };
    let mut joined: Vec<Level> = outer.iter().rev().enumerate().map(level).collect();
    if joined.is_empty() {
        joined.push(Level { name: "all".into(), link: island, uplink: None });
    }
    Fabric { levels: joined, node: island, island, hosts: (0..hosts).map(host).collect(), measured: None }
}

/// Devices a plan may use.
pub const MOST_DEVICES: usize = 4096;

/// One device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    /// Index of its kind.
    pub kind: usize,
    /// Index of its host.
    pub host: usize,
    /// Number of its island, over all hosts.
    pub island: usize,
    /// Its number on its host.
    pub local: u32,
}

/// All devices, with the links between hosts looked up.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// Host by host.
    pub devices: Vec<Device>,
    /// What the kinds have.
    pub kinds: Vec<Kind>,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    island: Link,
    node: Link,
    /// Host by host.
    between: Vec<Vec<Link>>,
}

/// Some devices that work on one stage, as `replicas` groups of `tensor`.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// By index; consecutive ones form a tensor-parallel group.
    pub devices: Vec<usize>,
    /// How many share each layer.
    pub tensor: usize,
    /// Whether forward is repeated before backward, so that only what came in is kept.
    pub recompute: bool,
}

/// What a group's cost depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Kinds in the group, and how many replicas are of each.
    pub kinds: Vec<(usize, usize)>,
    /// Replicas in all.
    pub replicas: usize,
    /// Devices of one replica.
    pub tensor: usize,
    /// Seconds per byte of parameters to exchange gradients.
    pub exchange_s_per_byte: f64,
    /// Seconds that an exchange of gradients takes however small it is.
    pub exchange_latency_s: f64,
    /// Seconds per byte that one tensor-parallel sum takes, and seconds however small it is.
    pub sum_s_per_byte: f64,
    /// See above.
    pub sum_latency_s: f64,
}

impl Fleet {
    /// Of the hosts of a fabric.
    pub fn of(fabric: &Fabric, kinds: &[Kind]) -> Result<Self, Refusal> {
        let mut fleet = Fleet {
            devices: vec![],
            kinds: kinds.to_vec(),
            hosts: fabric.hosts.iter().map(|host| host.name.clone()).collect(),
            island: fabric.island,
            node: fabric.node,
            between: vec![],
        };
        for kind in kinds {
            let sound = |figure: f64| figure > 0.0 && !figure.is_nan();
            if !(sound(kind.speed) && kind.speed.is_finite() && sound(kind.memory_bytes)) {
                return Err(Refusal::Useless(kind.name.clone()));
            }
        }
        let mut islands = 0;
        for (number, host) in fabric.hosts.iter().enumerate() {
            if host.devices == 0 {
                continue;
            }
            if host.island == 0 || !host.devices.is_multiple_of(host.island) {
                let (host, devices, island) = (host.name.clone(), host.devices, host.island);
                return Err(Refusal::Hierarchy { host, devices, island });
            }
            let kind = kinds.iter().position(|kind| kind.name == host.kind);
            let kind =
                kind.ok_or_else(|| Refusal::Kind { host: host.name.clone(), kind: host.kind.clone() })?;
            let many = fleet.devices.len() + host.devices as usize;
            if many > MOST_DEVICES {
                return Err(Refusal::TooMany { what: "devices", found: many, most: MOST_DEVICES });
            }
            for local in 0..host.devices {
                let island = islands + (local / host.island) as usize;
                fleet.devices.push(Device { kind, host: number, island, local });
            }
            islands += (host.devices / host.island) as usize;
        }
        if fleet.devices.is_empty() {
            return Err(Refusal::NoDevices);
        }
        let hosts = 0..fabric.hosts.len();
        fleet.between = hosts
            .clone()
            .map(|one| hosts.clone().map(|other| fabric.between(one, other)).collect())
            .collect();
        fleet.check()?;
        Ok(fleet)
    }

    fn check(&self) -> Result<(), Refusal> {
        let sound = |link: Link| link.bandwidth > 0.0 && link.latency_s >= 0.0 && link.latency_s.is_finite();
        let many =
            |same: fn(&Device, &Device) -> bool| self.devices.windows(2).any(|pair| same(&pair[0], &pair[1]));
        if many(|one, other| one.island == other.island) && !sound(self.island) {
            return Err(Refusal::Link("the link inside an island".into()));
        }
        if many(|one, other| one.island != other.island && one.host == other.host) && !sound(self.node) {
            return Err(Refusal::Link("the link inside a host".into()));
        }
        let used: std::collections::BTreeSet<usize> = self.devices.iter().map(|device| device.host).collect();
        for &one in &used {
            for &other in used.iter().filter(|&&other| other != one) {
                if !sound(self.between[one][other]) {
                    let names = (&self.hosts[one], &self.hosts[other]);
                    return Err(Refusal::Link(format!("the link from `{}` to `{}`", names.0, names.1)));
                }
            }
        }
        Ok(())
    }

    /// What people call a device.
    pub fn name(&self, device: usize) -> String {
        let device = &self.devices[device];
        format!("{}:{}", self.hosts[device.host], device.local)
    }

    /// From one group to another: speed of all ports together, and the latency.
    pub fn path(&self, from: &[usize], to: &[usize]) -> Link {
        let (senders, receivers) = (self.hosts_of(from), self.hosts_of(to));
        if senders.len() == 1 && senders == receivers {
            let island = self.devices[from[0]].island;
            let is_one = from.iter().chain(to).all(|&device| self.devices[device].island == island);
            let link = if is_one { self.island } else { self.node };
            return Link { bandwidth: link.bandwidth * from.len().min(to.len()) as f64, ..link };
        }
        let mut worst = Link { bandwidth: f64::INFINITY, latency_s: 0.0 };
        for &one in &senders {
            for &other in receivers.iter().filter(|&&other| other != one) {
                let link = self.between[one][other];
                worst.bandwidth = worst.bandwidth.min(link.bandwidth);
                worst.latency_s = worst.latency_s.max(link.latency_s);
            }
        }
        Link { bandwidth: worst.bandwidth * senders.len().min(receivers.len()) as f64, ..worst }
    }

    /// The fastest that anything can move, with all ports at once.
    pub fn fastest(&self) -> f64 {
        self.fastest_port() * self.devices.len() as f64
    }

    /// The fastest port there is, in bytes per second.
    pub fn fastest_port(&self) -> f64 {
        let mut fastest = self.island.bandwidth.max(self.node.bandwidth);
        let pairs = self.between.iter().enumerate();
        for (one, row) in pairs {
            let others = row.iter().enumerate().filter(|(other, _)| *other != one);
            fastest = others.fold(fastest, |fastest, (_, link)| fastest.max(link.bandwidth));
        }
        fastest
    }

    fn hosts_of(&self, devices: &[usize]) -> Vec<usize> {
        let mut hosts: Vec<usize> = devices.iter().map(|&device| self.devices[device].host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// What a group costs. `None` when its devices cannot be divided so: tensor-parallel groups are within an island.
    pub fn shape(&self, devices: &[usize], tensor: usize) -> Option<Shape> {
        if devices.is_empty() || tensor == 0 || !devices.len().is_multiple_of(tensor) {
            return None;
        }
        let mut kinds: Vec<(usize, usize)> = vec![];
        for replica in devices.chunks(tensor) {
            let first = self.devices[replica[0]];
            if replica.iter().any(|&device| self.devices[device].island != first.island) {
                return None;
            }
            match kinds.iter_mut().find(|(kind, _)| *kind == first.kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((first.kind, 1)),
            }
        }
        let replicas = devices.len() / tensor;
        let (exchange_s_per_byte, exchange_latency_s) = self.exchange(devices, tensor);
        let members = tensor as f64;
        Some(Shape {
            kinds,
            replicas,
            tensor,
            exchange_s_per_byte,
            exchange_latency_s,
            sum_s_per_byte: match tensor {
                1 => 0.0,
                _ => 2.0 * (members - 1.0) / members / self.island.bandwidth,
            },
            sum_latency_s: 2.0 * (members - 1.0) * self.island.latency_s,
        })
    }

    /// A ring inside every host, then one over the hosts with a part each: seconds per byte of parameters, and what it
    /// takes however little there is.
    fn exchange(&self, devices: &[usize], tensor: usize) -> (f64, f64) {
        let hosts = self.hosts_of(devices);
        let (mut inside, mut latency) = (0.0, 0.0);
        for &host in &hosts {
            let here: Vec<usize> =
                devices.iter().copied().filter(|&device| self.devices[device].host == host).collect();
            let members = (here.len() / tensor) as f64;
            if members <= 1.0 {
                continue;
            }
            let island = self.devices[here[0]].island;
            let is_one = here.iter().all(|&device| self.devices[device].island == island);
            let link = if is_one { self.island } else { self.node };
            let each = 2.0 * (members - 1.0) / members / tensor as f64 / link.bandwidth;
            inside = f64::max(inside, each);
            latency = f64::max(latency, 2.0 * (members - 1.0) * link.latency_s);
        }
        let members = hosts.len() as f64;
        if members <= 1.0 {
            return (inside, latency);
        }
        let mut worst = Link { bandwidth: f64::INFINITY, latency_s: 0.0 };
        for (&one, &other) in hosts.iter().zip(hosts.iter().cycle().skip(1)) {
            let link = self.between[one][other];
            worst.bandwidth = worst.bandwidth.min(link.bandwidth);
            worst.latency_s = worst.latency_s.max(link.latency_s);
        }
        let outside = 2.0 * (members - 1.0) / members / worst.bandwidth;
        (inside + outside, latency + 2.0 * (members - 1.0) * worst.latency_s)
    }

    /// The most devices that one island joins, of this kind.
    pub fn widest(&self, kind: usize) -> usize {
        let mut widest = 0;
        let mut run = 0;
        let mut last = usize::MAX;
        for device in self.devices.iter().filter(|device| device.kind == kind) {
            run = if device.island == last { run + 1 } else { 1 };
            last = device.island;
            widest = widest.max(run);
        }
        widest
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fabric;
    use super::*;

    fn kind(name: &str) -> Kind {
        Kind { name: name.into(), speed: 1.0, factors: vec![], memory_bytes: 1e9 }
    }

    #[test]
    fn a_path_is_as_fast_as_its_ports_together() {
        let fleet = Fleet::of(&fabric(&[(4, "a"), (4, "a")], 10.0, 1.0), &[kind("a")]).unwrap();
        assert_eq!(fleet.path(&[0, 1], &[2, 3]).bandwidth, 20.0);
        assert_eq!(fleet.path(&[0, 1], &[4, 5, 6]).bandwidth, 1.0);
    }

    #[test]
    fn exchange_is_a_ring_in_the_host_and_one_over_hosts() {
        let fleet = Fleet::of(&fabric(&[(4, "a"), (4, "a")], 10.0, 1.0), &[kind("a")]).unwrap();
        let within = fleet.shape(&[0, 1, 2, 3], 1).unwrap();
        assert!((within.exchange_s_per_byte - 0.15).abs() < 1e-12);
        let over = fleet.shape(&[0, 1, 2, 3, 4, 5, 6, 7], 1).unwrap();
        assert!((over.exchange_s_per_byte - 1.15).abs() < 1e-12);
        let pairs = fleet.shape(&[0, 1, 2, 3], 2).unwrap();
        assert_eq!((pairs.replicas, pairs.exchange_s_per_byte), (2, 0.05));
        assert!(fleet.shape(&[3, 4], 2).is_none());
    }

    #[test]
    fn levels_become_hosts_in_domains() {
        let link = |bandwidth| Link { bandwidth, latency_s: 0.0 };
        let fabric = even(&[(4, link(9.0)), (2, link(3.0)), (3, link(1.0))], "a");
        assert_eq!((fabric.hosts.len(), fabric.hosts[5].domains.clone()), (6, vec!["d2".to_string()]));
        let speeds: Vec<f64> = (1..4).map(|other| fabric.between(0, other).bandwidth).collect();
        assert_eq!(speeds, [3.0, 1.0, 1.0]);
        assert_eq!(even(&[(8, link(2.0))], "a").hosts[0].devices, 8);
    }

    #[test]
    fn hosts_that_cannot_be_right_are_refused() {
        let said = |fabric: &Fabric| Fleet::of(fabric, &[kind("a")]).unwrap_err().to_string();
        assert!(said(&fabric(&[], 1.0, 1.0)).contains("no device"));
        assert!(said(&fabric(&[(2, "b")], 1.0, 1.0)).contains("kind `b`"));
        assert!(said(&fabric(&[(1, "a"), (1, "a")], 1.0, 0.0)).contains("no bandwidth"));
        let mut odd = fabric(&[(3, "a")], 1.0, 1.0);
        odd.hosts[0].island = 2;
        assert!(said(&odd).contains("do not divide"));
    }
}
