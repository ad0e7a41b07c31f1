//! Any text as a cluster file; a cluster that is read is within bounds and becomes inputs.
#![no_main]
use consort_sim::workload::{cluster_file, limits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(cluster) = cluster_file::parse("fuzz", text) {
        assert!(cluster.devices() > 0 && cluster.devices() <= limits::DEVICES);
        assert!(cluster.nodes.iter().all(|node| node.domains.len() == cluster.settings.levels.len()));
        if cluster.nodes.len() < 1_000 {
            assert!(cluster.inputs().len() > cluster.nodes.len());
        }
    }
});
