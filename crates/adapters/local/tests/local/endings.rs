//! How workers end, and what is told of it.

use crate::house::{House, sh, work};
use consort_types::World;
use consort_types::{Cause, Command, Input, Outcome};

fn failed(code: i32, cause: Cause) -> Outcome {
    Outcome::Failed { code, cause }
}

#[test]
fn the_exit_status_is_told() {
    let mut house = House::new();
    assert_eq!(house.run(sh("exit 0")).0, Outcome::Succeeded);
    assert_eq!(house.run(sh("exit 7")).0, failed(7, Cause::Exit));
}

#[test]
fn a_signal_is_told_as_a_shell_would() {
    assert_eq!(House::new().run(sh("kill -USR1 $$")).0, failed(138, Cause::Signal));
}

#[test]
fn what_cannot_be_run_is_said_in_the_log() {
    let mut house = House::new();
    let (outcome, log) = house.run(work(Command::Program(vec!["no-such-program".into()])));
    assert_eq!(outcome, failed(127, Cause::NotRun));
    assert!(log.contains("no-such-program: command not found"), "{log}");
    let (outcome, log) = house.run(work(Command::Program(vec!["/dev/null".into()])));
    assert_eq!(outcome, failed(126, Cause::NotRun));
    assert!(log.contains("cannot be executed"), "{log}");
    let mut nowhere = sh("exit 0");
    nowhere.workdir = "/no/such/folder".into();
    let (outcome, log) = house.run(nowhere);
    assert_eq!(outcome, failed(126, Cause::NotRun));
    assert!(log.contains("/no/such/folder"), "{log}");
}

#[test]
fn output_of_both_kinds_is_kept_in_order() {
    let (outcome, log) = House::new().run(sh("echo one; echo two >&2; echo three"));
    assert_eq!((outcome, log.as_str()), (Outcome::Succeeded, "one\ntwo\nthree\n"));
}

#[test]
fn scripts_are_read_by_whom_they_name() {
    let mut house = House::new();
    let script = |text: &str| Command::Script { text: text.into(), arguments: vec!["a b".into()] };
    assert_eq!(house.run(work(script("#!/bin/sh\necho \"$1\" $0"))).1.split('/').next(), Some("a b "));
    let (_, log) = house.run(work(script("[ -n \"$BASH\" ] && echo \"bash $1\"")));
    assert_eq!(log, "bash a b\n");
}

#[test]
fn the_environment_is_the_workers_own() {
    let mut one = sh("echo $RANK $WORLD_SIZE $CONSORT_JOB $MINE $INHERITED; env | grep -c '^HOME=' ; exit 0");
    one.env = vec![("MINE".into(), "x y".into())];
    one.inherited = vec![("INHERITED".into(), "z".into()), ("RANK".into(), "77".into())];
    assert_eq!(House::new().run(one).1, "0 1 1 x y z\n0\n");
}

#[test]
fn what_is_not_stored_is_refused() {
    let mut house = House::new();
    let mut id = house.store(1, sh("exit 0"));
    id.ask.job.0 = 99;
    house.want(id, 1);
    let why = house.refused(id);
    assert!(why.contains("cannot read the command of job 99: nobody stored it"), "{why}");
}

#[test]
fn a_shim_that_is_not_there_is_refused() {
    let mut house = House::new();
    house.shim = "/no/such/shim".into();
    house.open();
    let id = house.start(1, sh("exit 0"));
    let why = house.refused(id);
    assert!(why.contains("/no/such/shim"), "{why}");
}

#[test]
fn a_shim_that_is_killed_before_it_begins_is_started_again() {
    let mut house = House::new();
    let killed = house.path("killed");
    house.shim_script(&format!(
        "[ -e {0} ] || {{ touch {0}; kill -9 $$; }}; exec $SHIM \"$1\"",
        killed.display()
    ));
    assert_eq!(house.run(sh("exit 7")).0, failed(7, Cause::Exit));
    assert!(killed.exists());
    house.shim_script("kill -9 $$");
    let id = house.start(1, sh("exit 7"));
    assert_eq!(house.ended(id), Outcome::Stopped);
}

#[test]
fn a_shim_that_cannot_read_its_order_is_not_the_works_fault() {
    let mut house = House::new();
    let broken = house.path("broken");
    std::fs::write(&broken, "").unwrap();
    house.shim_script(&format!("[ ! -e {} ] || exit 3; exec $SHIM \"$1\"", broken.display()));
    let id = house.start(1, sh("exit 7"));
    assert_eq!(house.ended(id), Outcome::Stopped);
    // From now on it is looked at more closely, until one begins.
    let id = house.start(1, sh("exit 7"));
    let why = house.refused(id);
    assert!(why.contains("cannot read its order"), "{why}");
    assert!(!house.seen.contains(&Input::Started(id)));
    std::fs::remove_file(broken).unwrap();
    assert_eq!(house.run(sh("exit 7")).0, failed(7, Cause::Exit));
}

#[test]
fn shims_lead_a_session_of_their_own() {
    let mut house = House::new();
    let id = house.start(1, sh("exec sleep 60"));
    let pid = house.shim_of(id, 0).shim.pid;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
    assert_eq!(session, pid.to_string());
    house.stop(id);
    assert_eq!(house.ended(id), Outcome::Stopped);
}

#[test]
fn a_pipe_that_nobody_reads_does_not_keep_a_worker_from_being_stopped() {
    let mut house = House::new();
    let pipe = house.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut work = sh("echo x; exec sleep 60");
    work.output.path = Some(pipe.display().to_string());
    let id = house.start(1, work);
    house.shim_of(id, 0);
    house.stop(id);
    assert_eq!(house.ended(id), Outcome::Stopped);
}

#[test]
fn tasks_of_one_job_are_read_once() {
    let mut house = House::new();
    let mut id = house.store(1, sh("exit 0"));
    for task in 0..3 {
        id.ask.task = task;
        house.want(id, 1);
        assert_eq!(house.ended(id), Outcome::Succeeded);
    }
    assert_eq!(house.shelf.asked(), 1);
}

#[test]
fn those_left_behind_are_ended_too() {
    let mut house = House::new();
    let file = house.path("pid");
    let text = format!(
        "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 60' & while [ ! -e {0} ]; do sleep 0.01; done",
        file.display()
    );
    assert_eq!(house.run(sh(&text)).0, Outcome::Succeeded);
    assert!(!crate::house::is_there(crate::house::pid_in(&file)));
}

#[test]
fn forgotten_folders_go_and_logs_stay() {
    let mut house = House::new();
    let script = Command::Script { text: "echo hello".into(), arguments: vec![] };
    let id = house.start(1, crate::house::work(script));
    house.ended(id);
    assert!(house.slot(id, 0).folder().exists());
    house.world.as_mut().unwrap().settled(&[id]);
    crate::house::within("removal", || {
        (!house.slot(id, 0).folder().parent().unwrap().exists()).then_some(())
    });
    assert_eq!(house.log(id, 0), "hello\n");
}

#[test]
fn a_program_of_its_own_needs_no_folder() {
    let mut house = House::new();
    let id = house.start(1, sh("echo hello"));
    assert_eq!(house.ended(id), Outcome::Succeeded);
    assert!(std::fs::read_dir(house.run_dir()).unwrap().next().is_none());
}

#[test]
fn told_twice_it_runs_once() {
    let mut house = House::new();
    let file = house.path("runs");
    let id = house.start(1, sh(&format!("echo run >> {}", file.display())));
    house.want(id, 1);
    house.ended(id);
    house.want(id, 1);
    std::thread::sleep(std::time::Duration::from_millis(100));
    house.look();
    assert_eq!(std::fs::read_to_string(file).unwrap(), "run\n");
    assert_eq!(house.seen.len(), 1, "only Started is left: {:?}", house.seen);
}
