//! `submit` takes what `run` takes, and returns at once.

use super::daemon::House;
use serde_json::Value;
use std::fs;

#[test]
fn a_command_is_submitted_with_the_flags_of_run() {
    let house = House::up(2);
    let words = ["submit", "--name", "tune", "--devices", "1", "--array", "3,7", "--deadline", "+2h"];
    let rest = [
        "--estimate",
        "10m",
        "--time",
        "1h",
        "--kind",
        "SLOT",
        "--",
        "sh",
        "-c",
        "echo $CONSORT_TASK $0",
        "x",
    ];
    let said = house.said(&[&words[..], &rest].concat());
    assert_eq!(said, "Job 1 (tune) is submitted.\n");
    house.until_state(1, &["succeeded"]);
    let shown = house.json(&["show", "1", "--json"]);
    assert_eq!((&shown["estimate_s"], &shown["time_limit_s"]), (&600.0.into(), &3600.0.into()), "{shown}");
    assert!(shown["deadline"].is_string(), "{shown}");
    let mut lines: Vec<String> = house.said(&["logs", "1"]).lines().map(String::from).collect();
    lines.sort();
    assert_eq!(lines, ["[task 3] 3 x", "[task 7] 7 x"]);
    // It does not wait for the job, and with --wait it ends as the job does.
    house.said(&["submit", "--", "sleep", "60"]);
    let waited = house.run(&["submit", "--wait", "--", "sh", "-c", "exit 7"]);
    assert_eq!(waited.status.code(), Some(7), "{waited:?}");
}

#[test]
fn a_file_or_a_command_and_not_both() {
    let house = House::up(1);
    fs::write(house.path("job.yaml"), "run: true\n").expect("a file");
    for (words, said) in [
        (&["submit"][..], "missing required argument <FILE>"),
        (&["submit", "job.yaml", "--", "true"], "cannot be used with"),
        (&["submit", "--array", "0-x", "--", "true"], "expected indices like 0-9,12"),
        (&["submit", "--deadline", "soon", "--", "true"], "expected a time from now like +6h"),
    ] {
        let output = house.run(words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        assert!(error.contains(said), "{words:?}: {error}");
    }
}

#[test]
fn run_prints_json_when_asked() {
    let house = House::up(2);
    let output = house.run(&["run", "--json", "--", "sh", "-c", "echo one; printf two; exit 3"]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stdout).expect("text");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [one, two, job] = &objects[..] else { panic!("{said}") };
    assert_eq!((&one["text"], &two["text"], &one["attempt"]), (&"one".into(), &"two".into(), &1.into()));
    assert_eq!((&job["state"], &job["exit_code"]), (&"failed".into(), &3.into()), "{job}");
    let ran = house.json(&["version", "--json"]);
    assert_eq!(ran["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn tasks_of_an_array_do_not_stop_each_other_and_are_called_by_their_index() {
    let house = House::up(2);
    let script = "[ $CONSORT_TASK = 20 ] && exit 9; sleep 0.3; echo $CONSORT_TASK $CONSORT_KIND";
    let array = ["submit", "--wait", "--array", "10,20,30"];
    let ran = house.run(&[&array[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(ran.status.code(), Some(9));
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(told.contains("1 of 3 tasks failed: task 20 failed with status 9"), "{told}");
    assert_eq!(house.said(&["logs", "1"]), "[task 10] 10 slot\n[task 30] 30 slot\n");
    let lines = house.said(&["logs", "1", "--json"]);
    assert!(lines.contains(r#""task":30,"text":"30 slot","worker":"task 30""#), "{lines}");
    let why = house.json(&["explain", "1", "--json"])["sentences"].to_string();
    assert!(why.contains("Its tasks waited"), "{why}");
    let stop = ["submit", "--wait", "--array", "0-3", "--on-failure", "stop", "--", "sh", "-c"];
    let ran = house.run(&[&stop[..], &["[ $CONSORT_TASK = 1 ] && exit 3; sleep 300"]].concat());
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.code() == Some(3) && told.contains("task 1 failed with status 3"), "{told}");
}
