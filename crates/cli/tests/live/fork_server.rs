//! The process that shims are forked from may be killed, stopped or left behind, and no job notices.

use super::daemon::{House, until};
use std::fs;
use std::process::Command;

/// Children of the daemon that carry room for a mark and no mark.
fn fork_server(house: &House) -> Option<u32> {
    let tasks = fs::read_dir(format!("/proc/{}/task", house.pid())).ok()?.flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let all: Vec<u32> = children
        .flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    all.into_iter().find(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.starts_with(b"CONSORT_SHIM=") && !environment.windows(3).any(|part| part == b"/w0")
    })
}

fn runs_a_job(house: &House) {
    assert_eq!(house.said(&["run", "--devices", "1", "--", "echo", "hello"]), "hello\n");
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().expect("kill runs").success());
}

#[test]
fn a_fork_server_that_is_killed_or_stopped_is_replaced() {
    let mut house = House::up(1);
    runs_a_job(&house);
    let first = fork_server(&house).expect("it was started with the first job");
    runs_a_job(&house);
    assert_eq!(fork_server(&house), Some(first), "one for all jobs");
    signal("-KILL", first);
    runs_a_job(&house);
    let second = fork_server(&house).expect("there is another one");
    assert_ne!(first, second);
    signal("-STOP", second);
    runs_a_job(&house);
    let third = fork_server(&house).expect("there is another one");
    assert_ne!(second, third);
    house.kill();
    until("its end", || (!fs::exists(format!("/proc/{third}")).unwrap_or(true)).then_some(()));
    house.start();
    runs_a_job(&house);
}
