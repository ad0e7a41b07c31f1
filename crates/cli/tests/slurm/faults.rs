//! Everything that happens to a cluster: each fault, and what the user is told about it.

use super::daemon::until;
use super::site::{Site, eventually};
use consort_slurm_fixture::{Make, Nodes};
use serde_json::json;
use std::time::{Duration, Instant};

/// Runs until it is told to go, or until a file appears.
fn waits_for(path: &std::path::Path) -> String {
    format!("while [ ! -e {} ]; do sleep 0.1; done", path.display())
}

/// The node on which a running job's only worker sits, as Slurm tells it.
fn node_of(site: &Site, job: u64) -> String {
    let id = site.slurm_id(job).to_string();
    until("a node", || {
        let said = site.cluster.run("squeue", &["-h", "-t", "R", "-j", &id, "-o", "%N"]);
        Some(said.trim().to_owned()).filter(|node| !node.is_empty())
    })
}

fn attempts(site: &Site, job: u64) -> u64 {
    site.json(&["show", &job.to_string(), "--json"])["attempts"].as_u64().unwrap_or(0)
}

#[test]
fn a_controller_that_is_restarted_loses_nothing() {
    let site = Site::up();
    let (up, go) = (site.path("up"), site.path("go"));
    let runs = site.submit_sh("a100", 1, &format!("touch {}; {}", up.display(), waits_for(&go)));
    site.until_state(runs, &["running"]);
    // Slurm calls a job running before `srun` has asked the controller for its workers. A controller that goes away in
    // between keeps `srun` waiting for as long as Slurm tells it to: this story is about work that really runs.
    eventually("the worker", || up.exists().then_some(()));
    site.cluster.stop_controller();
    let late = site.submit_sh("a100", 1, "true");
    // Work is not touched, and whoever asks why nothing starts is told.
    eventually("the reason", || site.explained(late).contains("Slurm has not answered").then_some(()));
    assert!(site.said(&["status"]).contains("Slurm has not answered"));
    assert_eq!(site.json(&["show", &runs.to_string(), "--json"])["state"], "running");
    site.cluster.start_controller();
    site.until_state(late, &["succeeded"]);
    std::fs::write(&go, "").unwrap();
    let began = Instant::now();
    eventually("its end", || {
        let shared =
            std::process::Command::new("ls").arg("-lR").arg(site.data().join("slurm")).output().unwrap();
        let shared = String::from_utf8_lossy(&shared.stdout).into_owned();
        let queue = site.cluster.run("squeue", &["-t", "all"]);
        assert!(
            began.elapsed() < Duration::from_secs(40),
            "{}\n{queue}\n{shared}\n{}",
            site.story(),
            site.log()
        );
        (site.json(&["show", &runs.to_string(), "--json"])["state"] == "succeeded").then_some(())
    });
    assert_eq!((attempts(&site, runs), attempts(&site, late)), (1, 1), "{}", site.story());
    assert!(!site.said(&["status"]).contains("Slurm has not answered"));
}

#[test]
fn a_node_that_dies_is_given_up_and_its_work_moved() {
    let site = Site::up();
    let job = site.submit_sh("mi300", 2, "sleep 300");
    site.until_state(job, &["running"]);
    let node = node_of(&site, job);
    site.cluster.kill_node(&node);
    // Slurm takes its time to believe it.
    let began = Instant::now();
    eventually("another attempt", || {
        assert!(
            began.elapsed() < Duration::from_secs(110),
            "{} {}",
            site.story(),
            site.cluster.run("sinfo", &["-N"])
        );
        (attempts(&site, job) == 2).then_some(())
    });
    let state = |name: &str| {
        let nodes = site.json(&["nodes", "--json"]);
        let found = nodes.as_array().unwrap().iter().find(|one| one["name"] == name).cloned();
        found.unwrap()["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(&node), "fenced");
    site.until_state(job, &["running"]);
    assert_ne!(node_of(&site, job), node);
    let told = site.story();
    assert!(told.contains("fenced"), "{told}");
    // It comes back by itself.
    site.cluster.start_node(&node);
    eventually("the node", || (state(&node) == "up").then_some(()));
}

#[test]
fn a_drained_node_takes_nothing_and_its_work_is_moved() {
    let site = Site::up();
    let job = site.submit_sh("mi300", 2, "sleep 300");
    site.until_state(job, &["running"]);
    let node = node_of(&site, job);
    let drained = Instant::now();
    site.cluster.run("scontrol", &["update", &format!("nodename={node}"), "state=drain", "reason=bad fan"]);
    eventually("another attempt", || (attempts(&site, job) == 2).then_some(()));
    assert!(drained.elapsed() < Duration::from_secs(30), "{:?}", drained.elapsed());
    site.until_state(job, &["running"]);
    assert_ne!(node_of(&site, job), node);
    // Whoever waits for it is told why.
    let other = site.submit_sh("mi300", 2, "true");
    let devices = site.said(&["devices"]);
    assert!(devices.contains("drained in Slurm: bad fan"), "{devices}");
    let told = site.explained(other);
    assert!(told.contains("unhealthy"), "{told}");
    site.cluster.run("scontrol", &["update", &format!("nodename={node}"), "state=resume"]);
    site.until_state(other, &["succeeded"]);
}

#[test]
fn work_may_finish_on_a_drained_node_where_that_is_wanted() {
    let mut site = Site::new(Make::default());
    site.house.words.extend(["--slurm-on-drain".into(), "finish".into()]);
    site.start();
    let go = site.path("go");
    let job = site.submit_sh("mi300", 2, &waits_for(&go));
    site.until_state(job, &["running"]);
    let node = node_of(&site, job);
    site.cluster.run("scontrol", &["update", &format!("nodename={node}"), "state=drain", "reason=later"]);
    until("the drain", || site.said(&["nodes"]).contains("draining").then_some(()));
    std::fs::write(&go, "").unwrap();
    site.until_state(job, &["succeeded"]);
    assert_eq!(attempts(&site, job), 1);
}

#[test]
fn a_job_that_is_cancelled_behind_our_back_is_cancelled() {
    let site = Site::up();
    let job = site.submit(json!({"kind": "a100", "retries": 3, "workdir": "/", "run": "sleep 300"}));
    site.until_state(job, &["running"]);
    let id = site.slurm_id(job).to_string();
    site.cluster.run("scancel", &[&id]);
    let shown = site.until_state(job, &["cancelled"]);
    assert_eq!(shown["attempts"], 1, "whoever did it meant it");
    let told = site.explained(job);
    assert!(told.contains(&format!("job {id} was cancelled in Slurm")), "{told}");
}

#[test]
fn what_slurm_requeues_runs_as_another_attempt() {
    let site = Site::up();
    let roll = site.path("roll");
    let text =
        format!("echo $CONSORT_ATTEMPT >> {}; [ $CONSORT_ATTEMPT -gt 1 ] || sleep 300", roll.display());
    let job = site.submit_sh("a100", 1, &text);
    site.until_state(job, &["running"]);
    until("the first attempt", || std::fs::read_to_string(&roll).ok().filter(|said| said.contains('1')));
    let id = site.slurm_id(job).to_string();
    site.cluster.run("scontrol", &["update", &format!("jobid={id}"), "requeue=1"]);
    site.cluster.run("scontrol", &["requeue", &id]);
    let shown = site.until_state(job, &["succeeded"]);
    assert_eq!(shown["attempts"], 2);
    assert_eq!(std::fs::read_to_string(&roll).unwrap(), "1\n2\n", "no attempt ran twice");
    let told = site.story();
    assert!(told.contains(&format!("Slurm requeued its job {id}")), "{told}");
}

#[test]
fn slurms_own_time_limit_is_named() {
    let make = Make { extra: "OverTimeLimit=0\n".into(), ..Make::default() };
    let mut site = Site::new(make);
    site.start();
    let job = site.submit_sh("a100", 1, "sleep 300");
    site.until_state(job, &["running"]);
    let id = site.slurm_id(job).to_string();
    site.cluster.run("scontrol", &["update", &format!("jobid={id}"), "timelimit=0:01"]);
    eventually("the limit", || {
        let job = site.json(&["show", &job.to_string(), "--json"]);
        (job["state"] == "failed").then_some(())
    });
    let told = site.explained(job);
    assert!(told.contains(&format!("Slurm's own time limit for job {id} was reached")), "{told}");
}

#[test]
fn running_out_of_memory_is_named() {
    let nodes =
        vec![Nodes { first: 1, count: 1, gres: "gpu:a100:2", features: "", cpus: 8, memory_mb: 8000 }];
    let mut site = Site::new(Make { nodes, cgroups: true, ..Make::default() });
    site.start();
    let hungry = "python3 -c 'x = bytearray(400 << 20); import time; time.sleep(5)'";
    let job =
        site.submit(json!({"kind": "a100", "workdir": "/", "limits": {"memory": "100MiB"}, "run": hungry}));
    site.until_state(job, &["failed"]);
    let told = site.explained(job);
    assert!(told.contains("memory"), "{told}");
}

#[test]
fn a_rest_socket_that_is_gone_for_a_minute_loses_nothing() {
    let mut site = Site::by_rest();
    site.start();
    let go = site.cluster.folder().join("work/go");
    let runs = site.submit_sh("a100", 1, &waits_for(&go));
    site.until_state(runs, &["running"]);
    site.cluster.stop_rest();
    let late = site.submit_sh("a100", 1, "true");
    eventually("the reason", || {
        let told = site.explained(late);
        (told.contains("Slurm has not answered") && told.contains("slurmrestd")).then_some(())
    });
    // What runs tells of its end itself.
    std::fs::write(&go, "").unwrap();
    site.until_state(runs, &["succeeded"]);
    std::thread::sleep(Duration::from_secs(60));
    assert_eq!(site.json(&["show", &late.to_string(), "--json"])["state"], "starting");
    site.cluster.start_rest();
    site.until_state(late, &["succeeded"]);
    assert_eq!((attempts(&site, runs), attempts(&site, late)), (1, 1));
}
