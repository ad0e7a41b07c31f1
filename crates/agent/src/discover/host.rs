//! Processors and memory of the machine, beside its devices.
//!
//! For: what workers take of them can be counted.
//! Promises: the processors this process may use, and the memory it may use: that of the machine, or less where a control
//! group says so. What cannot be told is 0, which means that it is not counted.
//! Never: looks at what is in use: what is promised counts, not what is touched.

use consort_types::Host;
use rustix::thread::sched_getaffinity;
use std::fs;
use std::path::Path;

/// What this process may use.
pub(super) fn find(root: &Path) -> Host {
    let cpus = sched_getaffinity(None).map_or(0, |set| u64::from(set.count()));
    Host { cpu_milli: cpus * 1000, memory_bytes: memory(root) }
}

fn memory(root: &Path) -> u64 {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let total = read("proc/meminfo").and_then(|text| kibibytes(&text, "MemTotal:")).unwrap_or(0) << 10;
    // In a container its own control group is what is seen at the top; elsewhere there is no limit there.
    let limits = ["sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = limits.into_iter().filter_map(|path| read(path)?.trim().parse::<u64>().ok());
    limits.fold(total, u64::min)
}

/// A line of `/proc/meminfo`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_the_machine_or_of_its_container() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(memory(dir.path()), 0);
        fs::create_dir_all(dir.path().join("proc")).unwrap();
        fs::create_dir_all(dir.path().join("sys/fs/cgroup")).unwrap();
        fs::write(dir.path().join("proc/meminfo"), "MemFree: 7 kB\nMemTotal:       2048 kB\n").unwrap();
        assert_eq!(memory(dir.path()), 2 << 20);
        for (limit, expected) in [("max", 2 << 20), ("1048576", 1 << 20), ("9999999999", 2 << 20)] {
            fs::write(dir.path().join("sys/fs/cgroup/memory.max"), limit).unwrap();
            assert_eq!(memory(dir.path()), expected, "{limit}");
        }
    }

    #[test]
    fn this_machine_has_some_of_both() {
        let host = find(Path::new("/"));
        assert!(host.cpu_milli >= 1000 && host.memory_bytes > 1 << 20, "{host:?}");
    }
}
