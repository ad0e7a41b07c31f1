//! The order of hosts in a ring, beside known answers.

use consort_parallel_bench::SCENARIOS;
use std::path::PathBuf;

#[test]
fn rings_are_the_best() {
    let Some(data) = std::env::var_os("CONSORT_BENCH_DATA").map(PathBuf::from) else {
        eprintln!("skipped: CONSORT_BENCH_DATA is not set");
        return;
    };
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "ranks").expect("it is there");
    let cases = (scenario.cases)(&data).expect("the data can be read");
    let rows = (scenario.run)(&data, &cases, &mut |_, _, _| ()).expect("the data can be read");
    assert_eq!(rows.len(), cases.len());
    for row in rows {
        // Time is judged in release builds, by the benchmark.
        let misses: Vec<&String> = row.misses.iter().filter(|miss| !miss.starts_with("took ")).collect();
        assert!(misses.is_empty(), "{}: {misses:?}", row.case);
    }
}
