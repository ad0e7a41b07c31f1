//! `kill -9`, two hundred times, under load: at any moment, and aimed at the worst ones.
//!
//! Every worker writes down that it began and that it ended, and holds a lock on its device meanwhile. So what really
//! happened is known from outside: no accepted job is lost, none is started twice, no device is in two hands at once.

use super::daemon::{House, client, until};
use super::kills::{self, Dice, Kills};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KILLS: u32 = 200;
const DEVICES: u32 = 8;

/// What a worker does: says that it is there, holds its device for a while, says that it goes.
pub fn script(ledger: &Path, locks: &Path, ms: u64) -> String {
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
    let mut killed = Kills::default();
    std::thread::scope(|scope| {
        for number in 0..3u64 {
            let (ledger, locks, config, accepted, over) = (&ledger, &locks, &config, &accepted, &over);
            scope.spawn(move || submit(number, ledger, locks, config, accepted, over));
        }
        let mut dice = Dice(20);
        for kill in 0..KILLS {
            killed.add(kills::one_life(&mut house, &mut dice, kills::wait));
            if kill % 10 == 0 {
                kills::compare_recoveries(&house.data());
            }
        }
        house.env.clear();
        over.store(true, Ordering::Relaxed);
    });
    house.start();
    settle(&house, &accepted.lock().expect("nobody panicked"), &ledger);
    killed.tell(KILLS);
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
    let live = client.status_with_hash().expect("it is up");
    let replayed = house.json(&["replay", "--json", house.data().to_str().expect("a plain path")]);
    assert_eq!(replayed["state_hash"], live.state_hash.expect("it was asked for"));
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
