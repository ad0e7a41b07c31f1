//! The shipped binary takes over data directories of released versions. What they hold in detail is compared by
//! `crates/daemon/tests/golden_journals`, which also keeps them.

use super::daemon::House;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn golden(file: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../daemon/tests/golden")).join(file)
}

/// A house whose data directory is a copy of a golden one.
fn house(name: &str) -> House {
    let house = House::empty("up");
    let mut tar = Command::new("tar");
    tar.arg("-xzpf")
        .arg(golden(&format!("{name}.tar.gz")))
        .arg("--no-same-owner")
        .arg("-C")
        .arg(house.path(""));
    assert!(tar.status().is_ok_and(|done| done.success()), "{name} cannot be unpacked");
    house
}

/// Lines of one kind in the expectation.
fn expected(name: &str, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(golden(&format!("{name}.jsonl"))).expect("an expectation");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter_map(|line| line.get(kind).cloned()).collect()
}

#[test]
fn journals_of_released_versions_are_replayed() {
    for name in ["local-0.1.0", "slurm-0.1.0"] {
        let house = house(name);
        let told = house.json(&["replay", "--json", house.data().to_str().expect("a plain path")]);
        let journal = &expected(name, "journal")[0];
        assert_eq!(told["events"], journal["position"], "{name}");
        assert_eq!(told["living"], journal["living"], "{name}");
        assert_eq!(told["submitted"].as_u64(), journal["next_job"].as_u64().map(|next| next - 1), "{name}");
    }
}

#[test]
fn a_data_directory_of_a_released_version_is_taken_over() {
    let name = "local-0.1.0";
    let mut house = house(name);
    house.start();
    let jobs = house.jobs();
    let listed: BTreeMap<u64, &Value> =
        jobs.iter().map(|job| (job["id"].as_u64().expect("a number"), job)).collect();
    let (ended, living) = (expected(name, "ended"), expected(name, "job"));
    assert_eq!(listed.len(), ended.len() + living.len());
    for job in &ended {
        let now = listed[&job["id"].as_u64().expect("a number")];
        for key in [
            "name",
            "tenant",
            "queue",
            "state",
            "exit_code",
            "attempts",
            "preemptions",
            "restarts",
            "devices",
        ] {
            assert_eq!(now[key], job[key], "{key} of job {}", job["id"]);
        }
    }
    // Nothing of what ran then runs now, so it begins again: only what was submitted is as it was.
    for job in &living {
        let now = listed[&job["id"].as_u64().expect("a number")];
        for key in ["name", "tenant", "queue", "priority"] {
            assert_eq!(now[key], job["spec"][key], "{key} of job {}", job["id"]);
        }
    }
    let journal = &expected(name, "journal")[0];
    let next = house.client().expect("it is up").submit(&serde_json::json!({"run": "true", "workdir": "/"}));
    assert_eq!(next.expect("accepted").id, journal["next_job"].as_u64().expect("a number"));
}
