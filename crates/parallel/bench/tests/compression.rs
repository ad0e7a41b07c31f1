//! The benchmark `compression` on the data, where it is at hand: nothing may be missed.

use consort_parallel_bench::SCENARIOS;
use std::path::Path;

#[test]
fn nothing_is_missed() {
    let Some(data) = std::env::var_os("CONSORT_BENCH_DATA") else {
        eprintln!("skipped: CONSORT_BENCH_DATA is not set");
        return;
    };
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "compression").expect("is listed");
    let data = Path::new(&data);
    let cases = (scenario.cases)(data).expect("the data can be read");
    let rows = (scenario.run)(data, &cases, &mut |_, _, _| ()).expect("the data can be read");
    assert!(!rows.is_empty());
    for row in &rows {
        assert!(row.misses.is_empty(), "{}: {:?}", row.case, row.misses);
    }
}
