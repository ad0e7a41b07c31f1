//! Collectives beside known answers, where the data is at hand.

use consort_parallel_bench::SCENARIOS;
use std::path::PathBuf;

#[test]
fn known_answers_are_met() {
    let Some(data) = std::env::var_os("CONSORT_BENCH_DATA") else {
        eprintln!("skipped: CONSORT_BENCH_DATA is not set");
        return;
    };
    let data = PathBuf::from(data);
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "collective").expect("it is listed");
    let cases = (scenario.cases)(&data).expect("the data can be read");
    let rows = (scenario.run)(&data, &cases, &mut |_, _, _| ()).expect("the data can be read");
    assert_eq!(rows.len(), cases.len());
    let missed: Vec<_> =
        rows.iter().filter(|row| !row.misses.is_empty()).map(|row| (&row.case, &row.misses)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
