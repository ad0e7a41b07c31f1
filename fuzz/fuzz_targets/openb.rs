//! Any bytes as openb's lists of pods and nodes; what is read can be converted.
#![no_main]
use consort_sim::workload::openb;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(pods) = openb::parse_pods("fuzz", bytes) {
        assert!(openb::to_workload(&pods).submissions.len() <= pods.len());
    }
    if let Ok(nodes) = openb::parse_nodes("fuzz", bytes) {
        assert_eq!(openb::to_cluster(&nodes).nodes.len(), nodes.len());
    }
});
