//! Hosts in a tree of links: what a topology file, a Slurm `topology.conf` or the labels of Kubernetes nodes say.
//!
//! Two hosts talk at the speed of the innermost level whose domain holds both. Devices of one host talk at the speed of
//! the node, or of the island where both are in one.

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
