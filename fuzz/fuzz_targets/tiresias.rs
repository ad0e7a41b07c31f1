//! Any bytes as the two tables of the Tiresias simulator; what is read can be converted.
#![no_main]
use consort_sim::workload::tiresias;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(jobs) = tiresias::parse_jobs("fuzz", bytes) {
        assert_eq!(tiresias::to_workload(&jobs, "x").submissions.len(), jobs.len());
    }
    let _ = tiresias::parse_cluster("fuzz", bytes, "x");
});
