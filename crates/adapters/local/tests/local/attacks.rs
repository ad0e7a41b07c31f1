//! Jobs that attack their own slot, or the slot of another job.
//!
//! Whatever a job does to the files that Consort keeps about it: it runs once, it ends, and everything else goes on.

use crate::house::{House, is_there, pid_in, sh, within};
use consort_agent::launch::allocation_name;
use consort_agent::process::Identity;
use consort_agent::status::{self, Exited, Record, Started};
use consort_types::{AllocationId, AskId, Cause, Command, JobId, Outcome, Work, World};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// What a job may put in the place of a file, as a line of shell over `$1`.
const ATTACKS: [(&str, &str); 10] = [
    ("delete", "rm -rf $1"),
    ("fifo", "rm -rf $1; mkfifo $1"),
    ("directory", "rm -rf $1; mkdir -p $1/in-the-way"),
    ("link to a file of the system", "rm -rf $1; ln -s /etc/passwd $1"),
    ("link to itself", "rm -rf $1; ln -s $1 $1"),
    ("sparse", "rm -rf $1; truncate -s 3T $1"),
    ("garbage", "rm -rf $1; head -c 70000 /dev/urandom > $1"),
    ("empty", "rm -rf $1; : > $1"),
    ("chmod", "chmod 000 $1"),
    ("move", "mv $1 $1.moved"),
];

const FAILED: Outcome = Outcome::Failed { code: 3, cause: Cause::Exit };

fn runs(house: &House) -> usize {
    std::fs::read_to_string(house.path("runs")).unwrap_or_default().lines().count()
}

/// Everything that is kept about an attempt, as paths from the folder of the world. `#` needs no quotes inside a word.
fn kept(id: AllocationId) -> Vec<String> {
    let name = allocation_name(id);
    let slot = ["/status", "/launch.json", "/.launch.json.0", "/script", ""];
    let mut kept: Vec<String> = slot.iter().map(|file| format!("run/{name}/w0{file}")).collect();
    kept.extend([format!("run/{name}/go"), format!("run/{name}"), format!("records/{name}.w0")]);
    kept.extend(["run".into(), "records".into(), "records/boot".into()]);
    kept
}

/// A job that says that it ran, attacks a file, waits until it may end, and ends with status 3.
fn attacker(house: &House, attack: &str, file: &str) -> Work {
    sh(&format!(
        "cd {}; echo run >> runs; set -- $PWD/{file}; mkdir -p ${{1%/*}}; {attack}; touch attacked; \
         until [ -e end ]; do sleep 0.01; done; exit 3",
        house.path("").display()
    ))
}

/// All attacks on everything that is kept.
fn each(mut attempt: impl FnMut(&mut House, AllocationId, &str)) {
    for (name, attack) in ATTACKS {
        let count = kept(AllocationId { ask: AskId::whole(JobId(1)), attempt: 1 }).len();
        for file in 0..count {
            let mut house = House::new();
            let id = house.store(1, sh("exit 0"));
            let file = kept(id).swap_remove(file);
            house.replace(id, attacker(&house, attack, &file));
            attempt(&mut house, id, &format!("{name} on {file}"));
            assert_eq!(runs(&house), 1, "{name} on {file}");
        }
    }
}

#[test]
fn no_attack_on_its_files_changes_how_a_job_ends() {
    each(|house, id, what| {
        std::fs::write(house.path("end"), "").unwrap();
        house.want(id, 1);
        assert_eq!(house.ended(id), FAILED, "{what}");
        house.world.as_mut().unwrap().settled(&[id]);
        // The folders themselves are made again if they are gone, and not removed if something else is there.
        if !what.ends_with("run") && !what.ends_with("records")
            || what.contains("delete")
            || what.contains("move")
        {
            assert_eq!(house.run(sh("exit 0")).0, Outcome::Succeeded, "{what}");
        }
    });
}

#[test]
fn after_an_attack_a_daemon_that_returns_finds_the_job_running() {
    each(|house, id, what| {
        house.want(id, 1);
        house.started(id);
        within(what, || house.path("attacked").exists().then_some(()));
        house.reopen();
        house.want(id, 1);
        house.started(id);
        std::thread::sleep(std::time::Duration::from_millis(20));
        house.look();
        assert!(!house.has_ended(id), "{what}: {:?}", house.seen);
        std::fs::write(house.path("end"), "").unwrap();
        assert!(matches!(house.ended(id), Outcome::Failed { .. }), "{what}");
    });
}

#[test]
fn after_an_attack_a_daemon_that_returns_too_late_does_not_run_it_again() {
    each(|house, id, what| {
        house.want(id, 1);
        house.started(id);
        let shim = house.shims().pop().expect("it is there");
        within(what, || house.path("attacked").exists().then_some(()));
        house.world = None;
        std::fs::write(house.path("end"), "").unwrap();
        within(what, || (!is_there(shim)).then_some(()));
        house.reopen();
        house.want(id, 1);
        let outcome = house.ended(id);
        // Without its record nobody knows any more; what is not known did not succeed.
        assert!(matches!(outcome, Outcome::Failed { .. } | Outcome::Stopped), "{what}: {outcome:?}");
    });
}

#[test]
fn a_gang_that_deletes_everything_is_watched_and_ends() {
    let mut house = House::new();
    let text = format!(
        "cd {}; echo run >> runs; [ $RANK != 0 ] || rm -rf $(dirname $CONSORT_SLOT) records/*; \
         touch attacked.$RANK; until [ -e end ]; do sleep 0.01; done",
        house.path("").display()
    );
    let id = house.start(3, sh(&text));
    house.started(id);
    for rank in 0..3 {
        within("an attack", || house.path(&format!("attacked.{rank}")).exists().then_some(()));
    }
    house.reopen();
    house.want(id, 3);
    house.started(id);
    std::thread::sleep(std::time::Duration::from_millis(50));
    house.look();
    assert!(!house.has_ended(id) && house.shims().len() == 3, "{:?}", house.seen);
    std::fs::write(house.path("end"), "").unwrap();
    assert!(matches!(house.ended(id), Outcome::Failed { .. }));
    assert_eq!(runs(&house), 3);
}

#[test]
fn what_a_job_leaves_in_its_folder_is_removed() {
    let mut house = House::new();
    let id = house.start(
        1,
        sh("mkdir -p $CONSORT_SLOT; cd $CONSORT_SLOT; i=0; while [ $i -lt 200 ]; do mkdir d; cd d; i=$((i+1)); done; \
            mkfifo f; ln -s / l; cd $CONSORT_SLOT; seq 5000 | xargs touch; chmod 000 d"),
    );
    assert_eq!(house.ended(id), Outcome::Succeeded);
    house.world.as_mut().unwrap().settled(&[id]);
    let (folder, record) = (house.slot(id, 0).folder().parent().unwrap().to_owned(), house.slot(id, 0));
    within("removal", || (!folder.exists() && !record.is_recorded()).then_some(()));
}

#[test]
fn a_process_that_a_record_names_is_left_alone() {
    let mut house = House::new();
    let mut other = std::process::Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
    within("it leads a session", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", other.id())).ok()?;
        stat.contains("(sleep)").then_some(())
    });
    let shim = Identity::of(other.id() as i32).unwrap();
    let groups = vec![house.path("planted")];
    std::fs::create_dir(&groups[0]).unwrap();
    std::fs::write(groups[0].join("cgroup.procs"), format!("{}\n", other.id())).unwrap();
    for born in [shim.born, shim.born + 1] {
        let id = house.store(1, sh("exit 0"));
        let shim = Identity { born, ..shim.clone() };
        let started = Record::Started(Started { groups: groups.clone(), ..Started::by(shim) });
        std::fs::write(house.slot(id, 0).record(), status::line(&started)).unwrap();
        house.reopen();
        house.want(id, 1);
        house.stop(id);
        house.ended(id);
        assert!(other.try_wait().unwrap().is_none(), "a stranger was killed");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn records_of_an_older_version_are_found() {
    let mut house = House::new();
    let id = house.start(1, sh("exit 0"));
    house.ended(id);
    // The same attempt as an older version leaves it: the record in the slot, and a shim without a mark.
    let slot = house.slot(id, 0);
    let end = house.path("end");
    let words = ["/bin/sh", "-c", &format!("until [ -e {} ]; do sleep 0.01; done; exit 3", end.display())];
    let command = Command::Program(words.map(String::from).into());
    house.leave_order(id, slot.folder(), None, command);
    house.world = None;
    std::fs::remove_dir_all(house.record_dir()).unwrap();
    let mut shim = std::process::Command::new(&house.shim).arg(slot.folder()).env_clear().spawn().unwrap();
    let old = slot.folder().join("status");
    within("its record", || std::fs::read(&old).is_ok_and(|text| !text.is_empty()).then_some(()));
    house.open();
    house.want(id, 1);
    house.started(id);
    assert!(!old.exists() && slot.is_recorded());
    std::fs::write(end, "").unwrap();
    shim.wait().unwrap();
    assert_eq!(house.ended(id), FAILED);
}

#[test]
fn a_record_of_an_older_version_that_cannot_be_moved_keeps_the_world_closed() {
    let mut house = House::new();
    let id = house.start(1, sh("exit 0"));
    house.ended(id);
    house.world = None;
    std::fs::create_dir_all(house.slot(id, 0).folder()).unwrap();
    std::fs::write(house.slot(id, 0).folder().join("status"), "").unwrap();
    std::fs::remove_dir_all(house.record_dir()).unwrap();
    // In its place lies what no file can be moved over.
    let place = house.path("records.new").join(format!("{}.w0", allocation_name(id)));
    std::fs::create_dir_all(place.join("in-the-way")).unwrap();
    let refused = house.try_open().expect_err("a record would be lost").to_string();
    assert!(refused.contains("w0/status: Is a directory"), "{refused}");
    std::fs::remove_dir_all(place).unwrap();
    house.open();
}

#[test]
fn nobody_else_can_look_into_the_folders_of_this_world() {
    let house = House::new();
    for folder in [house.run_dir(), house.record_dir()] {
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
    for folder in [house.run_dir(), house.record_dir()] {
        let mut house = House::new();
        let folder = house.path(folder.file_name().unwrap().to_str().unwrap());
        std::fs::set_permissions(&folder, Permissions::from_mode(0o770)).unwrap();
        let refused = house.try_open().expect_err("others can write there").to_string();
        assert!(refused.contains("can be written by other users"), "{refused}");
    }
}

#[test]
fn who_removes_the_record_of_the_boot_as_well_has_still_failed() {
    let mut house = House::new();
    let text = format!("cd {}; rm records/*; touch attacked; exec sleep 60", house.path("").display());
    let id = house.start(1, sh(&text));
    house.started(id);
    within("an attack", || house.path("attacked").exists().then_some(()));
    let shim = house.shims().pop().expect("it is there");
    house.world = None;
    // The worker dies with its shim.
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(shim).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    within("its end", || (!is_there(shim)).then_some(()));
    house.reopen();
    house.want(id, 1);
    assert!(matches!(house.ended(id), Outcome::Failed { .. }), "{:?}", house.seen);
}

#[test]
fn what_a_shim_left_behind_is_gone_before_its_last_words_are_believed() {
    let mut house = House::new();
    let (words, pid) = (house.path("words"), house.path("pid"));
    let exited = Exited { code: 0, cause: Cause::Exit, stopped: false, at_ms: 1 };
    std::fs::write(&words, status::line(&Record::Exited(exited))).unwrap();
    house.shim_script(&format!(
        "CONSORT_SLOT=$1 setsid sleep 60 > {0}.out & echo $! > {0}; cat {1}; kill -9 $$",
        pid.display(),
        words.display()
    ));
    let id = house.start(1, sh("exit 0"));
    house.ended(id);
    assert!(!is_there(pid_in(&pid)), "{:?}", house.seen);
}

#[test]
fn a_job_that_kills_its_shim_fails() {
    let mut house = House::new();
    let id = house.start(1, sh(&format!("echo run >> {}; kill -9 $PPID", house.path("runs").display())));
    assert!(matches!(house.ended(id), Outcome::Failed { .. }));
    assert_eq!(runs(&house), 1);
}

#[test]
fn a_forged_record_is_not_believed_while_the_work_runs() {
    let mut house = House::new();
    let done = house.start(1, sh("exit 0"));
    assert_eq!(house.ended(done), Outcome::Succeeded);
    let pid = house.path("pid");
    let id = house.start(1, sh(&format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 60", pid.display())));
    house.started(id);
    let pid = pid_in(&pid);
    let forged = std::fs::read(house.slot(done, 0).record()).unwrap();
    std::fs::write(house.slot(id, 0).record(), forged).unwrap();
    // A daemon that comes back looks at everything anew.
    house.open();
    house.want(id, 1);
    house.started(id);
    std::thread::sleep(std::time::Duration::from_millis(200));
    house.look();
    assert!(!house.has_ended(id) && is_there(pid), "{:?}", house.seen);
    house.stop(id);
    house.ended(id);
    within("its end", || (!is_there(pid)).then_some(()));
}

#[test]
fn descriptors_of_the_daemon_do_not_reach_workers() {
    let mut house = House::new();
    let secret = std::fs::File::create(house.path("secret")).unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let (_, log) = house.run(sh("ls -l /proc/self/fd"));
    assert!(!log.contains("secret"), "{log}");
}
