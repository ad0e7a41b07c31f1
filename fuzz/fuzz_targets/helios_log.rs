//! Any bytes as the job log that Helios publishes.
#![no_main]
use consort_sim::workload::helios_log;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = helios_log::parse("fuzz", bytes);
});
