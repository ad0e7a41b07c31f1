//! A journal that lost acknowledged events: nothing starts by itself, and nothing runs a second time.

use super::daemon::{House, until};
use std::fs;
use std::process::Command;

fn lines(house: &House) -> usize {
    fs::read_to_string(house.path("ran")).map_or(0, |text| text.lines().count())
}

/// A daemon of whose journal the log is gone: in it was the end of job 1, which left one line.
fn without_its_log() -> House {
    let mut house = House::up(1);
    let script = format!("sleep 0.5; echo ran >> {}", house.path("ran").display());
    let client = house.client().expect("it is up");
    let job = client.submit(&serde_json::json!({"run": script, "workdir": "/"})).expect("accepted");
    house.until_state(job.id, &["running"]);
    let asked = Command::new("kill").args(["-TERM", &house.pid().to_string()]).status();
    assert!(asked.is_ok_and(|status| status.success()) && house.wait().success(), "{}", house.log());
    let log = fs::metadata(house.data().join("journal.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0, "a clean stop takes the log in");
    until("the worker to end", || (lines(&house) == 1).then_some(()));
    house.start();
    house.until_state(job.id, &["succeeded"]);
    house.kill();
    fs::remove_file(house.data().join("journal.db-wal")).expect("it is there");
    house
}

#[test]
fn a_lost_log_is_refused_and_then_nothing_runs_twice() {
    let mut house = without_its_log();
    let data = house.data();
    for _ in 0..2 {
        let up = ["up", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("a plain path")];
        let refused = house.run(&up);
        let error = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{error}");
        assert!(error.contains("had been acknowledged") && error.contains("--accept-loss"), "{error}");
    }
    house.words = vec!["--accept-loss".into()];
    house.start();
    let job = house.json(&["show", "1", "--json"]);
    assert_eq!(job["state"], "paused", "{job}");
    assert!(data.join("journal.damaged-1").exists());
    for _ in 0..2 {
        let status = house.said(&["status"]);
        assert!(status.contains("job 1 is paused, because the journal ends with event"), "{status}");
        assert!(status.contains("`consort resume JOB`"), "{status}");
        // Said again by a daemon that finds nothing wrong.
        house.words.clear();
        house.kill();
        house.start();
    }
    // Others run past it.
    house.said(&["run", "--devices", "1", "--", "true"]);
    assert_eq!(lines(&house), 1, "it ran a second time");
    house.said(&["resume", "1"]);
    house.until_state(1, &["succeeded"]);
    assert_eq!(lines(&house), 2, "its owner asked for that");
    let status = house.json(&["status", "--json"]);
    house.kill();
    house.start();
    let notes = house.json(&["status", "--json"])["notes"].clone();
    assert_eq!(notes.as_array().map(Vec::len), Some(0), "{notes} after {status}");
}

#[test]
fn a_journal_removed_in_use_stops_the_daemon() {
    let mut house = House::up(1);
    let data = house.data();
    let line = format!("echo begun; sleep 2; echo ran >> {}", house.path("ran").display());
    house.said(&["submit", "--", "sh", "-c", &line]);
    house.until_state(1, &["running"]);
    for name in ["journal.db", "journal.db-wal", "journal.db-shm", "journal.acknowledged", "snapshot"] {
        let _ = fs::remove_file(data.join(name));
    }
    let submitted = house.run(&["submit", "--", "true"]);
    assert!(!submitted.status.success(), "{}", String::from_utf8_lossy(&submitted.stdout));
    assert!(!house.wait().success());
    let log = house.log();
    assert!(log.contains("was removed while it was in use"), "{log}");
    until("the job to end by itself", || (lines(&house) == 1).then_some(()));
    let words = ["up", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("a plain path")];
    let refused = house.run(&words);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{error}");
    assert!(error.contains("although consort was here") && error.contains("--accept-loss"), "{error}");
    house.words = vec!["--accept-loss".into()];
    house.start();
    assert!(data.join("journal.damaged-1.logs/1").exists());
    house.said(&["run", "--devices", "1", "--", "true"]);
}

#[test]
fn pipes_in_place_of_files_hold_up_no_start() {
    let mut house = House::up(1);
    house.kill();
    let pipe = |house: &House, name: &str| {
        let path = house.data().join(name);
        let _ = fs::remove_file(&path);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|made| made.success()), "{name}");
    };
    // Those that are only a hint are made anew.
    ["clock", "journal.uncertain"].into_iter().for_each(|name| pipe(&house, name));
    house.start();
    house.kill();
    for name in ["inventory.json", "devices.yaml"] {
        pipe(&house, name);
        let data = house.data();
        let words = ["up", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("a plain path")];
        let refused = house.run(&words);
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(error.contains(&format!("{name} is not a regular file")), "{error}");
        fs::remove_file(data.join(name)).expect("it is there");
    }
}
