//! `consort bench`: requests. What the benchmarks measure is tested where they are.

use super::*;

/// What there is in this version.
fn scenarios(folder: &Folder) -> Vec<serde_json::Value> {
    folder.run("bench --json").json().as_array().unwrap().clone()
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let folder = Folder::new();
    folder.run("bench jct-phily").refused(2, &["unknown benchmark `jct-phily`"]);
    folder.run("bench --check").refused(2, &["missing required argument <SCENARIO>"]);
    for scenario in scenarios(&folder) {
        let name = scenario["name"].as_str().unwrap();
        folder.run(&format!("bench {name}x --data .")).refused(2, &[&format!("did you mean `{name}`?")]);
        if !scenario["policies"].as_array().unwrap().is_empty() {
            folder.run(&format!("bench {name} --policy nobody --data .")).refused(2, &["`nobody`"]);
        }
        if !scenario["cases"].as_array().unwrap().is_empty() {
            folder.run(&format!("bench {name} --case none-such --data .")).refused(2, &["`none-such`"]);
        }
    }
}

#[test]
fn data_has_no_default() {
    let folder = Folder::new();
    for scenario in scenarios(&folder) {
        let name = scenario["name"].as_str().unwrap();
        if name != "plan-scale" {
            folder.run(&format!("bench {name}")).refused(2, &["--data DIR", "CONSORT_BENCH_DATA"]);
        }
        folder.run(&format!("bench {name} --data nowhere")).refused(2, &["nowhere: no such folder"]);
        let line = format!("bench {name} --data . --jobs-csv nowhere/jobs.csv");
        folder.run(&line).refused(2, &["no such folder: nowhere; create it first"]);
    }
}

#[test]
fn the_list_is_for_people_too() {
    let folder = Folder::new();
    let shown = folder.run("bench").done().out;
    for scenario in scenarios(&folder) {
        assert!(shown.contains(scenario["about"].as_str().unwrap()), "{shown}");
    }
}
