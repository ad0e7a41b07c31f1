//! The labels of Kubernetes nodes as a fabric: what `kubectl get nodes -o json` prints.
//!
//! Levels are the labels below that some node carries, outermost first, or those that the user names. A level on which
//! all nodes are in one domain joins all hosts; the innermost such is the first level of the fabric, and where there is
//! none the first is `network`. A node without one of the labels is alone on that level. Nodes without accelerators are
//! left out, unless none has any.

use super::hints::{Sighted, built, wanted};
use super::{Flaw, Found, Hints, MOST_HOSTS};
use consort_types::file::limits;
use consort_types::file::read_error::{Place, ReadError};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Labels that say where a node is, and what we call the level: outermost first.
const KNOWN: &[(&str, &str)] = &[
    ("topology.kubernetes.io/region", "region"),
    ("topology.kubernetes.io/zone", "zone"),
    ("network.topology.nvidia.com/datacenter", "datacenter"),
    ("network.topology.nvidia.com/core", "core-switch"),
    ("network.topology.nvidia.com/spine", "spine"),
    ("topology.k8s.aws/network-node-layer-1", "layer-1"),
    ("topology.k8s.aws/network-node-layer-2", "layer-2"),
    ("topology.k8s.aws/network-node-layer-3", "layer-3"),
    ("topology.k8s.aws/network-node-layer-4", "layer-4"),
    ("cloud.google.com/gce-topology-block", "block"),
    ("cloud.google.com/gce-topology-subblock", "subblock"),
    ("cloud.google.com/gce-topology-host", "machine"),
    ("topology.kubernetes.io/rack", "rack"),
    ("network.topology.nvidia.com/block", "leaf-block"),
    ("network.topology.nvidia.com/leaf", "leaf"),
    ("network.topology.nvidia.com/accelerator", "accelerator"),
    ("nvidia.com/gpu.clique", "clique"),
];
/// What accelerators are called among a node's resources.
const ACCELERATORS: &[&str] = &[
    "nvidia.com/gpu",
    "amd.com/gpu",
    "google.com/tpu",
    "aws.amazon.com/neuron",
    "habana.ai/gaudi",
    "gpu.intel.com/xe",
    "gpu.intel.com/i915",
    "huawei.com/Ascend910",
];
/// Labels that name the kind of accelerator.
const KINDS: &[&str] =
    &["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "node.kubernetes.io/instance-type"];

#[derive(Deserialize)]
#[serde(untagged)]
enum Printed {
    Many { items: Vec<Noted> },
    One(Noted),
}

#[derive(Deserialize)]
struct Noted {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    capacity: BTreeMap<String, String>,
}

/// Reads what `kubectl get nodes -o json` prints.
pub fn labels(text: &str, hints: &Hints) -> Result<Found, ReadError> {
    if text.len() as u64 > limits::YAML_BYTES {
        return Err(Place::default().fail("is larger than 256 MiB"));
    }
    let nodes = match serde_json::from_str(text) {
        Ok(Printed::Many { items }) => items,
        Ok(Printed::One(node)) => vec![node],
        Err(error) => {
            let place = Place { line: error.line() as u64, column: error.column() as u64 };
            return Err(
                place.fail("is not a list of nodes, expected what `kubectl get nodes -o json` prints")
            );
        }
    };
    if nodes.len() > MOST_HOSTS {
        return Err(Flaw::TooManyHosts(nodes.len(), MOST_HOSTS).into());
    }
    let (mut assumed, nodes) = (vec![], chosen(nodes, hints));
    let keys = levels(&nodes, hints)?;
    for (key, name) in &keys {
        let alone = nodes.iter().filter(|node| !node.metadata.labels.contains_key(key)).count();
        if alone > 0 {
            assumed.push(format!("hosts without the label {key} share no {name} with others: {alone}"));
        }
    }
    let sighted = wanted(nodes.into_iter().map(|node| sighted(node, &keys)).collect(), hints)?;
    let (names, sighted) = rooted(keys.into_iter().map(|(_, name)| name).collect(), sighted);
    let mut found = built(names, sighted, None, hints)?;
    assumed.append(&mut found.assumed);
    Ok(Found { assumed, ..found })
}

/// Nodes with accelerators; all, where none has any or the user names them.
fn chosen(nodes: Vec<Noted>, hints: &Hints) -> Vec<Noted> {
    if hints.hosts.is_some() || nodes.iter().all(|node| node.accelerators().is_none()) {
        return nodes;
    }
    nodes.into_iter().filter(|node| node.accelerators().is_some()).collect()
}

impl Noted {
    fn accelerators(&self) -> Option<u32> {
        let counts = ACCELERATORS.iter().filter_map(|name| self.status.capacity.get(*name)?.parse().ok());
        counts.filter(|count| *count > 0).max()
    }
}

/// Label and name of every level, outermost first.
fn levels(nodes: &[Noted], hints: &Hints) -> Result<Vec<(String, String)>, ReadError> {
    let carried = |key: &str| nodes.iter().any(|node| node.metadata.labels.contains_key(key));
    if hints.levels.is_empty() {
        let known = KNOWN.iter().filter(|(key, _)| carried(key));
        return Ok(known.map(|(key, name)| (key.to_string(), name.to_string())).collect());
    }
    let mut chosen: Vec<(String, String)> = vec![];
    for wish in &hints.levels {
        let known = KNOWN.iter().find(|(key, name)| key == wish || name == wish);
        let (key, name) =
            known.map_or((wish.as_str(), wish.rsplit('/').next().unwrap_or(wish)), |pair| *pair);
        if !carried(key) {
            return Err(
                Place::default().fail(format!("no node carries the label {key}; name one that some do"))
            );
        }
        // Two labels may end alike; then each goes by its full name.
        let name = if chosen.iter().any(|(_, known)| known == name) { key } else { name };
        chosen.push((key.into(), name.into()));
    }
    Ok(chosen)
}

fn sighted(node: Noted, keys: &[(String, String)]) -> Sighted {
    let devices = node.accelerators();
    let Metadata { name, labels } = node.metadata;
    let path = keys.iter().map(|(key, _)| labels.get(key).unwrap_or(&name).clone()).collect();
    let kind = KINDS.iter().find_map(|key| labels.get(*key)).cloned().unwrap_or_default();
    Sighted { name, path, devices, kind }
}

/// Drops levels that tell nobody apart, but for the innermost of them, which joins all hosts.
fn rooted(mut names: Vec<String>, mut hosts: Vec<Sighted>) -> (Vec<String>, Vec<Sighted>) {
    let shared = |hosts: &[Sighted], at: usize| {
        hosts.iter().map(|host| host.path[at].as_str()).collect::<BTreeSet<_>>().len() <= 1
    };
    let outer = (0..names.len()).take_while(|&at| shared(&hosts, at)).count();
    match outer {
        0 => {
            names.insert(0, "network".into());
            hosts.iter_mut().for_each(|host| host.path.insert(0, "network".into()));
        }
        _ => {
            names.drain(..outer - 1);
            hosts.iter_mut().for_each(|host| drop(host.path.drain(..outer - 1)));
        }
    }
    (names, hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, labels: &[(&str, &str)], devices: u32) -> serde_json::Value {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        serde_json::json!({"metadata": {"name": name, "labels": labels, "uid": "x"},
            "status": {"capacity": {"cpu": "8", "nvidia.com/gpu": devices.to_string()}, "phase": null}})
    }

    fn printed(nodes: &[serde_json::Value]) -> String {
        serde_json::json!({"kind": "List", "items": nodes}).to_string()
    }

    fn shown(text: &str, hints: &Hints) -> String {
        let Found { fabric, .. } = labels(text, hints).unwrap();
        let levels: Vec<&str> = fabric.levels.iter().map(|level| level.name.as_str()).collect();
        let hosts: Vec<String> = fabric
            .hosts
            .iter()
            .map(|host| format!("{}x{}:{}", host.name, host.devices, host.domains.join("/")))
            .collect();
        format!("{} | {}", levels.join(" "), hosts.join(" "))
    }

    const ZONE: (&str, &str) = ("topology.kubernetes.io/zone", "z");

    #[test]
    fn levels_are_the_labels_that_are_there() {
        let block = |name| ("cloud.google.com/gce-topology-block", name);
        let text = printed(&[
            node("a", &[ZONE, block("b1")], 8),
            node("b", &[ZONE, block("b2")], 4),
            node("login", &[ZONE], 0),
        ]);
        assert_eq!(shown(&text, &Hints::default()), "zone block | ax8:b1 bx4:b2");
        let hints = Hints { levels: vec!["cloud.google.com/gce-topology-block".into()], ..Hints::default() };
        assert_eq!(shown(&text, &hints), "network block | ax8:b1 bx4:b2");
        let hints = Hints { hosts: Some(vec!["login".into(), "a".into()]), ..Hints::default() };
        assert_eq!(shown(&text, &hints), "zone block | loginx8:login ax8:b1");
    }

    #[test]
    fn a_clique_is_as_fast_as_an_island() {
        let clique = |name| [("nvidia.com/gpu.clique", name)];
        let text =
            printed(&[node("a", &clique("c1"), 4), node("b", &clique("c1"), 4), node("c", &clique("c2"), 4)]);
        let fabric = labels(&text, &Hints::default()).unwrap().fabric;
        assert_eq!((fabric.told(1).bandwidth, fabric.told(0).bandwidth), (450e9, 50e9));
    }

    #[test]
    fn without_labels_all_are_alike() {
        let text = printed(&[node("a", &[], 8), node("b", &[], 8)]);
        assert_eq!(shown(&text, &Hints::default()), "network | ax8: bx8:");
        assert_eq!(shown(&node("a", &[], 2).to_string(), &Hints::default()), "network | ax2:");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let said = |text: &str, hints: &Hints| labels(text, hints).unwrap_err().message;
        assert!(said("[", &Hints::default()).contains("kubectl get nodes"));
        assert!(said(&printed(&[]), &Hints::default()).contains("no host"));
        let spine = |spine, block| {
            [("network.topology.nvidia.com/spine", spine), ("network.topology.nvidia.com/block", block)]
        };
        let text = printed(&[node("a", &spine("s1", "b1"), 8), node("b", &spine("s2", "b1"), 8)]);
        assert!(said(&text, &Hints::default()).contains("leaf-block b1 is in spine s1 and in spine s2"));
        let hints = Hints { levels: vec!["example.com/row".into()], ..Hints::default() };
        assert!(said(&text, &hints).contains("no node carries the label example.com/row"));
    }
}
