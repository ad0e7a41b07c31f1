//! What `devices` means: accelerators, however a job is submitted. Processors only for jobs that name them, and where
//! there is nothing else.

use super::cards;
use super::daemon::House;
use std::fs;

/// Runs one job to its end and returns what it wrote.
fn output(house: &House, words: &[&str]) -> String {
    let submitted = house.json(&[&["submit", "--json", "--wait"], words].concat());
    house.said(&["logs", &submitted["id"].to_string()])
}

const LOOK: &str = "echo sees ${CUDA_VISIBLE_DEVICES:-nothing}";

#[test]
fn devices_are_accelerators_however_a_job_is_submitted() {
    let mut house = cards::house(1);
    house.start();
    let file = |name: &str, text: String| {
        fs::write(house.path(name), text).expect("a file");
        name.to_string()
    };
    let card = format!("sees {}\n", cards::uuid(0));
    assert_eq!(house.said(&["run", "--devices", "1", "--", "sh", "-c", LOOK]), card);
    assert_eq!(house.said(&["run", "--", "sh", "-c", LOOK]), card);
    // A command that is left to itself.
    for flags in [&["--devices", "1"][..], &["--gpus", "1"], &["--kind", "H200"], &[]] {
        assert_eq!(output(&house, &[flags, &["--", "sh", "-c", LOOK]].concat()), card, "{flags:?}");
    }
    // A job file, with and without flags.
    for text in [
        format!("run: {LOOK}\n"),
        format!("devices: 1\nrun: {LOOK}\n"),
        format!("kind: H200\nrun: {LOOK}\n"),
        format!("resources: {{accelerators: H200:1}}\nrun: {LOOK}\n"),
    ] {
        let name = file("job.yaml", text.clone());
        assert_eq!(output(&house, &[&name]), card, "{text}");
        assert_eq!(output(&house, &["--devices", "1", &name]), card, "{text}");
    }
    // A script, with flags or lines that ask for a device.
    let plain = file("plain.sh", format!("#!/bin/sh\n{LOOK}\n"));
    for flags in [
        &["--devices", "1"][..],
        &["--workers", "1", "--devices-per-worker", "1"],
        &["--kind", "H200"],
        &["--memory", "1GiB"],
    ] {
        assert_eq!(output(&house, &[flags, &[&plain]].concat()), card, "{flags:?}");
    }
    for line in ["--gres=gpu:1", "-G 1", "--gpus-per-node=h200:1", "--gpus-per-task=H200:1"] {
        let name = file("asks.sh", format!("#!/bin/sh\n#SBATCH {line}\n{LOOK}\n"));
        assert_eq!(output(&house, &[&name]), card, "{line}");
        let id = house.said(&["sbatch", "--parsable", "--wait", &name]);
        assert_eq!(house.said(&["logs", id.trim()]), card, "{line}");
    }
    let id = house.said(&["sbatch", "--parsable", "--wait", "--gres=gpu:1", &plain]);
    assert_eq!(house.said(&["logs", id.trim()]), card);
    // By name, or in a script that asks for no device, processors.
    assert_eq!(house.said(&["run", "--kind", "cpu", "--", "sh", "-c", LOOK]), "sees nothing\n");
    assert_eq!(output(&house, &[&plain]), "sees nothing\n");
    let id = house.said(&["sbatch", "--parsable", "--wait", "-c", "1", &plain]);
    assert_eq!(house.said(&["logs", id.trim()]), "sees nothing\n");
    // Over the wire too.
    let job = serde_json::json!({"run": LOOK, "devices": 1, "workdir": "/"});
    let id = house.client().expect("a client").submit(&job).expect("a job").id;
    house.until_state(id, &["succeeded"]);
    assert_eq!(house.said(&["logs", &id.to_string()]), card);
}

#[test]
fn where_there_is_no_accelerator_processors_are_devices() {
    let mut house = cards::house(0);
    house.start();
    let kind = "echo $CONSORT_DEVICES";
    assert!(!house.said(&["run", "--devices", "1", "--", "sh", "-c", kind]).is_empty());
    fs::write(house.path("plain.sh"), "#!/bin/sh\ntrue\n").expect("a file");
    let job = house.json(&["submit", "--json", "--wait", "--devices", "1", "plain.sh"]);
    assert_eq!(job["state"], "succeeded", "{job}");
}

#[test]
fn work_goes_on_where_devices_are_declared_no_more() {
    let mut house = House::up(8);
    let declare = |house: &House, count: u32| {
        let file = house.data().join("devices.yaml");
        let text = fs::read_to_string(&file).expect("it is there");
        let (before, rest) = text.split_once("count: ").expect("a count");
        let (_, behind) = rest.split_once(',').expect("more fields");
        fs::write(file, format!("{before}count: {count},{behind}")).expect("written");
    };
    house.said(&["submit", "--name", "six", "--devices", "6", "--", "sleep", "600"]);
    house.until_state(1, &["running"]);
    house.kill();
    declare(&house, 4);
    house.start();
    let status = house.said(&["status"]);
    assert!(status.contains("4 devices are no longer declared; job 1 (six) keeps its devices"), "{status}");
    assert_eq!(house.json(&["show", "1", "--json"])["state"], "running");
    let states = |house: &House| -> Vec<String> {
        let devices = house.json(&["devices", "--json"]);
        let devices = devices["devices"].as_array().or(devices.as_array()).expect("a list").clone();
        devices.iter().map(|device| device["state"].as_str().expect("a state").to_owned()).collect()
    };
    assert_eq!(states(&house)[5..], ["used", "unhealthy", "unhealthy"]);
    // A second start says the same, and nothing new comes to where it is not wanted.
    house.kill();
    house.start();
    house.said(&["cancel", "1"]);
    house.until_state(1, &["cancelled"]);
    assert_eq!(states(&house)[3..], ["free", "foreign", "foreign", "unhealthy", "unhealthy"]);
    house.said(&["submit", "--name", "five", "--devices", "5", "--", "true"]);
    house.said(&["run", "--devices", "4", "--", "true"]);
    assert_eq!(house.json(&["show", "2", "--json"])["state"], "waiting");
    house.kill();
    house.start();
    let why = house.said(&["explain", "2"]);
    assert!(why.contains("it can never start here: the whole cluster has no room for it"), "{why}");
    // Declared again, they are used again.
    house.kill();
    declare(&house, 8);
    house.start();
    house.until_state(2, &["succeeded"]);
}
