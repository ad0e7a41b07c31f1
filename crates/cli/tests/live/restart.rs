//! Work outlives the daemon; the daemon outlives a full disk; two daemons never share a folder.

use super::daemon::{House, until};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

fn signal(pid: u32, name: &str) {
    let done = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(done.is_ok_and(|status| status.success()), "kill -{name} {pid}");
}

#[test]
fn work_goes_on_while_the_daemon_is_down_and_is_found_again() {
    let mut house = House::up(2);
    let client = house.client().expect("it is up");
    let marker = house.path("marker");
    let script = format!("sleep 0.6; echo done > {}; exit 7", marker.display());
    let job = client.submit(&json!({"run": script, "workdir": "/"})).expect("accepted");
    house.until_state(job.id, &["running"]);
    signal(house.pid(), "TERM");
    assert!(house.wait().success(), "{}", house.log());
    assert!(!marker.exists());
    until("the worker to end by itself", || marker.exists().then_some(()));
    house.start();
    let ended = house.until_state(job.id, &["failed", "succeeded"]);
    assert_eq!((&ended["exit_code"], &ended["attempts"]), (&json!(7), &json!(1)), "{ended}");
}

#[test]
fn work_that_is_still_running_is_adopted_not_started_again() {
    let mut house = House::up(2);
    let starts = house.path("starts");
    let script = format!("echo $CONSORT_ATTEMPT >> {}; sleep 1", starts.display());
    let client = house.client().expect("it is up");
    let job = client.submit(&json!({"run": script, "workdir": "/", "workers": 2})).expect("accepted");
    house.until_state(job.id, &["running"]);
    for _ in 0..3 {
        house.kill();
        house.start();
    }
    let ended = house.until_state(job.id, &["failed", "succeeded"]);
    assert_eq!(ended["state"], "succeeded", "{ended}");
    assert_eq!(fs::read_to_string(starts).expect("it ran"), "1\n1\n");
}

#[test]
fn work_that_was_stopped_with_the_daemon_runs_again_later() {
    let mut house = House::up(2);
    let client = house.client().expect("it is up");
    let script = r#"test "$CONSORT_ATTEMPT" = 2 || sleep 60"#;
    let job = client.submit(&json!({"run": script, "workdir": "/", "grace": "1s"})).expect("accepted");
    house.until_state(job.id, &["running"]);
    client.shutdown(consort_api::shapes::Workers::Stop).expect("it listens");
    assert!(house.wait().success(), "{}", house.log());
    house.start();
    let ended = house.until_state(job.id, &["failed", "succeeded"]);
    assert_eq!((&ended["state"], &ended["attempts"]), (&json!("succeeded"), &json!(2)), "{ended}");
}

#[test]
fn a_second_daemon_in_the_same_folder_is_refused() {
    let house = House::up(1);
    let data = house.data();
    let second =
        house.run(&["up", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().expect("a plain path")]);
    assert_eq!(second.status.code(), Some(3));
    let error = String::from_utf8_lossy(&second.stderr);
    let url = house.client().expect("it is up").url().to_string();
    assert!(error.contains("is in use by consort (process") && error.contains(&url), "{error}");
    assert!(house.client().expect("it is up").status().is_ok(), "the first one goes on");
}

#[test]
fn places_that_cannot_be_used_are_named() {
    let house = House::up(1);
    let taken = house.client().expect("it is up").url().trim_start_matches("http://").to_string();
    let other = house.path("other");
    let other = other.to_str().expect("a plain path");
    let file = house.path("file");
    fs::write(&file, "").expect("a file");
    let file = file.to_str().expect("a plain path");
    for (words, code, says) in [
        (vec!["up", "--data-dir", other, "--listen", &taken], 3, "is in use by another program"),
        (vec!["up", "--data-dir", other, "--listen", "0.0.0.0:0"], 2, "listen on a loopback address"),
        (vec!["up", "--data-dir", file, "--listen", "127.0.0.1:0"], 2, "is not a folder"),
        (vec!["up", "--data-dir", "/proc/nowhere", "--listen", "127.0.0.1:0"], 2, "/proc/nowhere"),
        (vec!["up", "--listen", "nonsense"], 2, "nonsense"),
        (vec!["up", "--policy", "fiffo"], 2, "did you mean `fifo`"),
        (vec!["replay", other], 2, "no journal"),
    ] {
        let output = house.run(&words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {error}");
        assert!(error.contains(says), "{words:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[test]
fn a_log_folder_that_vanishes_hurts_nobody() {
    let house = House::up(1);
    let client = house.client().expect("it is up");
    let script = "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.1; done";
    let job = client.submit(&json!({"run": script, "workdir": "/"})).expect("accepted");
    house.until_state(job.id, &["running"]);
    fs::remove_dir_all(house.data().join("logs")).expect("it was there");
    house.until_state(job.id, &["succeeded"]);
    let next = client.submit(&json!({"run": "echo again", "workdir": "/"})).expect("accepted");
    house.until_state(next.id, &["succeeded"]);
    assert_eq!(house.said(&["logs", &next.id.to_string()]), "again\n");
}

#[test]
fn a_full_disk_stops_the_accepting_and_loses_nothing() {
    let mut house = House::new(2);
    let data = house.data();
    // A small disk of its own, seen by the daemon alone.
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "--user", "sh", "-c", script]).stdin(Stdio::null());
        command
    };
    if !unshare("mount -t tmpfs none /mnt").output().is_ok_and(|done| done.status.success()) {
        let _ = std::io::stderr().write_all(b"skipped: a_full_disk: no file system can be mounted here\n");
        return;
    }
    let text = fs::read_to_string(data.join("devices.yaml")).expect("it is there");
    let script = format!(
        "mount -t tmpfs -o size=6m,mode=700 none {data} && printf '%s' '{text}' > {data}/devices.yaml && \
         dd if=/dev/zero of={data}/filler bs=1k count=3000 2>/dev/null && \
         exec {consort} up --listen 127.0.0.1:0 --on-exit keep --data-dir {data}",
        data = data.display(),
        consort = env!("CARGO_BIN_EXE_consort")
    );
    let mut command = unshare(&script);
    command.env("XDG_CONFIG_HOME", house.config_folder()).env("CONSORT_LOG", "warn");
    house.adopt(command);
    let client = until("the daemon", || house.client().filter(|client| client.status().is_ok()));
    let hold = json!({"name": "hold", "devices": 2, "run": ["sleep", "60"], "workdir": "/"});
    client.submit(&hold).expect("accepted");
    let job =
        json!({"name": "fills", "run": ["true"], "workdir": "/", "env": {"PADDING": "x".repeat(20_000)}});
    let (mut accepted, mut refused) = (0u64, 0);
    for _ in 0..400 {
        match client.submit(&job) {
            Ok(_) => accepted += 1,
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("disk of the journal is full"), "{error}");
                if refused > 3 {
                    break;
                }
            }
        }
    }
    assert!(accepted > 10 && refused > 3, "{accepted} accepted, {refused} refused");
    let status = client.status().expect("it still answers");
    assert!(status.notes.iter().any(|note| note.contains("is full")), "{:?}", status.notes);
    let (jobs, _) = client.jobs(&Default::default()).expect("it still answers");
    assert!(jobs.len() as u64 > accepted, "{} of {accepted}", jobs.len());
    // Without any room at all, what cannot be refused any more is not left without an answer.
    let inside = |name: &str| format!("/proc/{}/root{}/{name}", house.pid(), data.display());
    let rest = fs::File::create(inside("rest")).expect("a name takes no room");
    while (&rest).write_all(&[0; 4096]).is_ok() {}
    let error = client.cancel(1).expect_err("it cannot be written").to_string();
    assert!(error.contains("disk of the journal is full: the request is kept"), "{error}");
    // Somebody makes room, inside the daemon's own view of the disk.
    fs::remove_file(inside("rest")).expect("it is there");
    fs::remove_file(inside("filler")).expect("it is there");
    until("room to be found", || client.submit(&job).ok());
    accepted += 1;
    until("the job to be cancelled", || client.job(1).ok().filter(|shown| shown.job.state.has_ended()));
    let everything = consort_api::client::JobQuery { all: true, ..Default::default() };
    let (jobs, _) = client.jobs(&everything).expect("it answers");
    assert!(jobs.len() as u64 > accepted);
}

/// Copies a folder, without sockets.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (kind, to) = (entry.file_type().expect("it is there"), to.join(entry.file_name()));
        match (kind.is_dir(), kind.is_file()) {
            (true, _) => copy(&entry.path(), &to),
            (_, true) => drop(fs::copy(entry.path(), to).expect("a file")),
            _ => {}
        }
    }
}

#[test]
fn whoever_follows_notices_that_the_journal_was_replaced() {
    let mut house = House::up(1);
    let submit = |house: &House, jobs: u64| {
        let client = house.client().expect("it is up");
        for _ in 0..jobs {
            let job = client.submit(&json!({"run": ["true"], "workdir": "/"})).expect("accepted");
            house.until_state(job.id, &["succeeded"]);
        }
        client.status().expect("it answers").position
    };
    submit(&house, 1);
    house.kill();
    let copied = house.path("copy");
    copy(&house.data(), &copied);
    house.start();
    let mut follow = house.command(&["events", "-f", "--json"]);
    let out = house.path("followed");
    follow.stdout(fs::File::create(&out).expect("a file")).stderr(Stdio::piped());
    let mut follow = follow.spawn().expect("the binary runs");
    // It must have joined before anything happens that it should see.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let before = submit(&house, 3);
    until("the last event", || {
        let text = fs::read_to_string(&out).expect("a file");
        text.contains(&format!("\"position\":{before},")).then_some(())
    });
    // The copy comes back, and grows beyond what was followed.
    house.kill();
    fs::remove_dir_all(house.data()).expect("a folder");
    copy(&copied, &house.data());
    let mut command = house.command(&["up", "--listen", "127.0.0.1:0", "--on-exit", "keep", "--data-dir"]);
    command.arg(house.data());
    house.adopt(command);
    let ended = until("the one who follows to end", || follow.try_wait().expect("it is ours"));
    let mut said = String::new();
    let _ = std::io::Read::read_to_string(&mut follow.stderr.take().expect("piped"), &mut said);
    assert_eq!(ended.code(), Some(2), "{said}");
    assert!(said.contains("cut short or replaced") && said.contains("from="), "{said}");
}
