//! A copy of a living journal comes back as a data directory that runs nothing by itself.

use super::daemon::House;
use serde_json::json;
use std::fs;

#[test]
fn a_backup_of_a_living_journal_comes_back_and_runs_nothing() {
    let mut house = House::up(1);
    let client = house.client().expect("it is up");
    let ran = house.path("ran");
    let script = format!("echo $CONSORT_JOB_ID >> {}; sleep 60", ran.display());
    house.said(&["run", "--name", "done", "--devices", "1", "--", "true"]);
    let running = client.submit(&json!({"run": script, "workdir": "/"})).expect("accepted").id;
    let waiting = client.submit(&json!({"run": script, "workdir": "/"})).expect("accepted").id;
    house.until_state(running, &["running"]);
    let copy = house.json(&["backup", "copy.db", "--json"]);
    let position = client.status().expect("it answers").position;
    assert_eq!(copy["position"], json!(position), "{copy}");
    let again = house.run(&["backup", "copy.db"]);
    assert_eq!(again.status.code(), Some(2), "{}", String::from_utf8_lossy(&again.stderr));
    // A daemon that runs keeps its directory, and so does one that is not empty.
    let data = house.data();
    for says in ["is in use by consort", "is not empty"] {
        let refused = house.run(&["restore", "copy.db", "--data-dir", data.to_str().expect("a plain path")]);
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && error.contains(says), "{error}");
        if house.is_alive() {
            house.kill();
        }
    }
    // Another job ends after the backup; then the directory is lost.
    house.start();
    house.said(&["cancel", &running.to_string(), &waiting.to_string()]);
    house.until_state(waiting, &["cancelled"]);
    house.until_state(running, &["cancelled"]);
    house.kill();
    fs::rename(&data, house.path("lost")).expect("it is there");
    let before = fs::read_to_string(&ran).expect("it ran");
    let restored =
        house.json(&["restore", "copy.db", "--data-dir", data.to_str().expect("a plain path"), "--json"]);
    assert_eq!((&restored["position"], &restored["paused"]), (&json!(position), &json!(2)), "{restored}");
    house.start();
    for job in [running, waiting] {
        house.until_state(job, &["paused"]);
    }
    let status = house.said(&["status"]);
    assert!(status.contains("are paused, because the journal was restored from a backup"), "{status}");
    let done = house.json(&["show", "1", "--json"]);
    assert_eq!(done["state"], "succeeded", "{done}");
    house.said(&["run", "--devices", "1", "--", "true"]);
    assert_eq!(fs::read_to_string(&ran).expect("it ran"), before, "something ran a second time");
}

#[test]
fn a_file_that_is_no_whole_backup_is_refused() {
    let house = House::up(1);
    house.said(&["run", "--devices", "1", "--", "true"]);
    house.said(&["backup", "copy.db"]);
    let mut bytes = fs::read(house.path("copy.db")).expect("it is there");
    let at = bytes.windows(8).rposition(|part| part == b"\"submit\"").expect("a submission");
    bytes[at + 1] ^= 1;
    fs::write(house.path("flipped.db"), &bytes).expect("written");
    fs::write(house.path("cut.db"), &bytes[..bytes.len() / 2]).expect("written");
    fs::write(house.path("text.db"), "hello").expect("written");
    for file in ["flipped.db", "cut.db", "text.db", "nowhere.db"] {
        let refused = house.run(&["restore", file, "--data-dir", "new"]);
        let error = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{file}: {error}");
        assert!(error.contains(file), "{error}");
    }
    house.said(&["restore", "copy.db", "--data-dir", "new"]);
}
