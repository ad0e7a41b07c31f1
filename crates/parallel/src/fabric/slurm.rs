//! Slurm's tree of switches as a fabric: `topology.conf`, what `scontrol show topology` prints, or `topology.yaml`.
//!
//! The level right above the hosts is `switch`, those above it `switch-2`, `switch-3` and so on. With blocks the levels
//! are `network` and `block`. A host that hangs higher than others is on the levels it lacks in a domain of its switch:
//! its neighbours there are one hop away. Hosts of separate trees are refused, since nothing joins them. `LinkSpeed`
//! has no unit in Slurm: it is used as a ratio where the values of the levels differ. Sizes of aggregated blocks are
//! left aside, and so is everything that `topology.yaml` says beyond switches, blocks and their nodes.

use super::hints::{Sighted, built, wanted};
use super::{Flaw, Found, Hints, MOST_HOSTS};
use consort_types::file::hosts::expand;
use consort_types::file::limits;
use consort_types::file::read_error::{Place, ReadError};
use consort_types::file::yaml::{self, Node, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What the lines say, whatever their form.
#[derive(Default)]
struct Wiring {
    /// Host to switch or block, in order.
    hosts: Vec<(String, String)>,
    /// Switch to the switch above it.
    above: BTreeMap<String, String>,
    /// Switch to its speed.
    speeds: BTreeMap<String, f64>,
    blocks: bool,
}

/// Reads Slurm's topology.
pub fn slurm(text: &str, hints: &Hints) -> Result<Found, ReadError> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let wiring = match first.is_some_and(|line| line.starts_with('-')) {
        true => from_yaml(text)?,
        false => from_lines(text)?,
    };
    let hosts = wanted(wiring.sighted()?, hints)?;
    let Some(depth) = hosts.iter().map(|host| host.path.len()).max() else {
        return Err(Flaw::NoHosts.into());
    };
    joined(&hosts)?;
    let names = match wiring.blocks {
        true => vec!["network".into(), "block".into()],
        false => (1..=depth).rev().map(named).collect(),
    };
    let ratios = wiring.ratios(&hosts, depth);
    let even = |mut host: Sighted| {
        let innermost = host.path[host.path.len() - 1].clone();
        host.path.resize(depth, innermost);
        host
    };
    Ok(built(names, hosts.into_iter().map(even).collect(), ratios, hints)?)
}

fn named(nth: usize) -> String {
    if nth == 1 { "switch".into() } else { format!("switch-{nth}") }
}

/// Refuses hosts that do not hang below the switch that most hosts hang below.
fn joined(hosts: &[Sighted]) -> Result<(), Flaw> {
    let mut trees: BTreeMap<&str, usize> = BTreeMap::new();
    hosts.iter().for_each(|host| *trees.entry(&host.path[0]).or_default() += 1);
    let main = trees.iter().max_by_key(|(name, count)| (**count, std::cmp::Reverse(**name)));
    let Some(main) = main.map(|(name, _)| name.to_string()) else { return Ok(()) };
    let apart: Vec<String> =
        hosts.iter().filter(|host| host.path[0] != main).map(|host| host.name.clone()).collect();
    match apart.len() {
        0 => Ok(()),
        count => Err(Flaw::Apart(apart.into_iter().take(5).collect(), count)),
    }
}

impl Wiring {
    fn sighted(&self) -> Result<Vec<Sighted>, ReadError> {
        let mut paths: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut sighted = vec![];
        for (name, switch) in &self.hosts {
            if !paths.contains_key(switch.as_str()) {
                paths.insert(switch, self.path(switch)?);
            }
            let path = paths[switch.as_str()].clone();
            sighted.push(Sighted { name: name.clone(), path, devices: None, kind: String::new() });
        }
        Ok(sighted)
    }

    /// A switch and all above it, outermost first.
    fn path(&self, switch: &str) -> Result<Vec<String>, ReadError> {
        if self.blocks {
            return Ok(vec!["network".into(), switch.into()]);
        }
        let (mut path, mut seen) = (vec![switch.to_string()], BTreeSet::from([switch]));
        let mut at = switch;
        while let Some(above) = self.above.get(at) {
            if !seen.insert(above) {
                let message = format!("switch {above} is below itself; break the cycle");
                return Err(Place::default().fail(message));
            }
            if path.len() == limits::LEVELS {
                return Err(Flaw::TooManyLevels(path.len() + 1).into());
            }
            path.push(above.clone());
            at = above;
        }
        path.reverse();
        Ok(path)
    }

    /// The slowest link speed of each level as a part of the innermost's; nothing when they do not differ.
    fn ratios(&self, hosts: &[Sighted], depth: usize) -> Option<Vec<f64>> {
        let mut least = vec![f64::INFINITY; depth];
        for host in hosts {
            for (at, least) in least.iter_mut().enumerate() {
                let switch = host.path.get(at).or(host.path.last())?;
                *least = least.min(*self.speeds.get(switch)?);
            }
        }
        let innermost = *least.last()?;
        let differ = least.iter().any(|speed| *speed != innermost);
        differ.then(|| least.into_iter().map(|speed| speed / innermost).collect())
    }

    fn join(
        &mut self,
        name: &str,
        nodes: Option<&str>,
        below: Option<&str>,
        place: Place,
    ) -> Result<(), ReadError> {
        let read = |list: &str| expand(list).map_err(|told| place.fail(told));
        let twice = |what: &str, who: &str, one: &str, other: &str| {
            Err(place.fail(format!("{what} {who} is below {one} and below {other}; name it once")))
        };
        if let Some(below) = below {
            for switch in read(below)? {
                match self.above.insert(switch.clone(), name.into()) {
                    Some(known) if known != name => return twice("switch", &switch, &known, name),
                    _ => {}
                }
            }
        } else if let Some(nodes) = nodes {
            // What is printed of a switch above others lists all nodes below it, too: those lines are not for us.
            self.hosts.extend(read(nodes)?.into_iter().map(|node| (node, name.to_string())));
        }
        if self.hosts.len().max(self.above.len()) > MOST_HOSTS {
            return Err(Flaw::TooManyHosts(self.hosts.len().max(self.above.len()), MOST_HOSTS).into());
        }
        Ok(())
    }
}

/// Lines of `SwitchName=... Nodes=... Switches=...` or `BlockName=... Nodes=...`.
fn from_lines(text: &str) -> Result<Wiring, ReadError> {
    let mut wiring = Wiring::default();
    for (number, line) in text.lines().enumerate() {
        let place = Place { line: number as u64 + 1, column: 0 };
        let words: BTreeMap<String, &str> = line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.to_lowercase(), value))
            .collect();
        let nodes = words.get("nodes").copied();
        if let Some(name) = words.get("blockname") {
            wiring.blocks = true;
            wiring.join(name, nodes, None, place)?;
        } else if let Some(name) = words.get("switchname") {
            wiring.join(name, nodes, words.get("switches").copied(), place)?;
            if let Some(speed) = words.get("linkspeed").and_then(|speed| speed.parse::<u64>().ok()) {
                wiring.speeds.insert(name.to_string(), speed.max(1) as f64);
            }
        }
    }
    match wiring.hosts.is_empty() {
        true => Err(Place::default()
            .fail("no line like SwitchName=s1 Nodes=n[1-4]; give a topology.conf, or the output of scontrol show topology")),
        false => Ok(wiring),
    }
}

/// The default topology of a `topology.yaml`, or the first that has hosts.
fn from_yaml(text: &str) -> Result<Wiring, ReadError> {
    let all = yaml::parse(text, "a list of topologies")?.list("a list of topologies")?;
    let mut chosen: Option<(bool, Node, &str)> = None;
    for topology in all {
        let (mut is_default, mut found) = (false, None);
        for (key, node) in topology.entries("a topology")? {
            match key.text("a field")? {
                "cluster_default" => is_default = node.text("cluster_default")? == "true",
                "tree" => found = Some((node, "switches")),
                "block" => found = Some((node, "blocks")),
                _ => {}
            }
        }
        if let Some((node, what)) = found
            && chosen.as_ref().is_none_or(|(known, ..)| is_default && !known)
        {
            chosen = Some((is_default, node, what));
        }
    }
    let Some((_, node, what)) = chosen else {
        return Err(Place::default().fail("no topology has a `tree` or a `block`; name one that has"));
    };
    let mut wiring = Wiring { blocks: what == "blocks", ..Wiring::default() };
    for (key, node) in node.entries("a topology")? {
        if key.text("a field")? != what {
            continue;
        }
        for item in node.list(what)? {
            let place = item.place;
            let (mut name, mut nodes, mut children) = (None, None, None);
            for (key, node) in item.entries(what)? {
                let Value::Text(text) = node.value else { continue };
                match key.text("a field")? {
                    "switch" | "block" => name = Some(text),
                    "nodes" => nodes = Some(text),
                    "children" => children = Some(text),
                    _ => {}
                }
            }
            let name = name.ok_or_else(|| place.fail("has no name, expected `switch` or `block`"))?;
            wiring.join(&name, nodes.as_deref(), children.as_deref(), place)?;
        }
    }
    Ok(wiring)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let Found { fabric, .. } = slurm(text, &Hints::default()).unwrap();
        let levels: Vec<&str> = fabric.levels.iter().map(|level| level.name.as_str()).collect();
        let hosts: Vec<String> =
            fabric.hosts.iter().map(|host| format!("{}:{}", host.name, host.domains.join("/"))).collect();
        format!("{} | {}", levels.join(" "), hosts.join(" "))
    }

    fn refused(text: &str) -> String {
        slurm(text, &Hints::default()).unwrap_err().message
    }

    #[test]
    fn switches_are_levels() {
        let text = "# two\nSwitchName=s0 Switches=s[1-2]\nSwitchName=s1 Nodes=n[01-02]\nSwitchName=s2 Nodes=n[03-03] # x\n";
        assert_eq!(shown(text), "switch-2 switch | n01:s1 n02:s1 n03:s2");
        let printed = "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s0 Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=s1\n";
        assert_eq!(shown(printed), "switch-2 switch | n1:s1 n2:s1");
        assert_eq!(shown("SwitchName=only Nodes=a,b"), "switch | a: b:");
    }

    #[test]
    fn a_host_that_hangs_higher_is_beside_its_own_switch() {
        let text = "SwitchName=top Switches=mid,far\nSwitchName=mid Switches=low\nSwitchName=low Nodes=a\nSwitchName=far Nodes=b\n";
        assert_eq!(shown(text), "switch-3 switch-2 switch | a:mid/low b:far/far");
    }

    #[test]
    fn blocks_and_yaml() {
        assert_eq!(
            shown("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n3\nBlockSizes=2\n"),
            "network block | n1:b1 n2:b1 n3:b2"
        );
        let tree = "- topology: x\n  tree:\n    switches:\n      - {switch: up, children: 's[1-2]'}\n      - {switch: s1, nodes: 'n[1-2]'}\n      - {switch: s2, nodes: n3}\n";
        assert_eq!(shown(tree), "switch-2 switch | n1:s1 n2:s1 n3:s2");
        let both = format!(
            "{tree}- topology: y\n  cluster_default: true\n  block:\n    block_sizes: [2]\n    blocks: [{{block: b, nodes: n9}}]\n"
        );
        assert_eq!(shown(&both), "network block | n9:b");
    }

    #[test]
    fn link_speeds_are_ratios_where_they_differ() {
        let text = "SwitchName=s0 Switches=s1 LinkSpeed=100\nSwitchName=s1 Nodes=n[1-2] LinkSpeed=400\n";
        let found = slurm(text, &Hints::default()).unwrap();
        assert_eq!(found.fabric.levels[0].link.bandwidth, 12.5e9);
        assert!(found.assumed[0].contains("ratio"), "{:?}", found.assumed);
        let hints = Hints { speeds: vec![("switch-2".into(), 1e9)], devices: Some(4), ..Hints::default() };
        let found = slurm(text, &hints).unwrap();
        assert_eq!((found.fabric.levels[0].link.bandwidth, found.fabric.hosts[0].devices), (1e9, 4));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let apart = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=x1\n";
        assert!(refused(apart).starts_with("nothing joins x1 to the other hosts"), "{}", refused(apart));
        let some = Hints { hosts: Some(vec!["n2".into(), "n1".into()]), ..Hints::default() };
        assert_eq!(slurm(apart, &some).unwrap().fabric.hosts[0].name, "n2");
        assert!(
            refused("SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=b Nodes=n1\n")
                .contains("break the cycle")
        );
        assert!(
            refused("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\nSwitchName=t Switches=a,b")
                .contains("duplicate host n1")
        );
        assert!(
            refused("SwitchName=t Switches=a\nSwitchName=u Switches=a\n").contains("below t and below u")
        );
        assert!(refused("SwitchName=a Nodes=n[1").contains("bracket"));
        assert!(refused("hello").contains("topology.conf"));
        let hints = Hints { speeds: vec![("leaf".into(), 1.0)], ..Hints::default() };
        let said = slurm("SwitchName=a Nodes=n1", &hints).unwrap_err().message;
        assert_eq!(said, "unknown level leaf; available: switch");
    }
}
