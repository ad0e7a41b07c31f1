//! A daemon that was away finds everything again.

use crate::house::{House, is_there, pid_in, sh, within};
use consort_agent::launch::Sight;
use consort_agent::process::kill_leftovers;
use consort_agent::status::{self, Claim};
use consort_types::{Cause, Outcome};
use std::process::Command;

fn kill(pid: i32) {
    assert!(Command::new("/bin/kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

#[test]
fn what_runs_is_adopted() {
    let mut house = House::new();
    let (go, runs) = (house.path("end"), house.path("runs"));
    let id = house.start(
        1,
        sh(&format!(
            "echo run >> {}; while [ ! -e {} ]; do sleep 0.01; done; exit 4",
            runs.display(),
            go.display()
        )),
    );
    house.started(id);
    house.shim_of(id, 0);
    house.open();
    house.want(id, 1);
    house.started(id);
    std::fs::write(go, "").unwrap();
    assert!(matches!(house.ended(id), Outcome::Failed { code: 4, .. }));
    assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n");
}

#[test]
fn what_ended_meanwhile_is_told() {
    let mut house = House::new();
    let id = house.start(1, sh("sleep 0.1"));
    house.shim_of(id, 0);
    house.world = None;
    let slot = house.slot(id, 0);
    within("its end", || matches!(slot.look(), Ok(Sight::Exited(_))).then_some(()));
    house.open();
    house.want(id, 1);
    house.started(id);
    assert_eq!(house.ended(id), Outcome::Succeeded);
}

#[test]
fn what_was_only_ordered_is_started() {
    let mut house = House::new();
    let id = house.store(1, sh("exit 5"));
    std::fs::create_dir_all(house.slot(id, 0).folder()).unwrap();
    house.want(id, 1);
    assert!(matches!(house.ended(id), Outcome::Failed { code: 5, .. }));
}

#[test]
fn a_gang_that_was_not_let_go_is_let_go() {
    let mut house = House::new();
    let id = house.start(3, sh("exit 0"));
    house.started(id);
    house.ended(id);
    // The same gang, as a daemon leaves it that dies before it gives the word.
    let id = house.store(3, sh("exit 0"));
    let all = consort_types::AllocationId { attempt: 1, ..id };
    let other = house.start(3, sh("exec sleep 60"));
    house.started(other);
    house.want(all, 3);
    for rank in 0..3 {
        house.shim_of(all, rank);
    }
    house.open();
    house.want(all, 3);
    house.started(all);
    assert_eq!(house.ended(all), Outcome::Succeeded);
    // Nobody speaks of the other one: it is swept away without a word.
    house.world.as_mut().unwrap().clear_all_but([]);
    let folder = house.slot(other, 0).folder().parent().unwrap().to_owned();
    within("the sweep", || (!folder.exists()).then_some(()));
    house.look();
    assert!(house.seen.is_empty(), "{:?}", house.seen);
}

#[test]
fn a_shim_that_is_killed_takes_its_worker_with_it() {
    let mut house = House::new();
    let (near, far) = (house.path("near"), house.path("far"));
    let sign = |file: &std::path::Path| format!("echo $$ > {0}.new; mv {0}.new {0}", file.display());
    let text = format!("setsid sh -c '{}; exec sleep 60' & {}; sleep 60; true", sign(&far), sign(&near));
    let id = house.start(1, sh(&text));
    let pids = [pid_in(&near), pid_in(&far)];
    kill(house.shim_of(id, 0).shim.pid);
    // Nobody but the work itself had a reason to, so that it is not tried without end.
    assert_eq!(house.ended(id), Outcome::Failed { code: 137, cause: Cause::Signal });
    assert!(!pids.into_iter().any(is_there));
}

#[test]
fn a_shim_that_was_killed_while_nobody_looked_leaves_nothing() {
    let mut house = House::new();
    let far = house.path("far");
    let text =
        format!("sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 60' & sleep 60; true", far.display());
    let id = house.start(1, sh(&text));
    let pid = pid_in(&far);
    let shim = house.shim_of(id, 0).shim;
    house.world = None;
    kill(shim.pid);
    within("its death", || (!is_there(shim.pid)).then_some(()));
    house.open();
    house.want(id, 1);
    assert_eq!(house.ended(id), Outcome::Stopped);
    assert!(!is_there(pid));
    assert_eq!(kill_leftovers(Some(&shim), house.slot(id, 0).folder()), []);
}

#[test]
fn two_shims_for_one_slot_run_one_worker() {
    let mut house = House::new();
    let runs = house.path("runs");
    let text = format!("echo run >> {}; sleep 0.2", runs.display());
    let id = house.store(1, sh(&text));
    let (slot, command) =
        (house.slot(id, 0), consort_types::Command::Program(vec!["/bin/sh".into(), "-c".into(), text]));
    let folder = slot.folder().to_owned();
    house.leave_order(id, &folder, Some(slot.record()), command);
    house.want(id, 1);
    let mut others: Vec<_> =
        (0..8).map(|_| Command::new(&house.shim).arg(&folder).spawn().unwrap()).collect();
    // Whoever of them was first, the outcome is one.
    assert_eq!(house.ended(id), Outcome::Succeeded);
    for other in &mut others {
        other.wait().unwrap();
    }
    let late = Command::new(&house.shim).arg(&folder).status().unwrap();
    assert_eq!(late.code(), Some(5));
    assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n");
}

#[test]
fn a_slot_whose_lock_is_held_is_left_alone() {
    let mut house = House::new();
    let id = house.start(1, sh("exit 0"));
    house.ended(id);
    let folder = house.path("slot");
    std::fs::create_dir(&folder).unwrap();
    // As an older daemon writes it: the record is in the slot.
    house.leave_order(id, &folder, None, consort_types::Command::Program(vec!["true".into()]));
    let Claim::Ours(held) = status::claim(&folder.join("status")).unwrap() else { panic!("it is new") };
    let turned_away = Command::new(&house.shim).arg(&folder).status().unwrap();
    assert_eq!(turned_away.code(), Some(5));
    drop(held);
    // Another test may be starting a process at this moment, which holds a copy of our descriptor until it runs.
    within("the lock", || Command::new(&house.shim).arg(&folder).status().unwrap().success().then_some(()));
}

#[test]
fn what_was_closed_is_not_started_by_a_late_shim() {
    let mut house = House::new();
    let ran = house.path("ran");
    let id = house.store(1, sh(&format!("touch {}", ran.display())));
    house.stop(id);
    house.ended(id);
    let slot = house.slot(id, 0);
    slot.close().unwrap();
    house.open();
    house.want(id, 1);
    house.expect("an ending", |input| !matches!(input, consort_types::Input::Started(_)));
    assert!(!ran.exists());
}
