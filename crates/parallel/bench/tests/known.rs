//! Planners beside known answers, where the data is at hand. Times are judged by `consort bench --check`, not here.

use consort_parallel_bench::SCENARIOS;
use std::io::Write;
use std::path::PathBuf;

/// Everything that a benchmark knows an answer to comes out right.
fn known(name: &str) {
    let Some(data) = std::env::var_os("CONSORT_BENCH_DATA").map(PathBuf::from) else {
        // Not by `eprintln!`, which tests that pass keep to themselves.
        let _ = writeln!(std::io::stderr(), "skipped: {name} (CONSORT_BENCH_DATA is not set)");
        return;
    };
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).expect("it is listed");
    let cases = (scenario.cases)(&data).expect("the data can be read");
    let rows = scenario.run(&data, &cases, &mut |_, _, _| ()).expect("the data can be read");
    assert!(rows.len() >= cases.len() && !rows.is_empty(), "{} rows of {} cases", rows.len(), cases.len());
    assert!(rows.iter().any(|row| row.anchor.is_some() || row.is_barred), "nothing is known");
    let missed: Vec<String> =
        rows.iter().flat_map(|row| row.misses.iter().map(|miss| format!("{}: {miss}", row.case))).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn task_graphs() {
    known("dag-list");
}

#[test]
fn partitions() {
    known("pipe");
}

#[test]
fn placements() {
    known("placement");
}

#[test]
fn schedules() {
    known("schedules");
}

#[test]
fn collectives() {
    known("collective");
}

#[test]
fn ring_orders() {
    known("ranks");
}

#[test]
fn batches() {
    known("split");
}

#[test]
fn stragglers() {
    known("stragglers");
}

#[test]
fn compressed_gradients() {
    known("compression");
}

#[test]
fn every_benchmark_is_tested() {
    assert_eq!(SCENARIOS.len(), 9, "a test for each");
}
