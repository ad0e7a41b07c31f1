//! Known answers of `dag-list`, where the data is there.

use consort_parallel_bench::SCENARIOS;
use std::path::PathBuf;

#[test]
fn nothing_differs_from_what_is_known() {
    let Some(data) = std::env::var_os("CONSORT_BENCH_DATA").map(PathBuf::from) else {
        eprintln!("skipped: CONSORT_BENCH_DATA is not set");
        return;
    };
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "dag-list").expect("it is there");
    let cases = (scenario.cases)(&data).expect("the data can be read");
    assert!(!cases.is_empty());
    let rows = (scenario.run)(&data, &cases, &mut |_, _, _| ()).expect("the data can be read");
    let misses: Vec<String> =
        rows.iter().flat_map(|row| row.misses.iter().map(|miss| format!("{}: {miss}", row.case))).collect();
    assert!(misses.is_empty(), "{}", misses.join("\n"));
    assert_eq!(rows.last().map(|row| &*row.case), Some("all"));
}
