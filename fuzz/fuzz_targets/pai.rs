//! Any bytes as PAI's tables; a line of hashes divides tasks from jobs.
#![no_main]
use consort_sim::workload::{pai, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let at = bytes.windows(3).position(|three| three == b"###").unwrap_or(bytes.len());
    let (tasks, jobs) = bytes.split_at(at);
    let _ = pai::parse(("tasks", tasks), jobs.get(3..).map(|jobs| ("jobs", jobs)));
    let _ = pai::parse_cluster("fuzz", bytes);
    let _ = read::parse_cluster("fuzz.csv", bytes);
});
