//! `kill -9`, a hundred times, while jobs attack the folder that Consort keeps about them.
//!
//! Every file of a slot, the slot and the folder of the attempt are deleted, or replaced by a FIFO, a directory, a link,
//! a huge file or garbage. Honest jobs run beside them. What really happened is known from outside, as in `crash`: no
//! accepted job is lost, no attempt runs twice, no two workers of one job live at the same time, no device is in two
//! hands, and nothing outside the slot is touched. A watcher asks for the status all the while.

use super::crash::script;
use super::daemon::{House, PATIENCE, client};
use super::kills::{self, Dice, Kills};
use consort_api::Client;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const KILLS: u32 = 100;
const DEVICES: u32 = 8;

/// A daemon that does not answer for this long is stuck, however busy the machine is.
const STUCK: Duration = Duration::from_secs(10);

/// What is attacked, seen from the folder of the worker.
const TARGETS: [&str; 7] = ["status", "launch.json", "script", "../go", ".", "..", "record"];

/// How. `$t` is the target, `$precious` a folder that is none of the job's business.
const WAYS: [(&str, &str); 9] = [
    ("delete", r#"rm -rf "$t""#),
    ("fifo", r#"rm -rf "$t"; mkfifo "$t""#),
    ("directory", r#"rm -rf "$t"; mkdir -p "$t/in/the/way""#),
    ("link to a file", r#"rm -rf "$t"; ln -s "$precious/file" "$t""#),
    ("link to a folder", r#"rm -rf "$t"; ln -s "$precious" "$t""#),
    ("endless", r#"rm -rf "$t"; ln -s /dev/zero "$t""#),
    ("huge", r#"rm -rf "$t"; truncate -s 2G "$t""#),
    ("garbage", r#"rm -rf "$t"; head -c 5000 /dev/urandom > "$t""#),
    ("grown", r#"truncate -s 2G "$t" || true"#),
];

/// Where workers leave traces.
struct Ground {
    ledger: PathBuf,
    locks: PathBuf,
    precious: PathBuf,
}

/// Jobs that were accepted, and whether they behave.
type Accepted = Mutex<BTreeMap<u64, bool>>;

/// The attack of a turn: all ways on all targets, one after the other.
fn choose(turn: usize) -> (&'static str, &'static str, &'static str) {
    let (name, way) = WAYS[turn / TARGETS.len() % WAYS.len()];
    (name, way, TARGETS[turn % TARGETS.len()])
}

/// An attack, and what a worker does beside it: the same as an honest one. Of a gang only the first attacks: the second
/// would follow the links of the first, and spoil by itself what it is a crime to spoil.
fn attack(ground: &Ground, way: &str, target: &str, ms: u64) -> String {
    // The record of a worker may lie elsewhere than in its slot.
    let target = match target {
        "record" => r#"$CONSORT_SLOT/../../../records/$(basename "$(dirname "$CONSORT_SLOT")").$(basename "$CONSORT_SLOT")"#.into(),
        target => format!("$CONSORT_SLOT/{target}"),
    };
    let honest = script(&ground.ledger, &ground.locks, ms);
    let (before, after) = honest.split_once("sleep").expect("a worker sleeps");
    format!(
        "{before}exec 8> {locks}/job-$CONSORT_JOB-$CONSORT_RANK\n\
         flock -n 8 || echo \"twice $who\" >> {ledger}\n\
         precious={precious}\n\
         t=\"$(realpath -ms \"{target}\")\"\n\
         [ $CONSORT_RANK != 0 ] || [ ! -d \"$(dirname \"$t\")\" ] || {{ {way}; }} 2> /dev/null\n\
         sleep{after}",
        locks = ground.locks.display(),
        ledger = ground.ledger.display(),
        precious = ground.precious.display(),
    )
}

#[test]
fn jobs_that_attack_their_slots_harm_only_themselves() {
    let mut house = House::new(DEVICES);
    let ground =
        Ground { ledger: house.path("ledger"), locks: house.path("locks"), precious: house.path("precious") };
    for folder in [&ground.locks, &ground.precious] {
        fs::create_dir(folder).expect("a folder");
    }
    fs::write(ground.precious.join("file"), "precious\n").expect("a file");
    let (accepted, enough, over) = (Accepted::default(), AtomicBool::new(false), AtomicBool::new(false));
    let config = house.config_folder();
    let mut killed = Kills::default();
    let answers = std::thread::scope(|scope| {
        let (ground, config, accepted) = (&ground, &config, &accepted);
        // Whatever comes to pass here, nobody else goes on for ever.
        let (enough, over) = (Raised(&enough), Raised(&over));
        for number in 0..2 {
            scope.spawn(move || submit(number, ground, config, accepted, enough.0));
        }
        let socket = format!("unix:{}", house.data().join("api/socket").display());
        let watcher = scope.spawn(move || watch(&socket, over.0));
        let mut dice = Dice(41);
        for kill in 0..KILLS {
            killed.add(kills::one_life(&mut house, &mut dice, live));
            if kill % 10 == 0 {
                kills::compare_recoveries(&house.data());
            }
        }
        house.env.clear();
        drop(enough);
        house.start();
        await_all(&house);
        drop(over);
        watcher.join().expect("it watches")
    });
    settle(&house, &accepted.into_inner().expect("nobody panicked"), &ground);
    killed.tell(KILLS);
    tell(answers);
}

/// A flag that is raised when this goes, in good order or in a panic.
struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A daemon takes requests soon after it was started, and still does at the end of its life.
fn live(house: &mut House, life: Duration) {
    let until_it_answers = |house: &mut House| {
        let began = Instant::now();
        while house.is_alive() && house.client().is_none_or(|client| client.status().is_err()) {
            assert!(began.elapsed() < STUCK, "the daemon does not answer: {}", house.log());
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    until_it_answers(house);
    kills::wait(house, life);
    until_it_answers(house);
}

/// Waits until every job has ended. Those that have not are told with what they do to themselves.
fn await_all(house: &House) {
    let began = Instant::now();
    loop {
        let living = house.json(&["jobs", "--json", "--limit", "10000"]);
        let living = living.as_array().expect("a list");
        if living.is_empty() {
            return;
        }
        let told =
            |job: &Value| format!("{} {} {}: {}\n", job["id"], job["name"], job["state"], job["reason"]);
        let late = began.elapsed() > 3 * PATIENCE;
        assert!(!late, "jobs that do not end:\n{}", living.iter().map(told).collect::<String>());
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Submits attacks in turn, and honest work between them, until there is enough.
fn submit(number: usize, ground: &Ground, config: &Path, accepted: &Accepted, enough: &AtomicBool) {
    let mut dice = Dice(number as u64);
    for turn in (number..).step_by(2) {
        if enough.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10 + dice.below(40)));
        let Some(client) = client(config) else { continue };
        if client.status().map_or(true, |status| status.waiting > 40) {
            continue;
        }
        let is_honest = dice.below(3) == 0;
        let ms = 1 + dice.below(if is_honest { 40 } else { 400 });
        let (how, way, target) = choose(turn);
        let (name, run) = match is_honest {
            true => ("honest".into(), script(&ground.ledger, &ground.locks, ms)),
            false => (format!("{how}, {target}"), attack(ground, way, target, ms)),
        };
        let workers = if dice.below(4) == 0 { 2 } else { 1 };
        let job = json!({"name": name, "workers": workers, "workdir": "/", "run": run, "grace": "1s"});
        if let Ok(submitted) = client.submit(&job) {
            accepted.lock().expect("nobody panicked").insert(submitted.id, is_honest);
        }
    }
}

/// Asks for the status again and again, as a command of the owner does; how long each answer took.
fn watch(socket: &str, over: &AtomicBool) -> Vec<Duration> {
    let mut answers = vec![];
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        // A request that is cut off by a kill has no answer.
        if Client::new(socket, None).status().is_ok() {
            answers.push(began.elapsed());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    answers
}

/// Compares what is told with what was done.
fn settle(house: &House, accepted: &BTreeMap<u64, bool>, ground: &Ground) {
    assert!(accepted.len() > 100, "only {} submissions were acknowledged", accepted.len());
    let jobs = house.jobs();
    let known: BTreeMap<u64, &Value> =
        jobs.iter().map(|job| (job["id"].as_u64().expect("a number"), job)).collect();
    let (mut states, mut wrong): (BTreeMap<String, u32>, Vec<String>) = (BTreeMap::new(), vec![]);
    for (id, is_honest) in accepted {
        let Some(job) = known.get(id) else {
            wrong.push(format!("job {id} was accepted and is lost"));
            continue;
        };
        let state = job["state"].as_str().expect("a word");
        let may_be: &[&str] = if *is_honest { &["succeeded"] } else { &["succeeded", "failed"] };
        if job["attempts"] != 1 || !may_be.contains(&state) {
            wrong.push(job.to_string());
        }
        let who = if *is_honest { "honest" } else { "hostile" };
        *states.entry(format!("{who} {state}")).or_default() += 1;
    }
    let lines = once_each(&ground.ledger, &mut wrong);
    assert!(wrong.is_empty(), "{} things are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let honest = |line: &&String| {
        let job = line.split(' ').nth(1).and_then(|job| job.parse().ok());
        job.and_then(|job: u64| accepted.get(&job)).is_some_and(|is_honest| *is_honest)
    };
    let count = |word: &str| lines.iter().filter(honest).filter(|line| line.starts_with(word)).count();
    assert_eq!(count("begin"), count("end"), "honest work that began has ended");
    let kept = fs::read_to_string(ground.precious.join("file")).expect("it is still there");
    assert_eq!(kept, "precious\n", "what a link pointed to was changed");
    assert_eq!(fs::read_dir(&ground.precious).expect("it is still there").count(), 1);
    let live = house.client().and_then(|client| client.status_with_hash().ok()).expect("it is up");
    let replayed = house.json(&["replay", "--json", house.data().to_str().expect("a plain path")]);
    assert_eq!(replayed["state_hash"], live.state_hash.expect("it was asked for"));
    let _ = writeln!(
        std::io::stderr(),
        "crash under attack: {} jobs {states:?}, {} workers, {} events",
        accepted.len(),
        lines.iter().filter(|line| line.starts_with("begin")).count(),
        live.position
    );
}

/// The lines that workers wrote. None may be there twice, or be about something that must not happen.
fn once_each(ledger: &Path, wrong: &mut Vec<String>) -> BTreeSet<String> {
    let text = fs::read_to_string(ledger).expect("workers wrote");
    let mut lines = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("overlap") {
            wrong.push(format!("a device was in two hands: {line}"));
        }
        if line.starts_with("twice") {
            wrong.push(format!("two workers of one job were alive: {line}"));
        }
        if !lines.insert(line.to_owned()) {
            wrong.push(format!("an attempt ran twice: {line}"));
        }
    }
    lines
}

/// How long answers took. A busy machine is slow; only a daemon that is stuck fails.
fn tell(mut answers: Vec<Duration>) {
    answers.sort_unstable();
    let last = answers.len() - 1;
    let at = |thousandth: usize| answers[last * thousandth / 1000];
    let slow = answers.iter().filter(|answer| **answer > Duration::from_millis(100)).count();
    let _ = writeln!(
        std::io::stderr(),
        "crash under attack: {} answers to `status`: p50 {:?}, p99 {:?}, p99.9 {:?}, max {:?}, {slow} over 100 ms",
        answers.len(),
        at(500),
        at(990),
        at(999),
        at(1000)
    );
    assert!(answers[last] < STUCK, "an answer took {:?}", answers[last]);
}
