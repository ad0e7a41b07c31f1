//! Known answers of pipeline schedules, where the data is at hand.

use consort_parallel_bench::SCENARIOS;
use std::path::PathBuf;

#[test]
fn schedules_meet_the_reference() {
    let Some(data) = std::env::var_os("CONSORT_BENCH_DATA").map(PathBuf::from) else {
        eprintln!("skipped: CONSORT_BENCH_DATA is not set");
        return;
    };
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "schedules").expect("it is there");
    // How long things take is judged by the benchmark, in a release build.
    let mut cases = (scenario.cases)(&data).expect("the data can be read");
    cases.retain(|case| !case.starts_with("speed-"));
    assert!(cases.len() > 10, "the data has cases");
    let rows = (scenario.run)(&data, &cases, &mut |_, _, _| ()).expect("the data can be read");
    assert_eq!(rows.len(), cases.len());
    for row in rows {
        assert!(row.misses.is_empty(), "{}: {:?}", row.case, row.misses);
    }
}
