//! How workers are asked to go, and made to.

use crate::house::{House, is_there, pid_in, sh, within};
use consort_types::{Grace, Outcome, Span};
use std::time::{Duration, Instant};

/// A line of shell that says into a file, at once, which process it is.
fn sign(file: &std::path::Path) -> String {
    format!("echo $$ > {0}.new; mv {0}.new {0}", file.display())
}

#[test]
fn those_who_go_when_asked_are_stopped() {
    let mut house = House::new();
    let file = house.path("pid");
    let id = house.start(
        1,
        sh(&format!("trap 'echo bye; exit 0' TERM; {}; while :; do sleep 0.01; done", sign(&file))),
    );
    house.started(id);
    pid_in(&file);
    house.stop(id);
    house.stop(id);
    assert_eq!(house.ended(id), Outcome::Stopped);
    assert!(house.log(id, 0).ends_with("bye\n"), "{}", house.log(id, 0));
    assert!(house.seen.is_empty(), "{:?}", house.seen);
}

#[test]
fn the_whole_group_has_its_grace() {
    let mut house = House::new();
    let file = house.path("pid");
    // The shell itself goes at once; what it runs needs a moment to save its work.
    let inner =
        format!("trap \"sleep 0.2; echo saved; exit 0\" TERM; {}; while :; do sleep 0.01; done", sign(&file));
    let id = house.start(1, sh(&format!("sh -c '{inner}' & sleep 60; true")));
    pid_in(&file);
    house.stop(id);
    assert_eq!(house.ended(id), Outcome::Stopped);
    assert!(house.log(id, 0).ends_with("saved\n"), "{}", house.log(id, 0));
}

#[test]
fn a_stubborn_tree_is_killed_when_grace_is_over() {
    let mut house = House::new();
    let (main, far) = (house.path("main"), house.path("far"));
    let inner = format!("trap \"\" TERM; {}; while :; do sleep 0.05; done", sign(&far));
    let mut work =
        sh(&format!("trap '' TERM; setsid sh -c '{inner}' & {}; while :; do sleep 0.05; done", sign(&main)));
    work.grace = Grace { signal: 15, span: Span(300_000_000) };
    let id = house.start(1, work);
    let pids = [pid_in(&main), pid_in(&far)];
    let begin = Instant::now();
    house.stop(id);
    assert_eq!(house.ended(id), Outcome::Stopped);
    assert!(begin.elapsed() >= Duration::from_millis(300), "{:?}", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert!(!pids.into_iter().any(is_there));
}

#[test]
fn the_signal_is_the_one_that_was_asked_for() {
    let mut house = House::new();
    let file = house.path("pid");
    let mut work =
        sh(&format!("trap 'echo usr; exit 0' USR1; {}; while :; do sleep 0.01; done", sign(&file)));
    work.grace.signal = 10;
    let id = house.start(1, work);
    pid_in(&file);
    house.stop(id);
    assert_eq!(house.ended(id), Outcome::Stopped);
    // The shell may add a word of its own about what it ran.
    assert!(house.log(id, 0).ends_with("usr\n"), "{}", house.log(id, 0));
}

#[test]
fn what_was_never_started_is_gone_at_once() {
    let mut house = House::new();
    let id = house.store(1, sh("exit 0"));
    house.stop(id);
    assert_eq!(house.ended(id), Outcome::Stopped);
}

#[test]
fn stopped_right_after_its_start_nothing_is_left() {
    let mut house = House::new();
    for _ in 0..30 {
        let id = house.start(1, sh("sleep 60"));
        house.stop(id);
        assert_eq!(house.ended(id), Outcome::Stopped);
    }
}

#[test]
fn done_before_it_was_asked_is_done() {
    let mut house = House::new();
    let id = house.start(1, sh("exit 0"));
    within("the record", || {
        matches!(house.slot(id, 0).look(), Ok(consort_agent::launch::Sight::Exited(_))).then_some(())
    });
    house.stop(id);
    assert_eq!(house.ended(id), Outcome::Succeeded);
}
