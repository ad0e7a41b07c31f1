//! Hosts in a tree of links: what a topology file, a Slurm `topology.conf` or the labels of Kubernetes nodes say.
//!
//! Two hosts talk at the speed of the innermost level whose domain holds both, and no faster than the uplinks they
//! cross on the way. Devices of one host talk at the speed of the node, or of the island where both are in one.
//!
//! | read | for |
//! |---|---|
//! | [`read`] | a topology file of ours |
//! | [`slurm`] | Slurm's `topology.conf` and `topology.yaml` |
//! | [`labels`] | what `kubectl get nodes -o json` prints |
//! | [`Paths`] | speeds between hosts, looked up quickly |
//! | [`Flaw`] | what is wrong with a fabric |
//!
//! **Promises.** Every reader returns a fabric that [`Fabric::check`] accepts. Speeds that nobody named are classes in
//! the right order, and said so. **Simplifies.** A tree has one path between two hosts; rails, adaptive routing and
//! other jobs on the same links are not seen. Where they matter, measure and write `measured`. **Does badly** on tori
//! and dragonflies that are told as trees.

mod check;
mod file;
mod hints;
mod labels;
mod paths;
mod slurm;
mod units;

pub use check::Flaw;
pub use file::read;
pub use hints::{Found, Hints};
pub use labels::labels;
pub use paths::Paths;
pub use slurm::slurm;
pub use units::{bandwidth, latency, shown};

use std::collections::BTreeMap;

/// More hosts than any cluster has.
pub const MOST_HOSTS: usize = consort_types::file::hosts::MOST;
/// More hosts than anybody measures in pairs: the table has a square of them.
pub const MOST_MEASURED: usize = 4_096;
/// More devices than one host has.
pub const MOST_DEVICES: u32 = 1_024;

/// Everything a job's traffic may cross.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// Levels above the host, outermost first. The first joins all hosts; the others have domains. Never empty.
    pub levels: Vec<Level>,
    /// Between islands of one host.
    pub node: Link,
    /// Inside an island.
    pub island: Link,
    /// In the order in which they were given.
    pub hosts: Vec<Host>,
    /// Measured speed from one host to another, in bytes per second; replaces what the levels say. Rows and columns are
    /// hosts in order; what is on the diagonal means nothing.
    pub measured: Option<Vec<Vec<f64>>>,
}

/// One level of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// `spine`, `pod`, `leaf`
    pub name: String,
    /// Between two hosts that meet here.
    pub link: Link,
    /// What one domain of this level has towards the level above, in all, in bytes per second; `None` when nobody
    /// said, and then it is as much as its hosts can take.
    pub uplink: Option<f64>,
}

/// A path between two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes per second, in one direction.
    pub bandwidth: f64,
    /// Seconds before the first byte.
    pub latency_s: f64,
}

/// One machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Unique.
    pub name: String,
    /// The domain it is in at every level but the first, outermost first.
    pub domains: Vec<String>,
    /// How many devices of it take part.
    pub devices: u32,
    /// How many of them a fast link joins; divides `devices`.
    pub island: u32,
    /// What its devices are called; empty when nobody said.
    pub kind: String,
}

impl Fabric {
    /// The level at which two hosts meet: an index into `levels`. A host meets itself at the innermost.
    pub fn meeting(&self, one: usize, other: usize) -> usize {
        let (one, other) = (&self.hosts[one].domains, &self.hosts[other].domains);
        one.iter().zip(other).take_while(|(one, other)| one == other).count()
    }

    /// The path from one host to another: what was measured, or what the levels say.
    pub fn between(&self, from: usize, to: usize) -> Link {
        let told = self.told(self.meeting(from, to));
        match &self.measured {
            Some(table) => Link { bandwidth: table[from][to], ..told },
            None => told,
        }
    }

    /// The path between hosts that meet at this level, if nobody measured it.
    pub fn told(&self, level: usize) -> Link {
        let narrowest = |least: f64, inner: &Level| inner.uplink.map_or(least, |uplink| uplink.min(least));
        let link = self.levels[level].link;
        Link { bandwidth: self.levels[level + 1..].iter().fold(link.bandwidth, narrowest), ..link }
    }

    /// The path between two devices of one host, counted from 0.
    pub fn inside(&self, host: usize, from: u32, to: u32) -> Link {
        let island = self.hosts[host].island.max(1);
        if from / island == to / island { self.island } else { self.node }
    }

    /// Speeds of all pairs of hosts, rows from, columns to; zero on the diagonal. For some thousand hosts at most:
    /// [`Paths`] answers for more, pair by pair.
    pub fn matrix(&self) -> Vec<Vec<f64>> {
        let paths = Paths::new(self);
        let all = 0..self.hosts.len();
        let speed = |from, to| if from == to { 0.0 } else { paths.bandwidth(from, to) };
        all.clone().map(|from| all.clone().map(|to| speed(from, to)).collect()).collect()
    }

    /// Whether the speeds are those of a tree: nothing was measured, and nobody is slower to somebody nearer.
    pub fn is_tree(&self) -> bool {
        let speeds: Vec<f64> = (0..self.levels.len()).map(|level| self.told(level).bandwidth).collect();
        self.measured.is_none() && speeds.is_sorted()
    }

    /// How many devices there are in all.
    pub fn devices(&self) -> u64 {
        self.hosts.iter().map(|host| u64::from(host.devices)).sum()
    }

    /// The same fabric with only so many devices of each host.
    pub fn with_devices(&self, devices: u32) -> Result<Fabric, Flaw> {
        let mut fabric = self.clone();
        for host in &mut fabric.hosts {
            if devices > host.devices {
                return Err(Flaw::Fewer(host.name.clone(), host.devices, devices));
            }
            // Fewer than an island are a part of one.
            (host.devices, host.island) = (devices, host.island.min(devices));
        }
        fabric.check()?;
        Ok(fabric)
    }

    /// The same fabric with these hosts only, in this order.
    pub fn only(&self, names: &[String]) -> Result<Fabric, Flaw> {
        let index: BTreeMap<&str, usize> =
            self.hosts.iter().enumerate().map(|(at, host)| (host.name.as_str(), at)).collect();
        let find = |name: &String| index.get(name.as_str()).copied().ok_or(Flaw::Unknown(name.clone()));
        let kept = names.iter().map(find).collect::<Result<Vec<usize>, Flaw>>()?;
        let row = |row: &Vec<f64>| kept.iter().map(|&to| row[to]).collect();
        let fabric = Fabric {
            levels: self.levels.clone(),
            hosts: kept.iter().map(|&at| self.hosts[at].clone()).collect(),
            measured: self
                .measured
                .as_ref()
                .map(|table| kept.iter().map(|&from| row(&table[from])).collect()),
            ..*self
        };
        fabric.check()?;
        Ok(fabric)
    }
}
