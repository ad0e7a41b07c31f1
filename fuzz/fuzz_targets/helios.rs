//! Any bytes as the two tables of the Helios kind; what is read can be converted.
#![no_main]
use consort_sim::workload::{helios, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(jobs) = helios::parse_jobs("fuzz", bytes) {
        assert_eq!(helios::to_workload(&jobs, "x").submissions.len(), jobs.len());
    }
    let _ = helios::parse_groups("fuzz", bytes);
    let _ = read::parse_workload("fuzz.csv", bytes);
});
