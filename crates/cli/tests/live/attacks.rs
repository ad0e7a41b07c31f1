//! Jobs that attack what the daemon keeps about them, against the whole daemon.
//!
//! Each job writes down that it ran, attacks its slot or its record, and ends. However the attack goes: it runs once,
//! the daemon answers, also after it was killed, and jobs that mean no harm are served.

use super::daemon::{House, until};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a job may put in the place of a file, as a line of shell over `$1`.
const ATTACKS: [&str; 9] = [
    "rm -rf $1",
    "rm -rf $1; mkfifo $1",
    "rm -rf $1; mkdir -p $1/in-the-way",
    "rm -rf $1; ln -s /etc/passwd $1",
    "rm -rf $1; ln -s $(ls -d $PWD/data/records/* | head -n 1) $1",
    "rm -rf $1; truncate -s 6G $1",
    "rm -rf $1; head -c 70000 /dev/urandom > $1",
    "chmod 000 $1",
    "mv $1 $1.moved",
];

/// What is attacked: files of the slot, the slot, the folder of the attempt, the record.
const TARGETS: [&str; 5] = [
    "$CONSORT_SLOT/status",
    "$CONSORT_SLOT/launch.json",
    "$CONSORT_SLOT",
    "$(dirname $CONSORT_SLOT)",
    "$PWD/data/records/$CONSORT_ALLOCATION.w0",
];

/// A job that attacks, waits until it may end, and ends with status 3.
fn attacker(house: &House, attack: &str, target: &str) -> Value {
    let script = format!(
        "echo $CONSORT_JOB >> runs; set -- {target}; {attack}; echo $CONSORT_JOB >> attacked; \
         until [ -e end ]; do sleep 0.02; done; exit 3"
    );
    json!({"name": "attacker", "run": script, "workdir": house.path(""), "devices": 1})
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

/// The most memory that a process has used so far.
fn peak_memory_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Submits every attack on every target, and waits until all of them are done with it.
fn attack_all(house: &House) -> Vec<u64> {
    let client = house.client().expect("it is up");
    let mut jobs = Vec::new();
    for attack in ATTACKS {
        for target in TARGETS {
            jobs.push(client.submit(&attacker(house, attack, target)).expect("accepted").id);
        }
    }
    until("all attacks", || (lines(&house.path("attacked")) == jobs.len()).then_some(()));
    // That each of them runs is in the journal: of one that ends and clears away its record before that, nothing is left to
    // tell that it ever ran.
    until("all reports", || (client.status().ok()?.running == jobs.len() as u64).then_some(()));
    jobs
}

/// Every attacker failed after one attempt, and the daemon is of use to others.
fn check(house: &House, jobs: &[u64], codes: &[i64]) {
    for &id in jobs {
        let job = house.until_state(id, &["failed", "succeeded", "cancelled"]);
        assert_eq!((&job["state"], &job["attempts"]), (&json!("failed"), &json!(1)), "{job}");
        assert!(codes.contains(&job["exit_code"].as_i64().unwrap_or(0)), "{job}");
    }
    assert_eq!(lines(&house.path("runs")), jobs.len(), "each of them ran once");
    assert!(house.said(&["run", "--devices", "1", "--", "echo", "hello"]).contains("hello"));
}

#[test]
fn attackers_run_once_and_the_daemon_goes_on() {
    let house = House::up((ATTACKS.len() * TARGETS.len()) as u32);
    let jobs = attack_all(&house);
    fs::write(house.path("end"), "").expect("a file");
    check(&house, &jobs, &[3]);
    let peak = peak_memory_kib(house.pid());
    assert!(peak < 1 << 20, "the daemon used {peak} KiB");
}

#[test]
fn attackers_are_found_running_by_the_next_daemon() {
    let mut house = House::up((ATTACKS.len() * TARGETS.len()) as u32);
    let jobs = attack_all(&house);
    house.kill();
    house.start();
    let client = house.client().expect("it is up");
    assert_eq!(client.status().expect("it answers").running, jobs.len() as u64);
    fs::write(house.path("end"), "").expect("a file");
    // Where the record itself was attacked, only that it ended is known.
    check(&house, &jobs, &[3, 137]);
}

#[test]
fn attackers_that_end_while_no_daemon_is_there_do_not_run_again() {
    let mut house = House::up((ATTACKS.len() * TARGETS.len()) as u32);
    let jobs = attack_all(&house);
    house.kill();
    fs::write(house.path("end"), "").expect("a file");
    let data = house.data().join("run");
    let is_over = || consort_agent::process::crews(&data).is_empty().then_some(());
    until("all attackers to end", is_over);
    house.start();
    check(&house, &jobs, &[3, 137]);
    house.kill();
    house.start();
    check(&house, &jobs, &[3, 137]);
}

#[test]
fn a_job_that_always_deletes_its_slot_is_bounded_by_its_retries() {
    let house = House::up(1);
    let client = house.client().expect("it is up");
    let job = json!({
        "run": "echo run >> runs; rm -rf $(dirname $CONSORT_SLOT) data/records/$CONSORT_ALLOCATION.w0; kill -9 $PPID",
        "workdir": house.path(""), "retries": 2, "backoff": "100ms",
    });
    let id = client.submit(&job).expect("accepted").id;
    let ended = house.until_state(id, &["failed", "succeeded"]);
    assert_eq!((&ended["state"], &ended["attempts"]), (&json!("failed"), &json!(3)), "{ended}");
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(500) {
        assert_eq!(lines(&house.path("runs")), 3);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn neither_secrets_nor_descriptors_of_the_daemon_reach_a_job() {
    let mut house = House::new(1);
    let mut command = std::process::Command::new("bash");
    command.args(["-c", "exec 9> secret-1 19> secret-2; exec \"$0\" \"$@\""]);
    command.args([env!("CARGO_BIN_EXE_consort"), "up", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(house.data()).current_dir(house.path(""));
    command.env("XDG_CONFIG_HOME", house.config_folder()).env("CONSORT_LOG", "warn");
    for (name, value) in [("CONSORT_TOKEN", "secret-3"), ("SLURM_JWT", "secret-4"), ("HOUSE_KEY", "secret-5")]
    {
        command.env(name, value);
    }
    house.adopt(command);
    until("the daemon", || house.client()?.status().ok());
    let client = house.client().expect("it is up");
    let script = "env > seen; ls -l /proc/self/fd /proc/$PPID/fd >> seen; cat /proc/$PPID/environ >> seen";
    let job = json!({"run": script, "workdir": house.path("")});
    let id = client.submit(&job).expect("accepted").id;
    house.until_state(id, &["succeeded"]);
    let seen = String::from_utf8_lossy(&fs::read(house.path("seen")).expect("it ran")).into_owned();
    assert!(seen.contains("CONSORT_JOB=") && seen.contains("/proc/self/fd"), "{seen}");
    assert!(!seen.contains("secret-"), "{seen}");
}
