//! Processors, one device each.
//!
//! For: a machine without accelerators can run things too, and work that needs none has a place beside those that do.
//! Promises: exactly the processors that this process may use, each near its own memory node; those of one memory node
//! form an island.
//! Never: counts a processor that a container or an administrator kept from us.

use crate::discover::inventory::{CPU, FoundDevice};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::fs;
use std::path::Path;

/// The processors this process may use.
pub(super) fn find(root: &Path, notes: &mut Vec<String>) -> Vec<FoundDevice> {
    match sched_getaffinity(None) {
        Ok(set) => {
            let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32);
            describe(root, allowed.collect())
        }
        Err(error) => {
            notes.push(format!("processors cannot be counted: {error}"));
            Vec::new()
        }
    }
}

fn describe(root: &Path, cpus: Vec<u32>) -> Vec<FoundDevice> {
    let nodes = memory_nodes(root);
    let node_of = |cpu: u32| nodes.iter().find(|(_, cpus)| cpus.contains(&cpu)).map(|&(node, _)| node);
    cpus.into_iter()
        .map(|cpu| FoundDevice {
            kind: CPU.into(),
            identity: format!("cpu{cpu}"),
            index: cpu,
            numa: node_of(cpu),
            cpus: vec![cpu],
            island: node_of(cpu),
            ..FoundDevice::default()
        })
        .collect()
}

/// The memory nodes of the machine and the processors of each.
pub(super) fn memory_nodes(root: &Path) -> Vec<(u32, Vec<u32>)> {
    let folder = root.join("sys/devices/system/node");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut nodes: Vec<(u32, Vec<u32>)> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            Some((number, parse_list(&fs::read_to_string(entry.path().join("cpulist")).ok()?)))
        })
        .collect();
    nodes.sort();
    nodes
}

/// `0-3,8,10-11`, as the kernel writes lists.
pub(super) fn parse_list(text: &str) -> Vec<u32> {
    let parts = text.trim().split(',').filter_map(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse::<u32>().ok()?..=to.trim().parse::<u32>().ok()?.min(1 << 16))
    });
    parts.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert!(parse_list("\n").is_empty());
        assert_eq!(parse_list("x,2"), [2]);
    }

    #[test]
    fn those_of_one_memory_node_are_an_island() {
        let dir = tempfile::tempdir().unwrap();
        for (node, cpus) in [("node0", "0-1"), ("node1", "2-3")] {
            let folder = dir.path().join("sys/devices/system/node").join(node);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cpulist"), cpus).unwrap();
        }
        let found = describe(dir.path(), vec![0, 2, 3]);
        let numas: Vec<_> = found.iter().map(|device| (device.index, device.numa)).collect();
        assert_eq!(numas, [(0, Some(0)), (2, Some(1)), (3, Some(1))]);
        assert_eq!(describe(Path::new("/nonexistent"), vec![5])[0].island, None);
    }

    #[test]
    fn this_machine_has_at_least_one() {
        let mut notes = Vec::new();
        assert!(!find(Path::new("/"), &mut notes).is_empty());
        assert_eq!(notes, Vec::<String>::new());
    }
}
