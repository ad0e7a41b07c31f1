//! Any bytes as a workload of Gavel or Shockwave, and as a table of throughputs.
#![no_main]
use consort_sim::workload::gavel::{self, Throughputs};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let table = br#"{"v100": {"('LM', 1)": {"null": 5.0}, "('LM', 2)": {"null": 0.0}}}"#;
    let table = Throughputs::parse("table", table).expect("the table is good");
    let _ = gavel::parse("fuzz", bytes, Some(&table));
    let _ = gavel::parse("fuzz", bytes, None);
    let _ = Throughputs::parse("fuzz", bytes);
});
