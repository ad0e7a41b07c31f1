//! What works on one machine works on a cluster: the same commands, the same words.

use super::daemon::until;
use super::site::Site;
use consort_slurm_fixture::{Make, Nodes};
use serde_json::json;

#[test]
fn a_day_in_the_life_of_a_cluster() {
    let mut site = Site::new(Make { tree: true, ..Make::default() });
    site.start();

    // Nodes, kinds, features and switches are Slurm's.
    let nodes = site.json(&["nodes", "--json"]);
    let names: Vec<&str> =
        nodes.as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["n1", "n2", "n3", "n4"]);
    assert_eq!(nodes[0]["kinds"], json!({"a100": 4, "cpu": 8}));
    assert_eq!(nodes[2]["features"], json!(["mi300"]));
    let probe = site.said(&["nodes", "--probe"]);
    assert!(probe.contains("command-line tools") && probe.contains("partition"), "{probe}");

    // A gang over two nodes, through srun; the order of ranks is Slurm's and ours.
    let words = "echo $RANK/$WORLD_SIZE $SLURM_PROCID $LOCAL_RANK=$SLURM_LOCALID $SLURMD_NODENAME $SLURM_JOB_NUM_NODES $CUDA_VISIBLE_DEVICES";
    let said = site.said(&[
        "run",
        "--workers",
        "8",
        "--devices-per-worker",
        "1",
        "--kind",
        "a100",
        "--",
        "sh",
        "-c",
        words,
    ]);
    let mut lines: Vec<&str> =
        said.lines().map(|line| line.split_once("] ").map_or(line, |(_, rest)| rest)).collect();
    lines.sort_unstable();
    let expected = |rank: usize| format!("{rank}/8 {rank} {0}={0} n{1} 2 0,1,2,3", rank % 4, 1 + rank / 4);
    assert_eq!(lines, (0..8).map(expected).collect::<Vec<_>>());

    // Unlike counts on nodes: one job of several parts.
    let said = site.said(&[
        "run",
        "--workers",
        "3",
        "--devices-per-worker",
        "1",
        "--kind",
        "mi300",
        "--",
        "sh",
        "-c",
        "echo $RANK $SLURMD_NODENAME",
    ]);
    let mut lines: Vec<&str> =
        said.lines().map(|line| line.split_once("] ").map_or(line, |(_, rest)| rest)).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 n3", "1 n3", "2 n4"]);

    // The exit status is the work's own.
    let output = site.run(&["run", "--kind", "a100", "--", "sh", "-c", "exit 7"]);
    assert_eq!(output.status.code(), Some(7));

    // Arrays and dependencies.
    let array = site.submit(json!({"name": "array", "array": "3-6", "kind": "a100", "workdir": "/", "run": "echo task $SLURM_ARRAY_TASK_ID $CONSORT_TASK"}));
    let after = site.submit(json!({"kind": "a100", "workdir": "/", "after": [array], "run": "echo after"}));
    site.until_state(after, &["succeeded"]);
    let logs = site.said(&["logs", &array.to_string()]);
    assert!((3..=6).all(|task| logs.contains(&format!("task {task} {task}"))), "{logs}");

    // A switch is a level of the topology, and a feature can be insisted on.
    let within =
        site.submit(json!({"kind": "a100", "workers": 8, "within": "switch", "workdir": "/", "run": "true"}));
    site.until_state(within, &["succeeded"]);
    let feature = site.submit(json!({"features": ["mi300"], "workdir": "/", "run": "echo $SLURMD_NODENAME"}));
    site.until_state(feature, &["succeeded"]);
    assert!(["n3\n", "n4\n"].contains(&&*site.said(&["logs", &feature.to_string()])));
    let refused = site
        .client()
        .unwrap()
        .submit(&json!({"kind": "a100", "workers": 2, "within": "island", "workdir": "/", "run": "true"}));
    assert!(refused.unwrap_err().to_string().contains("chooses the devices of a node itself"));
}

#[test]
fn pausing_cancelling_grace_and_limits() {
    let site = Site::up();
    let ledger = site.path("ledger");
    graceful(&site, &ledger);
}

#[test]
fn the_same_through_slurmrestd() {
    let mut site = Site::by_rest();
    site.start();
    let ledger = site.cluster.folder().join("work/ledger");
    graceful(&site, &ledger);
}

/// What is stopped with the daemon begins again with the next one, and it is nobody's fault.
#[test]
fn work_that_is_stopped_with_the_daemon_begins_again() {
    let mut site = Site::up();
    let job = site.submit_sh("a100", 1, "[ $CONSORT_ATTEMPT -gt 1 ] || sleep 300");
    let wide = site.submit(json!({"kind": "mi300", "workers": 3, "workdir": "/", "run": "[ $CONSORT_ATTEMPT -gt 1 ] || sleep 300"}));
    site.until_state(job, &["running"]);
    site.until_state(wide, &["running"]);
    let _ = site.client().unwrap().shutdown(consort_api::shapes::Workers::Stop);
    site.wait();
    until("nothing to be left", || site.cluster.run("squeue", &["-h"]).is_empty().then_some(()));
    site.start();
    for id in [job, wide] {
        let shown = site.until_state(id, &["succeeded"]);
        assert_eq!(shown["attempts"], 2, "{}", site.story());
    }
}

fn graceful(site: &Site, ledger: &std::path::Path) {
    let text = format!(
        "trap 'echo asked >> {0}; exit 9' USR1; echo up >> {0}; while :; do sleep 0.05; done",
        ledger.display()
    );
    let said = || std::fs::read_to_string(ledger).unwrap_or_default();
    let job = site.submit(
        json!({"kind": "a100", "workdir": "/", "grace": {"signal": "USR1", "span": "20s"}, "run": text}),
    );
    until("the worker", || said().contains("up").then_some(()));
    let told = site.explained(job);
    assert!(told.contains("Slurm job"), "{told}");
    site.said(&["pause", &job.to_string()]);
    site.until_state(job, &["paused"]);
    assert_eq!(said(), "up\nasked\n", "asked with the signal it wants");
    site.said(&["resume", &job.to_string()]);
    until("the second attempt", || (said() == "up\nasked\nup\n").then_some(()));
    site.said(&["cancel", &job.to_string()]);
    site.until_state(job, &["cancelled"]);
    assert_eq!(said(), "up\nasked\nup\nasked\n");

    // Whoever does not go when asked is made to.
    let stubborn = site.submit(json!({"kind": "a100", "workdir": "/", "grace": {"span": "1s"}, "run": "trap '' TERM; while :; do sleep 0.05; done"}));
    site.until_state(stubborn, &["running"]);
    site.said(&["cancel", &stubborn.to_string()]);
    site.until_state(stubborn, &["cancelled"]);

    // The job's own time limit is ours to keep.
    let limited = site.submit(json!({"kind": "a100", "workdir": "/", "time": "2s", "run": "sleep 60"}));
    site.until_state(limited, &["failed"]);
    assert!(site.explained(limited).contains("time limit"), "{}", site.explained(limited));
}

#[test]
fn jobs_of_others_are_respected() {
    let site = Site::up();
    // Somebody takes all of one kind but one device, past us.
    let foreign = |count: u32, node: &str| {
        let gres = format!("--gres=gpu:a100:{count}");
        let said = site
            .cluster
            .run("sbatch", &["--parsable", &gres, "-w", node, "-o", "/dev/null", "--wrap", "sleep 300"]);
        said.trim().to_owned()
    };
    let (one, other) = (foreign(4, "n1"), foreign(3, "n2"));
    let in_foreign_hands = || {
        let devices = site.json(&["devices", "--json"]);
        let is_foreign =
            |device: &&serde_json::Value| device["kind"] == "a100" && device["state"] == "foreign";
        devices.as_array().unwrap().iter().filter(is_foreign).count()
    };
    until("foreign use", || (in_foreign_hands() == 7).then_some(()));
    // So are the processors and the memory that come with them.
    let held = |key: &str| {
        let nodes = site.json(&["nodes", "--json"]);
        let node = nodes.as_array().unwrap().iter().find(|node| node["name"] == "n1").expect("it is there");
        node[key].as_u64().unwrap() - node[format!("{key}_free")].as_u64().unwrap()
    };
    assert!(
        held("cpu_thousandths") >= 1000 && held("memory_bytes") > 0,
        "{}",
        site.said(&["nodes", "--json"])
    );
    let fits = site.submit_sh("a100", 1, "true");
    site.until_state(fits, &["succeeded"]);
    let wide = site.submit_sh("a100", 4, "true");
    let told = site.explained(wide);
    assert!(told.contains("7 in use by others"), "{told}");
    site.cluster.run("scancel", &[&one]);
    site.until_state(wide, &["succeeded"]);
    site.cluster.run("scancel", &[&other]);
    until("nobody", || (in_foreign_hands() == 0).then_some(()));
    until("all of the host", || (held("cpu_thousandths") + held("memory_bytes") == 0).then_some(()));
}

#[test]
fn through_slurmrestd_everything_is_the_same() {
    let mut site = Site::by_rest();
    site.start();
    let probe = site.said(&["nodes", "--probe"]);
    assert!(probe.contains("REST v0.0.38 at unix:"), "{probe}");
    let said = site.said(&[
        "run",
        "--workers",
        "3",
        "--devices-per-worker",
        "1",
        "--kind",
        "mi300",
        "--",
        "sh",
        "-c",
        "echo $RANK $SLURMD_NODENAME $(id -un)",
    ]);
    let mut lines: Vec<&str> =
        said.lines().map(|line| line.split_once("] ").map_or(line, |(_, rest)| rest)).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 n3 nobody", "1 n3 nobody", "2 n4 nobody"]);
    let output = site.run(&["run", "--kind", "a100", "--", "sh", "-c", "exit 5"]);
    assert_eq!(output.status.code(), Some(5));
    let job = site.submit_sh("a100", 1, "sleep 300");
    site.until_state(job, &["running"]);
    site.kill();
    site.start();
    site.until_state(job, &["running"]);
    site.said(&["cancel", &job.to_string()]);
    site.until_state(job, &["cancelled"]);
}

#[test]
fn with_a_token_over_the_network_too() {
    let mut site = Site::new(Make { rest: true, ..Make::default() });
    let url = site.cluster.rest_tcp();
    let shared = site.cluster.folder().join("work/shared");
    let token = site.path("token");
    std::fs::write(&token, site.cluster.token()).unwrap();
    let words = [
        "--slurm-rest",
        &url,
        "--slurm-user",
        "root",
        "--slurm-token-file",
        token.to_str().unwrap(),
        "--slurm-shared",
        shared.to_str().unwrap(),
    ];
    site.house.words.extend(words.map(str::to_owned));
    site.start();
    let output = site.run(&["run", "--kind", "a100", "--", "sh", "-c", "echo $SLURM_JOB_ID"]);
    assert!(output.status.success(), "{output:?}");
    // A token that is none is one sentence.
    site.kill();
    std::fs::write(&token, "nonsense").unwrap();
    site.spawn();
    assert_eq!(site.wait().code(), Some(3));
    assert!(site.log().contains("slurmrestd rejects the token"), "{}", site.log());
}

#[test]
fn a_name_may_contain_anything() {
    let site = Site::up();
    let name = "--wrap=reboot '\"$(touch /tmp/consort-was-here)\" ; \u{1f600} %j \\";
    let job = site.submit(json!({"name": name, "kind": "a100", "workdir": "/", "env": {"ODD": name}, "run": "printf '%s\\n' \"$ODD\" \"$CONSORT_JOB_NAME\""}));
    site.until_state(job, &["succeeded"]);
    assert_eq!(site.said(&["logs", &job.to_string()]), format!("{name}\n{name}\n"));
    assert!(!std::path::Path::new("/tmp/consort-was-here").exists());
}

#[test]
fn resources_without_a_type_are_known_by_their_name() {
    let nodes = vec![Nodes { first: 1, count: 1, gres: "gpu:2", features: "", cpus: 4, memory_mb: 4000 }];
    let mut site = Site::new(Make { nodes, ..Make::default() });
    site.start();
    let status = site.said(&["status"]);
    assert!(status.contains("without a type"), "{status}");
    let job = site.submit_sh("gpu", 2, "echo $CUDA_VISIBLE_DEVICES");
    site.until_state(job, &["succeeded"]);
    assert_eq!(site.said(&["logs", &job.to_string()]), "0,1\n");
}

/// What is wrong is one sentence, and nothing is half done.
#[test]
fn wrong_requests() {
    let mut site = Site::new(Make::default());
    let (conf, folder) = (site.cluster.conf().display().to_string(), site.path("fake"));
    std::fs::create_dir(&folder).unwrap();
    let fake = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    let told = |site: &Site, words: &[&str], path: Option<&str>| {
        let mut command = site.command(&["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
        command.arg(site.path("other")).args(words).env_remove("SLURM_CONF");
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        (output.status.code().unwrap(), said)
    };
    let slurm = ["--world", "slurm", "--slurm-conf", &conf];
    let with = |more: &[&'static str]| [&slurm[..], more].concat();
    for (words, path, code, expected) in [
        (vec![], None, 2, "--world"),
        (with(&[]), None, 2, "--slurm-partition"),
        (with(&["--slurm-partition", "nope"]), None, 2, "Slurm has no partition nope; it has main"),
        (
            with(&["--slurm-partition", "main", "--slurm-rest", "slurm:6820"]),
            None,
            2,
            "neither unix:/path nor https",
        ),
        (with(&["--slurm-partition", "main", "--slurm-rest", "http://slurm:6820"]), None, 2, "unencrypted"),
        (with(&["--slurm-partition", "main"]), Some("/nowhere"), 3, "are Slurm's tools installed"),
        (vec!["--world", "local", "--slurm-partition", "main"], None, 2, "is for --world slurm"),
    ] {
        let (status, said) = told(&site, &words, path);
        assert!(status == code && said.contains(expected), "{words:?}: {status} {said}");
    }
    fake("sinfo", "echo slurm 20.02.3");
    let (status, said) = told(&site, &with(&["--slurm-partition", "main"]), folder.to_str());
    assert!(status == 3 && said.contains("Slurm 20.02.3 is too old: Consort needs 21.08 or later"), "{said}");
    fake("sinfo", "case $1 in --version) echo slurm-wlm 22.05.8;; *) echo '{\"errors\": []}';; esac");
    fake(
        "scontrol",
        "case $1 in ping) echo 'Slurmctld(primary) at x is UP';; *) echo PartitionName=main;; esac",
    );
    let (status, said) = told(&site, &with(&["--slurm-partition", "main"]), folder.to_str());
    assert!(status == 3 && said.contains("no list of nodes"), "{said}");
    site.cluster.stop_controller();
    let (status, said) = told(&site, &with(&["--slurm-partition", "main"]), None);
    assert!(status == 3 && said.contains("controller"), "{said}");
    site.cluster.start_controller();
    // A data directory keeps its world.
    site.start();
    site.kill();
    let data = site.data();
    let output = site
        .command(&["up", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("belongs to a Slurm cluster"), "{output:?}");
}
