//! Any bytes as the two tables of Pollux and Sia.
#![no_main]
use consort_sim::workload::sia;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = sia::parse("fuzz", bytes);
    let _ = sia::parse_pool("fuzz", bytes);
});
