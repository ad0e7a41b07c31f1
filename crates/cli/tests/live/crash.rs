//! `kill -9`, two hundred times, under load: at any moment, and aimed at the worst ones.
//!
//! Every worker writes down that it began and that it ended, and holds a lock on its device meanwhile. So what really
//! happened is known from outside: no accepted job is lost, none is started twice, no device is in two hands at once.

use super::daemon::{House, client, until};
use consort_daemon::journal::{self, Journal};
use consort_sched::stock;
use consort_types::Capabilities;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const KILLS: u32 = 200;
const DEVICES: u32 = 8;

/// Where a daemon can be made to die.
const POINTS: [&str; 9] = [
    "before-commit",
    "after-commit",
    "after-answer",
    "before-desire",
    "before-spawn",
    "after-spawn",
    "before-go",
    "inside-snapshot",
    "before-snapshot-rename",
];

/// Small and seeded: which point, how long.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What a worker does: says that it is there, holds its device for a while, says that it goes.
fn script(ledger: &Path, locks: &Path, ms: u64) -> String {
    format!(
        r#"who="$CONSORT_JOB $CONSORT_ATTEMPT $CONSORT_RANK"
echo "begin $who" >> {ledger}
exec 9> {locks}/$SLOT_VISIBLE_DEVICES
flock -n 9 || echo "overlap $who" >> {ledger}
sleep 0.{ms:03}
echo "end $who" >> {ledger}"#,
        ledger = ledger.display(),
        locks = locks.display()
    )
}

#[test]
fn nothing_is_lost_and_nothing_runs_twice() {
    let mut house = House::new(DEVICES);
    let (ledger, locks) = (house.path("ledger"), house.path("locks"));
    fs::create_dir(&locks).expect("a folder");
    let (accepted, over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    let config = house.config_folder();
    let mut histogram: BTreeMap<String, u32> = BTreeMap::new();
    std::thread::scope(|scope| {
        for number in 0..3u64 {
            let (ledger, locks, config, accepted, over) = (&ledger, &locks, &config, &accepted, &over);
            scope.spawn(move || submit(number, ledger, locks, config, accepted, over));
        }
        let mut dice = Dice(20);
        for kill in 0..KILLS {
            let where_to = one_life(&mut house, &mut dice);
            *histogram.entry(where_to).or_default() += 1;
            if kill % 10 == 0 {
                compare_recoveries(&house.data());
            }
        }
        house.env.clear();
        over.store(true, Ordering::Relaxed);
    });
    house.start();
    settle(&house, &accepted.lock().expect("nobody panicked"), &ledger);
    tell(&histogram);
}

/// Clients submit as long as anybody listens, and remember what was acknowledged.
fn submit(
    number: u64,
    ledger: &Path,
    locks: &Path,
    config: &Path,
    accepted: &Mutex<BTreeSet<u64>>,
    over: &AtomicBool,
) {
    let mut dice = Dice(number);
    while !over.load(Ordering::Relaxed) {
        let Some(client) = client(config) else {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        };
        for _ in 0..20 {
            let workers = if dice.below(4) == 0 { 2 } else { 1 };
            let job = json!({
                "name": format!("load-{number}"), "workers": workers, "workdir": "/",
                "run": script(ledger, locks, 1 + dice.below(40)),
            });
            match client.submit(&job) {
                Ok(submitted) => drop(accepted.lock().expect("nobody panicked").insert(submitted.id)),
                Err(_) => break,
            }
            std::thread::sleep(Duration::from_millis(5 + dice.below(20)));
        }
    }
}

/// Starts the daemon, lets it live for a while, and kills it. Returns where it was.
fn one_life(house: &mut House, dice: &mut Dice) -> String {
    let trace = house.path("trace");
    let _ = fs::remove_file(&trace);
    let aimed = dice.below(2) == 0;
    let point = POINTS[dice.below(POINTS.len() as u64) as usize];
    house.env = vec![
        ("CONSORT_SNAPSHOT_EVERY".into(), "40".into()),
        ("CONSORT_CRASH_TRACE".into(), trace.display().to_string()),
    ];
    if aimed {
        house.env.push(("CONSORT_CRASH_AT".into(), format!("{point}:{}", 1 + dice.below(12))));
    }
    house.spawn();
    let life = Duration::from_millis(if aimed { 1_500 } else { dice.below(300) });
    let began = Instant::now();
    while began.elapsed() < life && house.is_alive() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let died = !house.is_alive();
    house.kill();
    let reached = fs::read_to_string(&trace).unwrap_or_default();
    match (died, reached.trim()) {
        (true, _) => format!("aimed at {point}"),
        (false, "") => "random, before the first point".into(),
        (false, reached) => format!("random, behind {reached}"),
    }
}

/// The journal replayed from its first event, and a snapshot with what came after it, are the same state.
fn compare_recoveries(data: &Path) {
    let copy = tempfile::TempDir::new().expect("a folder");
    for entry in fs::read_dir(data).expect("a folder").flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a copy");
        }
    }
    let (policy, able) = (stock::standard().policy(), Capabilities::default());
    let (journal, recovered) = Journal::open(copy.path(), policy.clone(), able, false).expect("it recovers");
    assert_eq!(recovered.notes, Vec::<String>::new());
    drop(journal);
    let replayed = journal::replay(copy.path(), policy, able, &mut |_, _, _| {}).expect("it is whole");
    assert_eq!(
        replayed.state_hash(),
        recovered.scheduler.state_hash(),
        "a snapshot and the journal disagree"
    );
}

/// Lets everything end, and compares what is told with what was done.
fn settle(house: &House, accepted: &BTreeSet<u64>, ledger: &Path) {
    assert!(accepted.len() > 100, "only {} submissions were acknowledged", accepted.len());
    let client = house.client().expect("it is up");
    until("all jobs to end", || {
        let status = client.status().ok()?;
        (status.waiting + status.running == 0).then_some(())
    });
    let jobs = house.jobs();
    let known: BTreeMap<u64, &serde_json::Value> =
        jobs.iter().map(|job| (job["id"].as_u64().expect("a number"), job)).collect();
    for id in accepted {
        assert!(known.contains_key(id), "job {id} was accepted and is lost");
    }
    for (id, job) in &known {
        assert_eq!(job["state"], "succeeded", "job {id}: {job}");
        assert_eq!(job["attempts"], 1, "job {id} was started more than once: {job}");
    }
    let mut lines: BTreeMap<String, u32> = BTreeMap::new();
    for line in fs::read_to_string(ledger).expect("workers wrote").lines() {
        assert!(!line.starts_with("overlap"), "a device was in two hands: {line}");
        *lines.entry(line.into()).or_default() += 1;
    }
    for (line, count) in &lines {
        assert_eq!(*count, 1, "{line}");
    }
    let begun = lines.keys().filter(|line| line.starts_with("begin")).count();
    let ended = lines.keys().filter(|line| line.starts_with("end")).count();
    assert_eq!(begun, ended, "whoever began has ended");
    assert!(begun >= known.len());
    let live = client.status().expect("it is up");
    let replayed = house.json(&["replay", "--json", house.data().to_str().expect("a plain path")]);
    assert_eq!(replayed["state_hash"], live.state_hash.as_str());
    assert_eq!(replayed["events"], live.position);
    let _ = writeln!(
        std::io::stderr(),
        "crash: {} accepted, {} jobs, {} workers, {} events",
        accepted.len(),
        known.len(),
        begun,
        live.position
    );
}

fn tell(histogram: &BTreeMap<String, u32>) {
    let mut text = String::from("crash: where the daemon was killed\n");
    for (point, count) in histogram {
        text += &format!("  {count:>4}  {point}\n");
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
    assert_eq!(histogram.values().sum::<u32>(), KILLS);
}
