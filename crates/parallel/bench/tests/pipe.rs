//! The benchmark `pipe` on the data, where there is any.

use consort_parallel_bench::SCENARIOS;
use std::path::PathBuf;

#[test]
fn every_known_answer_is_met() {
    let Some(data) = std::env::var_os("CONSORT_BENCH_DATA").map(PathBuf::from) else {
        eprintln!("skipped: CONSORT_BENCH_DATA is not set");
        return;
    };
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "pipe").unwrap();
    let cases = (scenario.cases)(&data).unwrap();
    let rows = (scenario.run)(&data, &cases, &mut |_, _, _| ()).unwrap();
    let missed: Vec<String> = rows
        .iter()
        .flat_map(|row| row.misses.iter().map(|miss| format!("{}: {miss}", row.case)))
        // How long it takes says something in a release build on a quiet machine only.
        .filter(|miss| !miss.contains("ms of CPU"))
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(rows.len() > 1);
}
