//! Every network of the data is placed at least as well as anybody is known to have placed it contiguously.

use consort_parallel_bench::SCENARIOS;
use std::path::PathBuf;

#[test]
fn nothing_listed_is_missed() {
    let Some(data) = std::env::var_os("CONSORT_BENCH_DATA").map(PathBuf::from) else {
        eprintln!("skipped: CONSORT_BENCH_DATA is not set");
        return;
    };
    let scenario =
        SCENARIOS.iter().find(|scenario| scenario.name == "placement").expect("the benchmark is there");
    let cases = (scenario.cases)(&data).expect("the data can be listed");
    assert!(!cases.is_empty());
    let rows = (scenario.run)(&data, &cases, &mut |_, _, _| ()).expect("the data can be read");
    // Times are judged in release builds by whoever runs the benchmark.
    let misses: Vec<String> = rows
        .iter()
        .flat_map(|row| row.misses.iter().map(move |miss| format!("{}: {miss}", row.case)))
        .filter(|miss| !miss.contains("of CPU time"))
        .collect();
    assert!(misses.is_empty(), "{misses:#?}");
}
