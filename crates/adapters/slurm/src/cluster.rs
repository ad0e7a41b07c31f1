//! Nodes of Slurm as the scheduler is to know them.
//!
//! For: names, generic resources, features, switches and states become kinds, nodes and conditions.
//! Promises: a pure function of Slurm's answer. A resource without a type is known by its name; what only stands for a
//! part of a device, or for none, is left out.
//! Never: says that a node is gone because something about it could not be read.

use crate::gres::{self, Gres};
use crate::shapes::Node;
use crate::topology::Topology;
use consort_types::{CPU, DeviceGroup, Host, KindSpec, NodeSpec, Precision};
use std::collections::{BTreeMap, BTreeSet};

/// Resources that are no devices of their own.
const NO_DEVICES: &[&str] = &["mps", "shard", "craynetwork", "bandwidth", "tmpdisk", "nic"];

/// More of one kind than a node has: what is counted so high is gigabytes or the like, whatever it is called.
const MOST: u32 = 512;

/// How Slurm's answer is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Only nodes of this partition.
    pub partition: String,
    /// Whether processors can be asked for as devices.
    pub cpus: bool,
    /// Where nodes are.
    pub topology: Topology,
    /// What is said of kinds of device: Slurm knows their names only.
    pub kinds: Vec<KindSpec>,
}

impl Reading {
    /// A kind, with what is said of it.
    pub fn declared(&self, kind: KindSpec) -> KindSpec {
        match self.kinds.iter().find(|said| said.name == kind.name) {
            Some(said) => kind.declared(said),
            None => kind,
        }
    }

    /// Number formats that a kind computes in; nothing if that is not known.
    pub fn computes_in(&self, name: &str) -> &[Precision] {
        let said = self.kinds.iter().find(|said| said.name == name && !said.precisions.is_empty());
        said.map_or_else(|| Precision::of_kind(name), |said| &said.precisions)
    }
}

/// How a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Takes work.
    Up,
    /// Takes no new work, for this reason.
    Closed(String),
    /// Slurm has not heard of it for a while.
    Silent,
    /// Slurm has given it up: it runs nothing there any more, as far as it knows.
    Down,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// As it joins.
    pub spec: NodeSpec,
    /// How it is.
    pub condition: Condition,
    /// Where it can be reached.
    pub address: String,
    /// Devices in anybody's hands, by kind.
    pub used: BTreeMap<String, u32>,
    /// Processors and memory in anybody's hands; of memory nothing where Slurm does not share it out.
    pub host_used: Host,
    /// All its processors are in somebody's hands.
    pub full: bool,
    /// What Slurm calls each kind that it has.
    pub resources: BTreeMap<String, (String, String)>,
}

/// All nodes of the partition, in Slurm's order.
pub fn find(nodes: &[Node], reading: &Reading) -> Vec<Found> {
    let is_ours = |node: &&Node| node.partitions.contains(&reading.partition);
    nodes.iter().filter(is_ours).map(|node| found(node, reading)).collect()
}

fn found(node: &Node, reading: &Reading) -> Found {
    let devices = devices(&node.gres);
    let mut groups: Vec<DeviceGroup> = vec![];
    for gres in &devices {
        match groups.iter_mut().find(|group| group.kind == gres.kind()) {
            // One type, listed by socket.
            Some(group) => group.count = (group.count + gres.count).min(MOST),
            None => groups.push(DeviceGroup { kind: gres.kind().into(), count: gres.count, island: 0 }),
        }
    }
    let mut used: BTreeMap<String, u32> = BTreeMap::new();
    for gres in self::devices(&node.gres_used) {
        let used = used.entry(gres.kind().into()).or_default();
        *used = (*used + gres.count).min(MOST);
    }
    if reading.cpus && node.cpus > 0 {
        groups.push(DeviceGroup { kind: CPU.into(), count: node.cpus.min(60_000) as u32, island: 0 });
        used.insert(CPU.into(), node.alloc_cpus.min(60_000) as u32);
    }
    let resources =
        devices.iter().map(|gres| (gres.kind().to_owned(), (gres.name.clone(), gres.kind.clone())));
    Found {
        spec: NodeSpec {
            name: node.name.clone(),
            domains: reading.topology.path(&node.name),
            devices: groups,
            features: features(node),
            host: Host {
                cpu_milli: node.cpus.min(1_000_000) * 1000,
                memory_bytes: node.real_memory.min(1 << 30) << 20,
            },
        },
        condition: condition(node),
        address: if node.address.is_empty() { node.name.clone() } else { node.address.clone() },
        used,
        host_used: Host {
            cpu_milli: node.alloc_cpus.min(1_000_000) * 1000,
            memory_bytes: node.alloc_memory.min(1 << 30) << 20,
        },
        full: node.cpus > 0 && node.alloc_cpus >= node.cpus,
        resources: resources.collect(),
    }
}

/// Those that count now; each once, in order. A word that nobody could print is left out.
fn features(node: &Node) -> Vec<String> {
    let all = if node.active_features.is_empty() { &node.features } else { &node.active_features };
    let is_word =
        |word: &&String| !word.is_empty() && word.len() <= 64 && !word.chars().any(char::is_control);
    let all: BTreeSet<&String> = all.iter().filter(is_word).collect();
    all.into_iter().cloned().collect()
}

fn devices(line: &str) -> Vec<Gres> {
    let mut all = gres::parse(line);
    all.retain(|gres| !NO_DEVICES.contains(&gres.name.as_str()) && (1..=MOST).contains(&gres.count));
    all
}

/// How a node is, from Slurm's words for it.
pub fn condition(node: &Node) -> Condition {
    // Asleep is not down: Slurm wakes it for whoever is sent there.
    let asleep = node.is(&["POWERED_DOWN", "POWER_DOWN", "POWERING_DOWN"]) && !node.is(&["POWER_DRAIN"]);
    if node.is(&["DOWN", "ERROR", "FUTURE"]) {
        return Condition::Down;
    }
    // A controller that has just been started does not know its nodes yet.
    if node.is(&["NOT_RESPONDING", "NO_RESPOND", "UNKNOWN"]) && !asleep {
        return Condition::Silent;
    }
    const CLOSED: [(&str, &str); 8] = [
        ("DRAIN", "drained in Slurm"),
        ("DRAINED", "drained in Slurm"),
        ("DRAINING", "drained in Slurm"),
        ("FAIL", "failing in Slurm"),
        ("FAILING", "failing in Slurm"),
        ("INVALID_REG", "differs from Slurm's configuration"),
        ("MAINTENANCE", "under maintenance in Slurm"),
        ("REBOOT_ISSUED", "being rebooted by Slurm"),
    ];
    match CLOSED.iter().find(|(word, _)| node.is(&[word])) {
        Some((_, words)) if node.reason.trim().is_empty() => Condition::Closed((*words).into()),
        Some((_, words)) => Condition::Closed(format!("{words}: {}", node.reason.trim())),
        None => Condition::Up,
    }
}

/// All kinds that these nodes have. Processors are for those who name them, where there is anything else.
pub fn kinds(found: &[Found]) -> Vec<KindSpec> {
    let mut names: Vec<&str> = vec![];
    for group in found.iter().flat_map(|node| &node.spec.devices) {
        if !names.contains(&group.kind.as_str()) {
            names.push(&group.kind);
        }
    }
    let mut kinds: Vec<KindSpec> = names.into_iter().map(KindSpec::named).collect();
    KindSpec::reserve_processors(&mut kinds);
    kinds
}

/// What an administrator should know.
pub fn notes(nodes: &[Node], found: &[Found]) -> Vec<String> {
    let mut notes = vec![];
    let ours: BTreeSet<&str> = found.iter().map(|found| found.spec.name.as_str()).collect();
    let untyped: Vec<&str> = nodes
        .iter()
        .filter(|node| ours.contains(node.name.as_str()))
        .filter(|node| devices(&node.gres).iter().any(|gres| gres.kind.is_empty()))
        .map(|node| node.name.as_str())
        .collect();
    if !untyped.is_empty() {
        notes.push(format!(
            "{} has generic resources without a type, so models cannot be told apart: set Type in gres.conf",
            consort_types::file::hosts::compress(untyped)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(fields: &str) -> Node {
        serde_json::from_str(&format!("{{{fields}}}")).unwrap()
    }

    #[test]
    fn resources_become_devices() {
        let reading = Reading { partition: "p".into(), cpus: true, ..Reading::default() };
        let node = node(
            r#""name": "n1", "partitions": ["p"], "cpus": 8, "alloc_cpus": 3, "real_memory": 2048, "alloc_memory": 512, "address": "10.0.0.1",
               "gres": "gpu:a100:2(S:0),gpu:a100:2(S:1),gpu:v100:1,shard:8,lscratch:800,fpga:2", "gres_used": "gpu:a100:3(IDX:0-2),gpu:v100:0(IDX:N/A),fpga:1""#,
        );
        let found = find(&[node.clone(), Node { partitions: vec![], ..node.clone() }], &reading);
        assert_eq!(found.len(), 1);
        let groups: Vec<String> =
            found[0].spec.devices.iter().map(|group| format!("{} {}", group.count, group.kind)).collect();
        assert_eq!(groups, ["4 a100", "1 v100", "2 fpga", "8 cpu"]);
        assert_eq!(
            found[0].used,
            BTreeMap::from([("a100".into(), 3), ("cpu".into(), 3), ("fpga".into(), 1)])
        );
        assert_eq!(found[0].resources["fpga"], ("fpga".into(), String::new()));
        assert_eq!(found[0].address, "10.0.0.1");
        assert_eq!(found[0].spec.host, Host { cpu_milli: 8_000, memory_bytes: 2 << 30 });
        assert_eq!(found[0].host_used, Host { cpu_milli: 3_000, memory_bytes: 512 << 20 });
        let kinds = kinds(&found);
        assert!(kinds.iter().all(|kind| kind.by_name == (kind.name == CPU)));
        assert!(notes(&[node], &found)[0].starts_with("n1 has generic resources without a type"));
    }

    #[test]
    fn a_cluster_of_processors_alone() {
        let reading = Reading { partition: "p".into(), cpus: true, ..Reading::default() };
        let found = find(&[node(r#""name": "n1", "partitions": "p", "cpus": 8"#)], &reading);
        assert!(!kinds(&found)[0].by_name);
    }

    #[test]
    fn conditions() {
        let is = |state: &str, flags: &str| {
            condition(&node(&format!(r#""state": "{state}", "state_flags": [{flags}], "reason": "bad fan""#)))
        };
        assert_eq!(is("idle", ""), Condition::Up);
        assert_eq!(is("mixed", ""), Condition::Up);
        assert_eq!(is("allocated", "\"COMPLETING\""), Condition::Up);
        assert_eq!(is("idle", "\"DRAIN\""), Condition::Closed("drained in Slurm: bad fan".into()));
        assert_eq!(is("down", "\"DRAIN\",\"NOT_RESPONDING\""), Condition::Down);
        assert_eq!(is("mixed", "\"NOT_RESPONDING\""), Condition::Silent);
        assert_eq!(is("idle", "\"CLOUD\",\"POWERED_DOWN\""), Condition::Up);
        assert_eq!(
            is("idle", "\"INVALID_REG\",\"DRAIN\""),
            Condition::Closed("drained in Slurm: bad fan".into())
        );
    }
}
