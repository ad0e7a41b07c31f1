//! Any bytes as a log in the Standard Workload Format, and as the machine in its comments.
#![no_main]
use consort_sim::workload::swf;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = swf::parse("fuzz", bytes);
    if let Ok(cluster) = swf::parse_cluster("fuzz", bytes) {
        assert!(cluster.nodes.iter().all(|node| node.devices[0].count > 0));
    }
});
