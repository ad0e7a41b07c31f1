//! The machine's clock is set while the daemon is down: time limits count what really passed.

use super::daemon::{House, until};
use serde_json::json;
use std::time::{Duration, Instant};

const THREE_DAYS: i64 = 3 * 86_400;

/// Kills the daemon, and starts it again with the clock set so many seconds ahead.
fn again(house: &mut House, down: Duration, offset: i64) {
    house.kill();
    std::thread::sleep(down);
    house.env = vec![("CONSORT_TEST_CLOCK_OFFSET".into(), offset.to_string())];
    house.start();
}

#[test]
fn a_clock_three_days_ahead_ends_no_job() {
    let mut house = House::up(1);
    let client = house.client().expect("it is up");
    let job = json!({"run": ["sleep", "60"], "workdir": "/", "time": "1h"});
    let id = client.submit(&job).expect("accepted").id;
    house.until_state(id, &["running"]);
    for offset in [THREE_DAYS, 2 * THREE_DAYS, 0] {
        again(&mut house, Duration::ZERO, offset);
        let client = house.client().expect("it is up");
        // Something happens, so that a plan is made.
        client.submit(&json!({"run": ["true"], "workdir": "/"})).expect("accepted");
        let found = house.json(&["show", &id.to_string(), "--json"]);
        assert_eq!((&found["state"], &found["attempts"]), (&json!("running"), &json!(1)), "{found}");
    }
    house.said(&["cancel", &id.to_string()]);
}

#[test]
fn a_clock_set_back_lengthens_no_time_limit() {
    let mut house = House::up(1);
    let client = house.client().expect("it is up");
    let job = json!({"run": ["sleep", "600"], "workdir": "/", "time": "20s", "grace": "1s"});
    let id = client.submit(&job).expect("accepted").id;
    house.until_state(id, &["running"]);
    let began = Instant::now();
    again(&mut house, Duration::from_secs(12), -THREE_DAYS);
    let ended = house.until_state(id, &["failed"]);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(28), "the twelve seconds without a daemon count: {took:?}");
    assert!(ended["reason"].as_str().is_some_and(|why| why.contains("time limit")), "{ended}");
    // Without work, the clock of the machine is believed again, but never behind the last event.
    let position = house.json(&["status", "--json"])["position"].clone();
    again(&mut house, Duration::ZERO, 0);
    until("a job to run", || {
        house.run(&["run", "--devices", "1", "--", "true"]).status.success().then_some(())
    });
    assert!(house.json(&["status", "--json"])["position"].as_u64() > position.as_u64());
}
