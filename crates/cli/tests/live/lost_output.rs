//! Output that could not be kept is told, in the record of the job and wherever its output is shown.

use super::daemon::{House, until};
use serde_json::json;
use std::fs;

/// A file of the system on which every write fails for want of room.
const FULL: &str = "/dev/full";

#[test]
fn output_that_a_full_disk_did_not_take_is_told() {
    let house = House::up(1);
    let client = house.client().expect("it is up");
    let job = json!({"run": ["echo", "hello"], "output": FULL, "workdir": "/tmp"});
    let id = client.submit(&job).expect("accepted").id;
    let lost = house.until_state(id, &["succeeded"])["output_lost"].clone();
    assert_eq!(lost["bytes"], 6, "{lost}");
    assert!(lost["since"].as_str().is_some_and(|since| since.starts_with("20")), "{lost}");
    let id = id.to_string();
    let shown = house.said(&["show", &id]);
    assert!(shown.contains("output lost") && shown.contains("6 bytes, from 20"), "{shown}");
    let logs = house.run(&["logs", &id]);
    let said = String::from_utf8_lossy(&logs.stderr).into_owned();
    assert!(said.contains(&format!("output of job {id} was lost: 6 bytes, from 20")), "{said}");
    assert!(
        house.said(&["events"]).contains("6 bytes of the output of attempt 1 of job"),
        "{}",
        house.said(&["events"])
    );
    let fine = client.submit(&json!({"run": ["echo", "hello"], "workdir": "/tmp"})).expect("accepted").id;
    assert_eq!(house.until_state(fine, &["succeeded"])["output_lost"], json!(null));
}

#[test]
fn what_was_lost_while_no_daemon_was_there_is_told_too() {
    let mut house = House::up(1);
    let (go, done) = (house.path("go"), house.path("done"));
    let script =
        format!("until [ -e {} ]; do sleep 0.01; done; echo hello; touch {}", go.display(), done.display());
    let job = json!({"run": ["sh", "-c", script], "output": FULL, "workdir": "/tmp"});
    let id = house.client().expect("it is up").submit(&job).expect("accepted").id;
    house.until_state(id, &["running"]);
    house.kill();
    fs::write(&go, "").expect("a file");
    until("its end", || done.exists().then_some(()));
    house.start();
    assert_eq!(house.until_state(id, &["succeeded"])["output_lost"]["bytes"], 6);
}
