//! Cancelling several jobs with one command.

use super::daemon::{House, until};

#[test]
fn no_job_of_a_list_starts_because_another_of_it_was_cancelled() {
    let house = House::up(1);
    let submit = |_| {
        let words =
            ["submit", "--devices", "1", "--json", "--", "/bin/sh", "-c", "echo ran >> ran; sleep 300"];
        house.json(&words)["id"].as_u64().expect("an id")
    };
    let ids: Vec<u64> = (0..20).map(submit).collect();
    house.until_state(ids[0], &["running"]);
    let mut words = vec!["cancel".to_string()];
    words.extend(ids.iter().map(u64::to_string));
    house.said(&words.iter().map(String::as_str).collect::<Vec<_>>());
    for &id in &ids {
        let job = house.until_state(id, &["cancelled"]);
        let attempts = if id == ids[0] { 1 } else { 0 };
        assert_eq!(job["attempts"], attempts, "{job}");
    }
    let ran = std::fs::read_to_string(house.path("ran")).expect("the first one ran");
    assert_eq!(ran, "ran\n");
}

#[test]
fn what_has_ended_needs_no_cancelling() {
    let house = House::up(1);
    house.said(&["submit", "--", "sleep", "300"]);
    house.said(&["submit", "--after", "1", "--", "true"]);
    // Cancelling the first ends the second, which stands in the list as well.
    house.said(&["cancel", "1", "2"]);
    house.until_state(1, &["cancelled"]);
    let again = house.run(&["cancel", "1", "2"]);
    let note = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.success() && note.contains("job 2 has already ended"), "{note}");
    assert_eq!(house.run(&["cancel", "9"]).status.code(), Some(2));
    // A job that never started has no output, and that is said.
    let logs = house.run(&["logs", "2"]);
    let note = String::from_utf8_lossy(&logs.stderr).into_owned();
    assert!(logs.status.success() && note.contains("ended before it started"), "{note}");
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it is alive");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is told");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_job_of_very_many_tasks_leaves_no_memory_behind() {
    let house = House::up(1);
    house.said(&["submit", "--devices", "1", "--", "sleep", "300"]);
    let before = resident_kib(house.pid());
    house.said(&["submit", "--devices", "1", "--export", "none", "--array", "1-400000", "--", "true"]);
    let held = resident_kib(house.pid()) - before;
    house.said(&["cancel", "2"]);
    house.until_state(2, &["cancelled"]);
    until("memory to be given back", || (resident_kib(house.pid()) < before + held / 4).then_some(()));
}

#[test]
fn a_list_is_done_as_far_as_it_can_be() {
    let house = House::up(1);
    let words = ["submit", "--devices", "1", "--json", "--", "sleep", "300"];
    let id = house.json(&words)["id"].to_string();
    let output = house.run(&["cancel", "998", &id, "999"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("998") && errors.contains("999"), "{errors}");
    house.until_state(id.parse().expect("an id"), &["cancelled"]);
}
