//! What workers take of the machine beside its devices, and what differs by kind of device.

use super::daemon::{House, until};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn processors_run_out_like_devices_and_who_asks_for_none_does_not_wait() {
    let house = House::up(4);
    let node = || house.json(&["nodes", "--json"])[0].clone();
    let all = node()["cpu_thousandths"].as_u64().expect("a number");
    assert!(all >= 1_000 && node()["memory_bytes"].as_u64() > Some(1 << 20), "{}", node());
    assert_eq!(node()["cpu_thousandths_free"], all);
    let every = (all / 1_000).to_string();
    house.said(&["submit", "--name", "greedy", "--cpus", &every, "--mem", "64MiB", "--", "sleep", "600"]);
    house.until_state(1, &["running"]);
    assert_eq!(node()["cpu_thousandths_free"], all % 1_000);
    house.said(&["submit", "--cpus", "1", "--", "true"]);
    let why = house.json(&["explain", "2", "--json"])["sentences"].to_string();
    assert!(why.contains("cpus left") && why.contains("host shared with job 1 (greedy)"), "{why}");
    house.said(&["submit", "--wait", "--", "true"]);
    house.said(&["cancel", "1"]);
    house.until_state(2, &["succeeded"]);
    let refused = house.run(&["submit", "--cpus", "100000", "--", "true"]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("nodes have up to"), "{error}");
}

#[test]
fn a_ceiling_on_processors_is_kept_and_what_was_used_is_told() {
    let house = House::up(2);
    let refused = |args: &[&str]| {
        let done = house.run(args);
        assert!(!done.status.success(), "{args:?}");
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    assert!(refused(&["tenants", "set", "red", "--quota", "cpus=1"]).contains("cannot be guaranteed"));
    let said = house.said(&["tenants", "set", "red", "--quota", "cpus=:1", "--quota", "mem=:256MiB"]);
    assert!(said.contains("up to 1 cpu") && said.contains("up to 256 MiB of host memory"), "{said}");
    fn red<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["submit", "--tenant", "red"], more].concat()
    }
    house.said(&red(&["--name", "holder", "--cpus", "1", "--mem", "64MiB", "--", "sleep", "600"]));
    house.until_state(1, &["running"]);
    house.said(&red(&["--cpus", "0.5", "--", "true"]));
    let why = house.json(&["explain", "2", "--json"])["sentences"].to_string();
    assert!(why.contains("tenant red is limited to 1 cpu: ") && why.contains("0.5 more needed"), "{why}");
    house.said(&red(&["--wait", "--", "true"])); // asks for none
    assert!(
        refused(&red(&["--cpus", "2", "--", "true"]))
            .contains("asks for 2 cpus, but the ceiling of tenant red is 1 cpu")
    );
    assert!(refused(&red(&["--mem", "1GiB", "--", "true"])).contains("the ceiling of tenant red is 256 MiB"));
    let tenant = || {
        let all = house.json(&["tenants", "--json"]);
        let found = all.as_array().and_then(|all| all.iter().find(|one| one["name"] == "red").cloned());
        found.expect("it was made")
    };
    assert_eq!((&tenant()["cpu_thousandths"], &tenant()["memory_bytes"]), (&1000.into(), &(64 << 20).into()));
    house.said(&["cancel", "1"]);
    house.until_state(2, &["succeeded"]);
    let number =
        |of: &serde_json::Value, key: &str| of[key].as_u64().unwrap_or_else(|| panic!("{key} of {of}"));
    let shown = house.json(&["show", "1", "--json"]);
    let (cpu, memory) = (number(&shown, "used_cpu_ms"), number(&shown, "used_memory_mib_ms"));
    assert!(cpu > 0 && memory.abs_diff(64 * cpu) <= 64, "one processor and 64 MiB for as long: {shown}");
    assert!(house.said(&["show", "1"]).contains("reserved cpu time"));
    let listed = house.jobs().into_iter().find(|job| job["id"] == 1).expect("it is kept");
    assert_eq!(number(&listed, "used_cpu_ms"), cpu);
    house.until_state(3, &["succeeded"]);
    let told = tenant();
    assert!(number(&told, "usage_cpu_ms") >= cpu && number(&told, "usage_memory_mib_ms") >= memory, "{told}");
    assert_eq!((number(&told, "cpu_thousandths"), number(&told, "memory_bytes")), (0, 0));
}

#[test]
fn a_worker_is_told_its_variant() {
    let house = House::up(1);
    let file = "kind: [slot, other]\nenv: {WHO: all}\nrun: exit 9\nvariants:\n  Slot:\n    run: echo $CONSORT_VARIANT $WHO\n    env: {WHO: me}\n  other: {run: exit 8}\n";
    fs::write(house.path("job.yaml"), file).expect("a file");
    // The variant for the other kind is not for this job.
    house.said(&["submit", "--wait", "--kind", "slot", "job.yaml"]);
    assert_eq!(house.said(&["logs", "1"]), "Slot me\n");
    // With a kind for which there is no variant, all of them are for kinds that the job does not accept.
    let refused = house.run(&["submit", "--kind", "cpu", "job.yaml"]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(error.contains("there is a variant for `Slot`, which the job does not accept"), "{error}");
}

#[test]
fn what_ran_out_of_device_memory_is_told() {
    let house = House::up(1);
    let words = "echo 'torch.cuda.OutOfMemoryError: CUDA out of memory.' >&2; exit 1";
    assert_eq!(house.run(&["submit", "--wait", "--", "sh", "-c", words]).status.code(), Some(1));
    let shown = house.json(&["show", "1", "--json"]);
    assert!(shown["reason"].as_str().is_some_and(|why| why.contains("ran out of device memory")), "{shown}");
}

#[test]
fn a_machine_without_control_groups_says_so_once() {
    let mut house = House::new(2);
    // Read-only for the daemon alone.
    let script = format!(
        "for place in $(grep -E ' - cgroup2? ' /proc/self/mountinfo | cut -d' ' -f5); do \
           mount -o bind,remount,ro $place || exit 1; done; [ \"$0\" = probe ] || \
         exec {} up --listen 127.0.0.1:0 --on-exit keep --data-dir {}",
        env!("CARGO_BIN_EXE_consort"),
        house.data().display()
    );
    let unshare = |name: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--map-root-user", "--user", "sh", "-c", &script, name])
            .stdin(Stdio::null());
        command
    };
    if !unshare("probe").output().is_ok_and(|done| done.status.success()) {
        let _ =
            std::io::stderr().write_all(b"skipped: without_control_groups: nothing can be mounted here\n");
        return;
    }
    let mut command = unshare("daemon");
    command.env("XDG_CONFIG_HOME", house.config_folder()).env("CONSORT_LOG", "warn");
    house.adopt(command);
    let client = until("the daemon", || house.client().filter(|client| client.status().is_ok()));
    let notes = client.status().expect("it answers").notes;
    let is_told = |note: &&String| note.contains("`cpus` and `mem` is reserved but not enforced");
    assert_eq!(notes.iter().filter(is_told).count(), 1, "{notes:?}");
    let said = |job: serde_json::Value| {
        let job = client.submit(&job).expect("accepted");
        house.until_state(job.id, &["succeeded"]);
        house.said(&["logs", &job.id.to_string()])
    };
    assert_eq!(said(json!({"run": "echo hi", "workdir": "/", "mem": "64MiB", "cpus": 1})), "hi\n");
    let limited = said(json!({"run": "echo hi", "workdir": "/", "limits": {"memory": "64MiB"}}));
    assert!(limited.contains("no control group for memory") && limited.ends_with("hi\n"), "{limited}");
}

/// A machine with processors and one accelerator of which nobody knows the memory.
fn with_processors() -> House {
    let mut house = House::new(1);
    let text = "discover: [cpu]\ndevices:\n  - {kind: slot, count: 1, mask: SLOT_VISIBLE_DEVICES}\n";
    fs::write(house.data().join("devices.yaml"), text).expect("a file");
    house.start();
    house
}

#[test]
fn a_ceiling_on_processors_is_kept_by_jobs_that_get_them_as_devices() {
    let house = with_processors();
    house.said(&["tenants", "set", "q", "--quota", "cpus=:1"]);
    let refused = |args: &[&str]| {
        let done = house.run(args);
        assert!(!done.status.success(), "{args:?}");
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    let words = "asks for 2 cpus, but the ceiling of tenant q is 1 cpu";
    let error = refused(&["submit", "--tenant", "q", "--kind", "cpu", "--devices", "2", "--", "true"]);
    assert!(error.contains(words), "{error}");
    let script = house.path("two.sh");
    fs::write(&script, "#!/bin/sh\n#SBATCH -c 2 -A q\ntrue\n").expect("a file");
    let error = refused(&["sbatch", script.to_str().expect("a plain path")]);
    assert!(error.contains(words), "{error}");
    // One fits, the next one waits for it, and what asks for no processor does not.
    fn of_q<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["submit", "--tenant", "q"], more].concat()
    }
    house.said(&of_q(&["--kind", "cpu", "--devices", "1", "--", "sleep", "600"]));
    house.until_state(1, &["running"]);
    house.said(&of_q(&["--kind", "cpu", "--devices", "1", "--", "true"]));
    let why = house.json(&["explain", "2", "--json"])["sentences"].to_string();
    assert!(why.contains("tenant q is limited to 1 cpu"), "{why}");
    house.said(&of_q(&["--wait", "--", "true"]));
    house.said(&["cancel", "1"]);
    house.until_state(2, &["succeeded"]);
}

#[test]
fn memory_of_devices_is_not_that_of_the_host() {
    let house = with_processors();
    let refused = |args: &[&str]| {
        let done = house.run(args);
        assert!(!done.status.success(), "{args:?}");
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    let error = refused(&["submit", "--memory", "200GiB", "--", "true"]);
    assert!(error.contains("the memory of slot is unknown; name the kind"), "{error}");
    let error = refused(&["submit", "--kind", "cpu", "--memory", "1GiB", "--", "true"]);
    assert!(error.contains("use `mem` for memory of the host"), "{error}");
    house.said(&["submit", "--wait", "--kind", "slot", "--memory", "200GiB", "--", "true"]);
}

#[test]
fn what_was_asked_for_and_granted_is_shown() {
    let house = House::up(2);
    let more = ["--devices", "2", "--kind", "slot", "--cpus", "1", "--mem", "64MiB", "--", "sleep", "600"];
    house.said(&[&["submit", "--name", "wide"], &more[..]].concat());
    house.until_state(1, &["running"]);
    let shown = house.json(&["show", "1", "--json"]);
    let asked = &shown["asks_for"][0];
    let numbers = |of: &serde_json::Value, keys: &[&str]| {
        keys.iter()
            .map(|key| of[*key].as_u64().unwrap_or_else(|| panic!("{key} of {of}")))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        numbers(asked, &["workers", "devices", "cpu_thousandths", "memory_bytes"]),
        [1, 2, 1000, 64 << 20]
    );
    assert_eq!(asked["kinds"], json!(["slot"]));
    let granted = &shown["asks"][0];
    assert_eq!(numbers(granted, &["cpu_thousandths", "memory_bytes"]), [1000, 64 << 20]);
    assert_eq!(granted["kind"], "slot");
    assert!(house.said(&["show", "1"]).contains("2 devices of slot, 1 cpu, 64 MiB of host memory"));
    let listed = house.jobs().into_iter().find(|job| job["id"] == 1).expect("it lives");
    assert_eq!(listed["asks_for"], shown["asks_for"]);
    assert!(listed["user"].is_string() && listed["expected_start"].is_null(), "{listed}");
    assert_eq!(shown["user"], listed["user"]);
    house.said(&["cancel", "1"]);
    house.until_state(1, &["cancelled"]);
    let shown = house.json(&["show", "1", "--json"]);
    let node = granted["node"].as_str().expect("it ran");
    assert_eq!(shown["ran_on"]["nodes"], json!([node]));
    assert_eq!(shown["ran_on"]["devices"], json!([format!("{node}[0]"), format!("{node}[1]")]));
    assert_eq!(shown["user"], listed["user"]);
    assert!(house.said(&["show", "1"]).contains(&format!("{node}[0] {node}[1]")));
    assert_eq!(
        shown["story"].as_array().and_then(|all| all.last()).map(|last| &last["text"]),
        Some(&json!("cancelled"))
    );
}
