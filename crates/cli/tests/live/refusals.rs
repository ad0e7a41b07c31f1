//! Bad input: one calm sentence, the right exit code, nothing half done.

use super::daemon::House;
use serde_json::json;
use std::fs;

/// Submits a file of this text; the exit code and what was said on standard error.
fn submitted(house: &House, text: &str) -> (i32, String) {
    let file = house.path("job.yaml");
    fs::write(&file, text).expect("a file");
    let output = house.run(&["submit", file.to_str().expect("a plain path")]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!error.contains("panicked"), "{error}");
    (output.status.code().unwrap_or(-1), error)
}

#[test]
fn a_daemon_of_root_writes_output_only_into_the_folder_of_the_job() {
    let house = House::up(1);
    let outside = tempfile::tempdir().expect("a folder");
    let target = outside.path().join("written");
    let file = |output: &str| submitted(&house, &format!("run: echo hello\noutput: {output}\n"));
    let target_text = target.to_str().expect("a plain path");
    let (code, error) = file(target_text);
    if !house.is_of_root() {
        assert_eq!(code, 0, "{error}");
        house.until_state(1, &["succeeded"]);
        assert_eq!(fs::read_to_string(target).expect("it was written"), "hello\n");
        return;
    }
    assert_eq!(code, 2, "{error}");
    assert!(error.contains(target_text) && error.contains("consort logs"), "{error}");
    assert_eq!(file("../out").0, 2);
    assert_eq!(house.jobs(), Vec::<serde_json::Value>::new());
    // What was a plain name when it was submitted may be a link when it is opened.
    std::os::unix::fs::symlink(outside.path(), house.path("out")).expect("a link");
    let (code, error) = file("out/written");
    assert_eq!(code, 0, "{error}");
    house.until_state(1, &["succeeded"]);
    assert!(!target.exists());
    assert_eq!(file("sub/%j.log").0, 0);
    house.until_state(2, &["succeeded"]);
    assert_eq!(fs::read_to_string(house.path("sub/2.log")).expect("it was written"), "hello\n");
}

#[test]
fn job_files_that_cannot_be_meant_are_refused_by_line_and_field() {
    let house = House::up(4);
    let long = "x".repeat(300);
    let huge = "y".repeat(200_000);
    let cases: Vec<(String, &str)> = vec![
        ("".into(), "is empty"),
        ("run: [true".into(), "is not YAML"),
        ("run: true\ndevises: 2\n".into(), "job.yaml:2"),
        ("run: true\ndevises: 2\n".into(), "did you mean `devices`"),
        ("run: true\ndevices: some\n".into(), "`devices` is `some`"),
        ("run: true\ndevices: 0\n".into(), "`devices`"),
        ("run: true\ndevices: 2\nworkers: 2\n".into(), "devices"),
        ("devices: 2\n".into(), "run"),
        ("run: true\ntime: 5 parsecs\n".into(), "5 parsecs"),
        ("run: true\nmemory: 40\n".into(), "unit"),
        (format!("run: true\nname: {long}\n"), "256 printable characters"),
        ("run: true\nname: \"a\\tb\"\n".into(), "256 printable characters"),
        ("run: true\nname: \"a\\u202eb\"\n".into(), "256 printable characters"),
        ("run: true\nname: \"train\\u200b\"\n".into(), "256 printable characters"),
        ("run: true\ndevices: !!int 1\n".into(), "tags are not supported"),
        ("run: true\nname: \"a\\0b\"\n".into(), "NUL"),
        (format!("run: true\nenv: {{BIG: {huge}}}\n"), "`BIG` is larger than 128 KiB"),
        ("run: true\nenv: {\"A=B\": 1}\n".into(), "A=B"),
        ("run: true\nafter: 99\n".into(), "waits for unknown job 99"),
        ("run: true\nkind: h900\n".into(), "h900"),
        ("run: true\nqueue: nowhere\n".into(), "nowhere"),
        ("run: true\ntenant: nobody\n".into(), "nobody"),
        ("run: true\ndevices: 5\n".into(), "4"),
        ("run: true\nworkers: 9\n".into(), "9"),
        ("run: true\nretries: -1\n".into(), "`retries`"),
        ("a: &x 1\nrun: *x\n".into(), "alias"),
    ];
    for (text, says) in cases {
        let (code, error) = submitted(&house, &text);
        let shown: String = text.chars().take(80).collect();
        assert_eq!(code, 2, "{shown}: {error}");
        assert!(error.contains(says), "{shown}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{shown}: {error}");
    }
    assert_eq!(house.jobs(), Vec::<serde_json::Value>::new());
}

#[test]
fn commands_that_cannot_be_run_fail_with_words() {
    let house = House::up(2);
    let client = house.client().expect("it is up");
    for (job, code, says) in [
        (json!({"run": ["no-such-program"], "workdir": "/"}), 127, "no-such-program"),
        (json!({"run": ["/etc/passwd"], "workdir": "/"}), 126, "/etc/passwd"),
        (json!({"run": ["true"], "workdir": "/no/such/folder"}), 126, "/no/such/folder"),
        (json!({"run": "exit 3", "workdir": "/"}), 3, ""),
        (json!({"run": "kill -9 $$", "workdir": "/"}), 137, ""),
    ] {
        let id = client.submit(&job).expect("accepted").id;
        let ended = house.until_state(id, &["failed"]);
        assert_eq!(ended["exit_code"], code, "{job}: {ended}");
        let log = house.said(&["logs", &id.to_string()]);
        assert!(log.contains(says), "{job}: {log}");
    }
}

#[test]
fn the_exit_code_of_a_job_is_the_exit_code_of_whoever_waits() {
    let house = House::up(2);
    let code = |words: &[&str]| house.run(words).status.code();
    assert_eq!(code(&["run", "--", "sh", "-c", "exit 5"]), Some(5));
    assert_eq!(code(&["run", "--", "true"]), Some(0));
    assert_eq!(code(&["wait", "1"]), Some(5));
    assert_eq!(code(&["wait", "1", "2"]), Some(5));
    assert_eq!(code(&["show", "99"]), Some(2));
    assert_eq!(code(&["cancel", "1"]), Some(0), "it has ended already");
    assert_eq!(code(&["cancel", "99"]), Some(2));
    assert_eq!(code(&["jobs", "--server", "http://127.0.0.1:9"]), Some(3));
    let output = house.run(&["run", "--", "sh", "-c", "echo out; exit 4"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out\n");
}

#[test]
fn limits_of_time_and_tries_are_kept_and_named() {
    let house = House::up(2);
    let client = house.client().expect("it is up");
    let slow = json!({"run": ["sleep", "60"], "workdir": "/", "time_limit": "200ms", "grace": "1s"});
    let slow = client.submit(&slow).expect("accepted").id;
    let ended = house.until_state(slow, &["failed"]);
    assert!(ended["reason"].as_str().is_some_and(|why| why.contains("time limit")), "{ended}");
    let tries = json!({"run": "exit 9", "workdir": "/", "retries": 2, "backoff": "10ms"});
    let tries = client.submit(&tries).expect("accepted").id;
    let ended = house.until_state(tries, &["failed"]);
    assert_eq!((&ended["attempts"], &ended["exit_code"]), (&json!(3), &json!(9)), "{ended}");
}

#[test]
fn a_program_is_no_job_file() {
    let house = House::up(1);
    for (name, text, remedy) in [
        ("p.py", "print(1)\n", "use `consort submit -- python p.py`"),
        ("program", "hello\n", "use `consort submit -- PROGRAM`"),
    ] {
        fs::write(house.path(name), text).expect("a file");
        let refused = house.command(&["submit", name]).current_dir(house.path("")).output().expect("it runs");
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(error.contains("is not a job file or shell script") && error.contains(remedy), "{error}");
    }
}
