//! Slurm's tree of switches, as levels.
//!
//! For: topology.conf, or what `scontrol show topology` prints of it, becomes the levels that placement knows.
//! Promises: the level right above the nodes is `switch`, those above it `switch-2`, `switch-3` and so on; with
//! topology/block the level is `block`. A node that hangs higher than others keeps the same domain on the levels it lacks;
//! one that is nowhere is alone.
//! Never: guesses bandwidths.

use consort_types::LevelSpec;
use consort_types::file::hosts;
use std::collections::{BTreeMap, BTreeSet};

/// More levels than anybody wires.
const DEEPEST: usize = 16;

/// Where nodes are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Outermost first.
    pub levels: Vec<LevelSpec>,
    paths: BTreeMap<String, Vec<String>>,
}

impl Topology {
    /// These levels, on which every node is alone.
    pub fn apart(levels: Vec<LevelSpec>) -> Self {
        Self { levels, paths: BTreeMap::new() }
    }

    /// The domains of a node, outermost first.
    pub fn path(&self, node: &str) -> Vec<String> {
        self.paths.get(node).cloned().unwrap_or_else(|| vec![node.to_owned(); self.levels.len()])
    }

    /// Reads lines of `SwitchName=... Nodes=... Switches=...` or `BlockName=... Nodes=...`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines: Vec<BTreeMap<String, &str>> =
            text.lines().map(words).filter(|words| !words.is_empty()).collect();
        if lines.iter().any(|line| line.contains_key("blockname")) {
            return blocks(&lines);
        }
        switches(&lines)
    }
}

/// `Name=value` words of a line, names in lower case; what follows `#` is for people.
fn words(line: &str) -> BTreeMap<String, &str> {
    let line = line.split('#').next().unwrap_or_default();
    line.split_whitespace()
        .filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.to_lowercase(), value))
        .collect()
}

fn level(name: impl Into<String>) -> LevelSpec {
    LevelSpec { name: name.into(), link: None }
}

/// The names of a list; all lists together have no more of them than a cluster has.
fn members(list: &str, left: &mut usize) -> Result<Vec<String>, String> {
    let all = hosts::expand(list)?;
    *left = left.checked_sub(all.len()).ok_or("the topology has more nodes than any cluster")?;
    Ok(all)
}

fn blocks(lines: &[BTreeMap<String, &str>]) -> Result<Topology, String> {
    let (mut paths, mut left) = (BTreeMap::new(), hosts::MOST);
    for line in lines {
        if let (Some(name), Some(nodes)) = (line.get("blockname"), line.get("nodes")) {
            for node in members(nodes, &mut left)? {
                paths.insert(node, vec![(*name).to_owned()]);
            }
        }
    }
    Ok(Topology { levels: vec![level("block")], paths })
}

fn switches(lines: &[BTreeMap<String, &str>]) -> Result<Topology, String> {
    let mut parent: BTreeMap<String, String> = BTreeMap::new();
    let mut leaf: BTreeMap<String, String> = BTreeMap::new();
    let mut left = hosts::MOST;
    for line in lines {
        let Some(&name) = line.get("switchname") else { continue };
        match (line.get("switches"), line.get("nodes")) {
            (Some(below), _) => {
                for switch in members(below, &mut left)? {
                    parent.insert(switch, name.to_owned());
                }
            }
            // What is printed for a switch above others lists all nodes below it, too.
            (None, Some(nodes)) => {
                for node in members(nodes, &mut left)? {
                    leaf.insert(node, name.to_owned());
                }
            }
            (None, None) => {}
        }
    }
    let mut paths = BTreeMap::new();
    for (node, switch) in &leaf {
        let (mut path, mut seen) = (vec![switch.clone()], BTreeSet::from([switch]));
        while let Some(above) = parent.get(&path[0]) {
            if !seen.insert(above) {
                return Err(format!("the topology has a cycle at switch {above}"));
            }
            if path.len() == DEEPEST {
                return Err(format!("the topology has more than {DEEPEST} levels above node {node}"));
            }
            path.insert(0, above.clone());
        }
        paths.insert(node.clone(), path);
    }
    let depth = paths.values().map(Vec::len).max().unwrap_or(0);
    for path in paths.values_mut() {
        while path.len() < depth {
            path.insert(0, path[0].clone());
        }
    }
    let named = |nth: usize| if nth == 1 { level("switch") } else { level(format!("switch-{nth}")) };
    Ok(Topology { levels: (1..=depth).rev().map(named).collect(), paths })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> (String, String) {
        let topology = Topology::parse(text).unwrap();
        let levels: Vec<&str> = topology.levels.iter().map(|level| level.name.as_str()).collect();
        let paths: Vec<String> =
            topology.paths.iter().map(|(node, path)| format!("{node}:{}", path.join("/"))).collect();
        (levels.join(" "), paths.join(" "))
    }

    #[test]
    fn what_scontrol_prints() {
        let text = "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[3-4]\nSwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[0-1]\n";
        assert_eq!(shown(text), ("switch-2 switch".into(), "n1:top/s0 n2:top/s0 n3:top/s1 n4:top/s1".into()));
    }

    #[test]
    fn a_file_with_remarks_and_uneven_depth() {
        let text =
            "# fabric\nSwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n2 # far\nSwitchName=up switches=s0\n";
        assert_eq!(shown(text), ("switch-2 switch".into(), "n1:up/s0 n2:s1/s1".into()));
        let topology = Topology::parse(text).unwrap();
        assert_eq!(topology.path("elsewhere"), ["elsewhere", "elsewhere"]);
        assert_eq!(shown(""), (String::new(), String::new()));
    }

    #[test]
    fn blocks_are_a_level() {
        assert_eq!(
            shown("BlockName=b1 Nodes=n[1-2]\nBlockSizes=2\n"),
            ("block".into(), "n1:b1 n2:b1".into())
        );
    }

    #[test]
    fn circles_and_bad_lists_are_told() {
        let circle = "SwitchName=a Nodes=n1\nSwitchName=b Switches=a,c\nSwitchName=c Switches=b\n";
        assert!(Topology::parse(circle).unwrap_err().contains("a cycle at switch"));
        assert!(Topology::parse("SwitchName=a Nodes=n[1").unwrap_err().contains("cannot be parsed"));
        let deep: String = (1..20).map(|up| format!("SwitchName=s{up} Switches=s{}\n", up - 1)).collect();
        let told = Topology::parse(&format!("SwitchName=s0 Nodes=n1\n{deep}")).unwrap_err();
        assert_eq!(told, "the topology has more than 16 levels above node n1");
        let many = "SwitchName=a Nodes=n[1-90000]\nSwitchName=b Nodes=m[1-90000]\n";
        assert!(Topology::parse(many).unwrap_err().contains("more nodes than any cluster"));
    }
}
