//! What differs by kind of device, and jobs that ran out of device memory, on a real Slurm.

use super::site::Site;
use consort_slurm_fixture::Make;
use serde_json::{Value, json};
use std::fs;

/// A site whose kinds are described: Slurm itself knows their names only.
fn site() -> Site {
    let mut site = Site::new(Make::default());
    let text = "kinds:\n  - {name: a100, memory: 40GiB}\n  - {name: mi300, memory: 192GiB, precision: [fp8, bf16]}\n";
    let path = site.path("kinds.yaml");
    fs::write(&path, text).expect("a file");
    site.house.words.extend(["--devices".into(), path.display().to_string()]);
    site.start();
    site
}

/// Runs a job to its end; its row and its output.
fn ran(site: &Site, job: Value) -> (Value, String) {
    let id = site.submit(job);
    let row = site.until_state(id, &["succeeded", "failed"]);
    (row, site.said(&["logs", &id.to_string()]))
}

#[test]
fn a_worker_is_told_its_variant_and_its_precision() {
    let site = site();
    let job = |kinds: Value| {
        json!({
            "kind": kinds,
            "precision": ["fp8", "bf16"],
            "workdir": "/",
            "env": {"WHO": "all"},
            "run": "echo job $CONSORT_VARIANT $CONSORT_PRECISION $WHO",
            "variants": {"MI300": {"run": "echo variant $CONSORT_VARIANT $CONSORT_PRECISION $WHO", "env": {"WHO": "me"}}},
        })
    };
    assert_eq!(ran(&site, job(json!(["mi300", "a100"]))).1, "variant MI300 fp8 me\n");
    // The other kind, which the table knows: it has no fp8, and no variant.
    assert_eq!(ran(&site, job(json!(["a100", "mi300"]))).1, "job bf16 all\n");
    // Several workers, on two nodes.
    let mut wide = job(json!("mi300"));
    wide["workers"] = 3.into();
    assert_eq!(ran(&site, wide).1.matches("variant MI300 fp8 me\n").count(), 3);
    // What no kind computes in is refused, and what they do compute in is named.
    let refused = site.client().unwrap().submit(&json!({"precision": "fp4", "workdir": "/", "run": "true"}));
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("mi300 supports fp8, bf16") && why.contains("a100 supports int8"), "{why}");
}

#[test]
fn what_ran_out_of_device_memory_is_tried_again_where_there_is_more() {
    let site = site();
    let words =
        "echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 60.00 GiB' >&2; exit 1";
    let job = |name: &str, kinds: Value| {
        json!({
            "name": name,
            "kind": kinds,
            "on_oom": "larger",
            "workdir": "/",
            "run": "echo fits on $SLURMD_NODENAME",
            "variants": {"a100": {"run": words}},
        })
    };
    let (row, log) = ran(&site, job("big", json!(["a100", "mi300"])));
    assert_eq!((&row["state"], &row["attempts"]), (&json!("succeeded"), &json!(2)), "{row} {log}");
    // It used up no retry: the job has none.
    assert!(log.ends_with("fits on n3\n") || log.ends_with("fits on n4\n"), "{log}");
    // The next job of this name goes where there is more at once.
    let (row, log) = ran(&site, job("big", json!(["a100", "mi300"])));
    assert_eq!((&row["state"], &row["attempts"]), (&json!("succeeded"), &json!(1)), "{row} {log}");
    // Where there is no more, it fails, and says of what.
    let (row, _) = ran(&site, job("stuck", json!("a100")));
    assert_eq!((&row["state"], &row["attempts"]), (&json!("failed"), &json!(1)), "{row}");
    assert!(row["reason"].as_str().is_some_and(|why| why.contains("ran out of device memory")), "{row}");
}

#[test]
fn processors_and_memory_of_hosts_are_passed_on() {
    let site = site();
    let job = json!({"kind": "a100", "cpus": 2, "mem": "100MiB", "workdir": "/", "run": "sleep 60"});
    let id = site.submit(job);
    site.until_state(id, &["running"]);
    let shown = site.cluster.run("scontrol", &["show", "job", "-o"]);
    let job =
        shown.lines().find(|line| line.contains("JobState=RUNNING")).unwrap_or_else(|| panic!("{shown}"));
    assert!(job.contains("CPUs/Task=2"), "{job}");
    assert!(job.contains("MinMemoryNode=100M"), "{job}");
    site.said(&["cancel", &id.to_string()]);
    site.until_state(id, &["cancelled"]);
}

#[test]
fn an_image_is_refused() {
    let site = site();
    let refused = site.client().unwrap().submit(&json!({"image": "pytorch", "workdir": "/", "run": "true"}));
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("`image` is not supported on Slurm yet"), "{why}");
}

#[test]
fn slurm_says_itself_what_devices_there_are() {
    let mut site = Site::new(Make::default());
    let path = site.path("devices.yaml");
    fs::write(&path, "devices: [{kind: a100}]\n").expect("a file");
    site.house.words.extend(["--devices".into(), path.display().to_string()]);
    site.spawn();
    assert_eq!(site.wait().code(), Some(2));
    assert!(site.log().contains("leave only `kinds` in that file"), "{}", site.log());
}
