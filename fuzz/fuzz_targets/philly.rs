//! Any bytes as Philly's job log and list of machines.
#![no_main]
use consort_sim::workload::philly;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = philly::parse("fuzz", bytes);
    let _ = philly::parse_cluster("fuzz", bytes);
});
