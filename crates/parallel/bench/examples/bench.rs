//! Runs one of the planners' benchmarks alone, without the rest of the product:
//! `cargo run --release -p consort-parallel-bench --example bench -- NAME [CASE...]`.

use consort_parallel_bench::SCENARIOS;
use std::path::PathBuf;

fn main() {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    let Some(scenario) = SCENARIOS.iter().find(|scenario| scenario.name == name) else {
        let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        eprintln!("unknown benchmark `{name}`; available: {}", names.join(", "));
        std::process::exit(2);
    };
    let data =
        PathBuf::from(std::env::var_os("CONSORT_BENCH_DATA").expect("CONSORT_BENCH_DATA names the data"));
    let wanted: Vec<String> = words.collect();
    let cases = match wanted.is_empty() {
        true => (scenario.cases)(&data).expect("the data can be read"),
        false => wanted,
    };
    let rows = scenario.run(&data, &cases, &mut |_, _, _| ()).expect("the data can be read");
    let mut missed = 0;
    for row in &rows {
        let figures: Vec<String> =
            row.figures.iter().map(|(name, value)| format!("{name} {value:.6}")).collect();
        let anchor =
            row.anchor.as_ref().map(|anchor| format!("  {} {} {}", anchor.who, anchor.metric, anchor.value));
        println!("{}  {}{}", row.case, figures.join("  "), anchor.unwrap_or_default());
        for miss in row.misses.iter().chain(&row.late) {
            println!("    missed: {miss}");
            missed += 1;
        }
    }
    println!("{} rows, {missed} misses", rows.len());
}
