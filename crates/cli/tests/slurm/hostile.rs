//! Jobs, users and folders that mean us harm, or only look like it.

use super::daemon::until;
use super::site::{Site, eventually};
use consort_slurm_fixture::Make;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// Variables that mean something to a shell, to a loader, to Slurm's tools or to the scripts around the work.
const HOSTILE: &[(&str, &str)] = &[
    ("RANK", "0"),
    ("LOCAL_RANK", "7"),
    ("ROLE_NAME", "x"),
    ("OPTIND", "x"),
    ("OPTARG", "x"),
    ("IFS", "0"),
    ("PATH", "/nowhere"),
    ("BASH_ENV", "/nowhere/env"),
    ("ENV", "/nowhere/env"),
    ("SHELLOPTS", "noexec"),
    ("BASHOPTS", "extglob"),
    ("PS4", "$(touch /tmp/consort-was-here)"),
    ("LD_CONSORT_TEST", "x"),
    ("LC_ALL", "xx_XX"),
    ("UID", "x"),
    ("PPID", "x"),
    ("PWD", "/nowhere"),
    ("CDPATH", "/nowhere"),
    ("LINENO", "x"),
    ("POSIXLY_CORRECT", "1"),
    ("run", "/nowhere"),
    ("out", "/nowhere"),
    ("sign", "/nowhere"),
    ("role", "9"),
    ("first", "9"),
    ("code", "9"),
    ("cause", "9"),
    ("told", "9"),
    ("log", "/nowhere"),
    ("program", "x"),
    ("shell", "x"),
    ("consort_run", "/nowhere"),
    ("consort_out", "/nowhere"),
    ("consort_sign", "/nowhere"),
    ("consort_rank", "9"),
    ("consort_role", "9"),
    ("consort_code", "9"),
    ("consort_told", "1"),
    ("consort_env", "/nowhere"),
    ("consort_log", "/nowhere"),
    ("-u", "x"),
    ("a b", "x"),
];

#[test]
fn the_environment_of_a_job_reaches_its_worker_only() {
    let site = Site::up();
    let env: BTreeMap<&str, &str> = HOSTILE.iter().copied().collect();
    // A lone worker and a gang: RANK is the same for all of it, and yet each is heard.
    for workers in [1, 2] {
        let job = site.submit(json!({
            "kind": "a100", "workers": workers, "workdir": "/", "env": env, "run": ["/usr/bin/env", "-0"],
        }));
        let shown = site.until_state(job, &["succeeded", "failed"]);
        assert_eq!(shown["state"], "succeeded", "{}", site.explained(job));
        assert_eq!(shown["attempts"], 1, "{}", site.story());
        let log = String::from_utf8(one_log(&site, job)).expect("UTF-8");
        let seen: Vec<&str> = log.split('\0').collect();
        for (name, value) in HOSTILE {
            assert!(seen.contains(&&*format!("{name}={value}")), "{name} is missing: {log:?}");
        }
        assert!(!std::path::Path::new("/tmp/consort-was-here").exists());
    }
}

/// The log of one of its workers, as it was written.
fn one_log(site: &Site, job: u64) -> Vec<u8> {
    let folder = site.data().join(format!("slurm/logs/{job}"));
    let first = fs::read_dir(&folder).expect("its logs").flatten().next().expect("a log");
    fs::read(first.path()).expect("it can be read")
}

#[test]
fn an_odd_row_of_squeue_is_skipped() {
    let site = Site::up();
    let odd = |comment: &str| {
        let comment = format!("--comment={comment}");
        site.cluster.run("sbatch", &["--parsable", &comment, "-o", "/dev/null", "--wrap", "sleep 300"]);
    };
    // The second one looks like the row of another job.
    odd("first line\nsecond line");
    odd(&format!("x\n{:<20}{:<20}{:<24}", 1, "N/A", "COMPLETED"));
    odd("\u{1f600}\u{7f}\t|");
    let job = site.submit_sh("a100", 1, "sleep 1");
    site.until_state(job, &["succeeded"]);
    std::thread::sleep(std::time::Duration::from_secs(5));
    let status = site.said(&["status"]);
    assert!(!status.contains("has not answered"), "{status}");
    let next = site.submit_sh("mi300", 1, "true");
    site.until_state(next, &["succeeded"]);
}

#[test]
fn an_odd_row_of_slurmrestd_is_skipped() {
    let mut site = Site::by_rest();
    site.start();
    // Bytes that are no UTF-8, in the comment of somebody else's job.
    let script = site.path("odd.sh");
    fs::write(
        &script,
        b"#!/bin/sh\nsbatch --comment=\"$(printf 'caf\\351 \\377')\" -o /dev/null --wrap 'sleep 300'\n",
    )
    .unwrap();
    let done = std::process::Command::new("sh").arg(&script).env("SLURM_CONF", site.cluster.conf()).output();
    assert!(done.unwrap().status.success());
    let job = site.submit_sh("a100", 1, "sleep 1");
    site.until_state(job, &["succeeded"]);
    std::thread::sleep(std::time::Duration::from_secs(5));
    let status = site.said(&["status"]);
    assert!(!status.contains("has not answered"), "{status}");
}

/// Somebody else's job bears the tag that an attempt of ours is going to have. A daemon that died before it noted the
/// number of its own job looks for the tag, and finds both.
#[test]
fn a_job_of_somebody_else_with_our_tag_is_not_ours() {
    let mut site = Site::by_rest();
    site.start();
    let first = site.submit_sh("a100", 1, "true");
    site.until_state(first, &["succeeded"]);
    let mark: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(site.data().join("slurm.json")).unwrap()).unwrap();
    let comment = format!("--comment={}:{}.0.0#1", mark["tag"].as_str().unwrap(), first + 1);
    site.cluster.run("sbatch", &["--parsable", &comment, "-o", "/dev/null", "--wrap", "sleep 300"]);
    site.kill();
    site.house.env = vec![("CONSORT_CRASH_AT".into(), "after-submit:1".into())];
    site.start();
    let up = site.cluster.folder().join("work/up");
    let job = site.submit_sh("a100", 1, &format!("touch {}; sleep 20", up.display()));
    assert_eq!(job, first + 1);
    eventually("the crash", || (!site.is_alive()).then_some(()));
    site.kill();
    site.house.env.clear();
    eventually("its worker", || up.exists().then_some(()));
    site.start();
    let shown = site.until_state(job, &["succeeded", "failed", "cancelled"]);
    assert_eq!((&shown["state"], &shown["attempts"]), (&json!("succeeded"), &json!(1)), "{}", site.story());
    let queue = site.cluster.run("squeue", &["-h", "-t", "R", "-o", "%k"]);
    assert!(queue.contains(&comment["--comment=".len()..]), "it was left alone: {queue}");
}

/// Processes of jobs, their scripts and `srun` have nothing of what the daemon has around it.
#[test]
fn secrets_of_the_daemon_do_not_reach_jobs() {
    let mut site = Site::new(Make::default());
    site.house.env =
        vec![("SLURM_JWT".into(), site.cluster.token()), ("CONSORT_TEST_SECRET".into(), "secret".into())];
    site.start();
    // Processes of this cluster only: others may be on this machine.
    let conf = site.cluster.conf().display();
    let look = format!(
        r#"for p in /proc/[0-9]*; do
            name=$(tr '\0' ' ' 2>/dev/null < $p/cmdline)
            case $name in *slurm_script*|srun*|*task.sh*) ;; *) continue ;; esac
            grep -aqs 'SLURM_CONF={conf}' $p/environ || continue
            seen=1; grep -aqsE 'SLURM_JWT|CONSORT_TEST_SECRET' $p/environ && echo "a secret in $name"
        done 2> /dev/null
        env | grep -E '^(SLURM_JWT|CONSORT_TEST_SECRET)='; echo looked $seen"#
    );
    let job = site.submit_sh("a100", 1, &look);
    site.until_state(job, &["succeeded"]);
    assert_eq!(site.said(&["logs", &job.to_string()]), "looked 1\n");
}

#[test]
fn marker_files_belong_to_the_owner_of_the_jobs() {
    let mut site = Site::by_rest();
    site.start();
    let found = fs::metadata(site.cluster.folder().join("work/shared/signs")).unwrap();
    assert_eq!((found.uid(), found.permissions().mode() & 0o7777), (65534, 0o700));
    let job = site.submit_sh("a100", 1, "true");
    site.until_state(job, &["succeeded"]);
}

#[test]
fn a_shared_folder_of_somebody_else_is_refused() {
    let mut site = Site::new(Make::default());
    let shared = site.cluster.folder().join("work/shared");
    fs::create_dir(&shared).unwrap();
    site.house.words.extend(["--slurm-shared".into(), shared.display().to_string()]);
    for (owner, mode, expected) in [
        (Some(65534), 0o755, "uid 65534"),
        (Some(0), 0o777, "can be written by other users"),
        (Some(0), 0o775, "can be written by other users"),
    ] {
        std::os::unix::fs::chown(&shared, owner, None).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).unwrap();
        fs::write(site.path("daemon.log"), "").unwrap();
        site.spawn();
        until("its end", || (!site.is_alive()).then_some(()));
        let code = site.wait().code();
        let log = site.log();
        assert!(
            code == Some(3) && log.contains(expected) && log.contains("--slurm-shared"),
            "{code:?} {log}"
        );
    }
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
    site.start();
}

/// What a job does to its own folder is its own trouble: it ends, it is not tried without end, and the daemon answers.
#[test]
fn a_job_that_attacks_its_own_folder_harms_itself_only() {
    let site = Site::up();
    let attacks = [
        "mkfifo $o/ended",
        "mkdir $o/ended",
        "ln -s /etc/passwd $o/ended",
        "truncate -s 6G $o/ended",
        "head -c 64 /dev/urandom > $o/ended",
        "mkfifo $o/failed.0",
        "mkdir $o/failed.0",
        "rm -rf $o",
        "rm -rf $o; mkfifo $o",
        "rm -rf $o; mkdir -p $o.x; ln -s $o.x $o",
        "rm -rf $o/begun; mkfifo $o/begun",
        "mkdir -p $s/$CONSORT_ALLOCATION/x",
        "rm -rf $r/id; mkfifo $r/id; rm $r/intent; mkfifo $r/intent",
        "rm -rf $r",
    ];
    for attack in attacks {
        let shared = site.data().join("slurm");
        let shared = shared.display();
        let text =
            format!("r={shared}/run/$CONSORT_ALLOCATION; s={shared}/signs; o=$r/out; {attack}; exit 3");
        let job = site.submit_sh("a100", 1, &text);
        let shown = site.until_state(job, &["succeeded", "failed"]);
        assert_eq!(
            (&shown["state"], &shown["attempts"]),
            (&json!("failed"), &json!(1)),
            "{attack}: {}",
            site.story()
        );
        let began = std::time::Instant::now();
        site.said(&["status"]);
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{attack}");
    }
    // Nothing of it is in the way of others.
    let job = site.submit_sh("a100", 4, "true");
    site.until_state(job, &["succeeded"]);
}
