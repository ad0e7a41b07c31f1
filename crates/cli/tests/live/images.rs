//! Jobs that run in a container image, with the runtimes that are installed here.

use super::daemon::{House, until};
use super::runtimes::{IMAGE, Runtime};
use serde_json::{Value, json};
use std::fs;

const SLOTS: &str =
    "discover: []\ndevices:\n  - {kind: slot, count: 2, vendor: other, paths: [/dev/null, /dev/zero]}\n";

impl Runtime {
    /// Submits a job that works in the folder `work`, in the image; its id.
    fn submit(&self, mut job: Value) -> u64 {
        job["workdir"] = self.house.path("work").display().to_string().into();
        if job.get("image").is_none() {
            job["image"] = IMAGE.into();
        }
        let submitted = self.house.client().expect("it is up").submit(&job);
        submitted.unwrap_or_else(|error| panic!("{job}: {error}")).id
    }

    fn logs(&self, job: u64) -> String {
        self.house.said(&["logs", &job.to_string()])
    }

    /// Runs a job to its end; its row and its output.
    fn ran(&self, job: Value) -> (Value, String) {
        let id = self.submit(job);
        let row = self.house.until_state(id, &["succeeded", "failed", "cancelled"]);
        (row, self.logs(id))
    }

    /// Waits until a file of the job is there.
    fn file(&self, name: &str) -> String {
        let path = self.house.path("work").join(name);
        until(name, || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')))
    }

    /// Waits until nothing of any container is left.
    fn until_nothing_is_left(&self) {
        until("containers to be gone", || self.containers().is_empty().then_some(()));
        let mark = self.house.data().join("run").display().to_string();
        let left = until_none(&mark);
        assert!(left.is_empty(), "{}: {left:?}", self.name);
    }
}

/// Processes that carry a slot below this folder; looked for until there are none, or for a while.
fn until_none(run_dir: &str) -> Vec<String> {
    let mark = format!("CONSORT_SLOT={run_dir}");
    let carries = |pid: &str| {
        let all = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        all.split(|&byte| byte == 0).any(|one| one.starts_with(mark.as_bytes()))
    };
    let mut left = vec![];
    for _ in 0..500 {
        let entries = fs::read_dir("/proc").expect("it is mounted").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
        left = pids.filter(|pid| carries(pid)).collect();
        if left.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    left
}

#[test]
fn a_job_runs_in_its_image() {
    for runtime in Runtime::all("a_job_runs_in_its_image", SLOTS) {
        // A script finds a shell in the image, the working directory, and what was asked for by name.
        let script = "cat /which; cat given; echo made > made; echo \"$ODD\" \"$CONSORT_JOB\" \"$AROUND\"; [ \"$HOME\" != /lost ]; exit $((7 + $?))";
        fs::write(runtime.house.path("work/given"), "given\n").expect("a file");
        let job = json!({"run": script, "env": {"ODD": "two\nlines, \"quoted\""}, "inherit": {"AROUND": "lost", "HOME": "/lost"}});
        let (row, log) = runtime.ran(job);
        assert_eq!(
            (&row["state"], &row["exit_code"]),
            (&json!("failed"), &json!(7)),
            "{}: {log}",
            runtime.name
        );
        assert_eq!(log, "the image\ngiven\ntwo\nlines, \"quoted\" 1 \n", "{}", runtime.name);
        assert_eq!(runtime.file("made"), "made\n");
        // A program and its arguments; `run` shows its output and gives back its status.
        let work = runtime.house.path("work").display().to_string();
        let words = ["run", "--image", IMAGE, "--workdir", &work, "--", "cat", "/which"];
        assert!(runtime.house.said(&words).contains("the image"), "{}", runtime.name);
        // The image of a variant wins over that of the job; one that is not there is said.
        let variants = json!({"slot": {"image": "localhost/consort-absent:1"}});
        let (row, log) = runtime.ran(json!({"kind": "slot", "run": "true", "variants": variants}));
        assert_eq!(row["state"], "failed", "{}: {log}", runtime.name);
        assert!(log.contains("consort-absent"), "{}: {log}", runtime.name);
        runtime.until_nothing_is_left();
    }
}

#[test]
fn in_a_container_there_are_the_granted_devices_and_no_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = |name: &str| folder.path().join(name);
    for (name, minor) in [("npu0", "3"), ("npu1", "5")] {
        // The numbers of /dev/null and /dev/zero, under other names.
        let made = std::process::Command::new("mknod").arg(device(name)).args(["c", "1", minor]).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: in_a_container_there_are_the_granted_devices_and_no_others needs root");
            return;
        }
    }
    let devices = format!(
        "discover: [cpu]\ndevices:\n  - {{kind: npu, count: 2, vendor: other, mask: NPU_DEVICES, paths: [{}, {}]}}\n  - {{kind: odd}}\n",
        device("npu0").display(),
        device("npu1").display()
    );
    for runtime in Runtime::all("in_a_container_there_are_the_granted_devices_and_no_others", &devices) {
        let seen = format!("ls {}; echo ${{NPU_DEVICES-unset}}", folder.path().display());
        let held = runtime.submit(json!({"kind": "npu", "run": "sleep 600"}));
        runtime.house.until_state(held, &["running"]);
        let (_, log) = runtime.ran(json!({"kind": "npu", "run": seen}));
        assert_eq!(log, "npu1\nunset\n", "{}: the other one is held", runtime.name);
        let (_, log) = runtime.ran(json!({"kind": "cpu", "run": seen}));
        assert!(log.contains("No such file"), "{}: {log}", runtime.name);
        // Nothing says how a device without a node would come into a container.
        let odd = runtime.submit(json!({"kind": "odd", "run": "true"}));
        let why = until("a reason", || {
            let story = runtime.house.said(&["explain", &odd.to_string()]);
            story.contains("devices.yaml").then_some(story)
        });
        assert!(why.contains("odd-0 has no device node"), "{why}");
        runtime.house.said(&["cancel", &odd.to_string(), &held.to_string()]);
    }
}

#[test]
fn a_worker_in_a_container_is_asked_to_go_as_any_other() {
    for runtime in Runtime::all("a_worker_in_a_container_is_asked_to_go_as_any_other", SLOTS) {
        // The shell would die of the signal; what it runs saves its work first.
        let script = "sh -c 'trap \"sleep 1; echo saved > saved; exit 3\" TERM; echo up > up; while :; do sleep 0.05; done'; echo on > on";
        let job = runtime.submit(json!({"run": script, "grace": "20s"}));
        runtime.file("up");
        runtime.house.said(&["cancel", &job.to_string()]);
        runtime.house.until_state(job, &["cancelled"]);
        assert_eq!(runtime.file("saved"), "saved\n", "{}", runtime.name);
        assert!(!runtime.house.path("work/on").exists(), "{}: the script did not go on", runtime.name);
        // One that handles the signal itself gets it once; one that does not go is made to.
        let script = "trap 'echo asked >> asked' USR1; echo up > up2; while :; do sleep 0.05; done";
        let job = runtime.submit(json!({"run": script, "grace": {"signal": "USR1", "span": "1s"}}));
        runtime.file("up2");
        runtime.house.said(&["cancel", &job.to_string()]);
        runtime.house.until_state(job, &["cancelled"]);
        assert_eq!(runtime.file("asked"), "asked\n", "{}", runtime.name);
        runtime.until_nothing_is_left();
    }
}

#[test]
fn a_container_outlives_the_daemon_and_not_its_shim() {
    for mut runtime in Runtime::all("a_container_outlives_the_daemon_and_not_its_shim", SLOTS) {
        let script = "echo $CONSORT_ATTEMPT >> began; while [ ! -e go ]; do sleep 0.05; done; echo done";
        let job = runtime.submit(json!({"run": script, "retries": 3, "backoff": "0s"}));
        assert_eq!(runtime.file("began"), "1\n");
        runtime.house.kill();
        runtime.house.start();
        runtime.house.until_state(job, &["running"]);
        assert_eq!((runtime.file("began").as_str(), runtime.containers().len()), ("1\n", 1));
        // Its shim dies: so does all that it ran, and the next attempt has a container of its own.
        let first = runtime.containers();
        kill_shims(&runtime.house);
        until("the second attempt", || (runtime.file("began") == "1\n2\n").then_some(()));
        let second = runtime.containers();
        assert!(second.len() == 1 && second != first, "{}: {first:?} {second:?}", runtime.name);
        // Both die at once.
        runtime.house.kill();
        kill_shims(&runtime.house);
        runtime.house.start();
        until("the third attempt", || (runtime.file("began") == "1\n2\n3\n").then_some(()));
        assert_eq!(runtime.containers().len(), 1, "{}", runtime.name);
        fs::write(runtime.house.path("work/go"), "").expect("a file");
        runtime.house.until_state(job, &["succeeded"]);
        assert_eq!(runtime.logs(job).lines().last(), Some("done"));
        runtime.until_nothing_is_left();
    }
}

/// Kills every shim of a house.
fn kill_shims(house: &House) {
    let mark = format!("CONSORT_SHIM={}", house.data().join("run").display());
    let entries = fs::read_dir("/proc").expect("it is mounted").flatten();
    for entry in entries {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|one| one.starts_with(mark.as_bytes())) {
            let pid = entry.file_name().into_string().expect("a number");
            let _ = std::process::Command::new("kill").args(["-KILL", &pid]).status();
        }
    }
}

#[test]
fn the_memory_of_a_container_is_limited() {
    for runtime in Runtime::all("the_memory_of_a_container_is_limited", SLOTS) {
        let script = "head -c 200000000 /dev/zero | tail -c 150000000 > /dev/null; exit 1";
        let (row, log) = runtime.ran(json!({"run": script, "limits": {"memory": "48MiB", "cpus": 1}}));
        if log.contains("no control group for memory") {
            eprintln!(
                "SKIPPED: the_memory_of_a_container_is_limited with {} needs control groups",
                runtime.name
            );
            continue;
        }
        let why = row["reason"].as_str().unwrap_or_default();
        assert!(why.contains("out of memory"), "{}: {row} {log}", runtime.name);
    }
}

#[test]
fn without_a_runtime_an_image_is_refused() {
    let mut house = House::new(1);
    house.words = vec!["--containers".into(), "none".into()];
    house.start();
    let refused = |house: &House| {
        let output = house.run(&["submit", "--image", IMAGE, "--", "true"]);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let why = refused(&house);
    assert!(why.contains("`image` cannot be run") && why.contains("containers: none"), "{why}");
    house.kill();
    house.words = vec!["--containers".into(), "any".into()];
    house.env.push(("PATH".into(), house.data().display().to_string()));
    house.start();
    let why = refused(&house);
    assert!(
        why.contains("podman: not installed; docker: not installed") && why.contains("apt-get install"),
        "{why}"
    );
    // Jobs without one run.
    house.said(&["submit", "--wait", "--", "/bin/true"]);
}
