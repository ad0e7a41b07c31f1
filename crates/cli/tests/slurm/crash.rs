//! `kill -9`, a hundred times, around submission: at any moment, and aimed at the worst ones.
//!
//! Every worker writes down that it began and that it ended, and Slurm keeps every job it was ever given. So what really
//! happened is known from outside: each attempt was in Slurm at most once, none was lost, and none ran twice.

use super::daemon::{client, until};
use super::site::{Site, eventually};
use consort_slurm_fixture::{Make, Nodes};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const KILLS: u32 = 100;

/// Where a daemon can be made to die.
const POINTS: [&str; 5] = ["before-submit", "after-submit", "after-note", "before-desire", "after-commit"];

/// Small and seeded: which point, how long.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn script(ledger: &Path, ms: u64) -> String {
    let ledger = ledger.display();
    format!(
        "who=\"$CONSORT_JOB $CONSORT_ATTEMPT $CONSORT_RANK\"; echo \"begin $who\" >> {ledger}; sleep 0.{ms:03}; echo \"end $who\" >> {ledger}"
    )
}

#[test]
fn each_attempt_is_in_slurm_at_most_once_and_none_is_lost() {
    // Jobs that ended are remembered for as long as the test lasts.
    let nodes = |first, count, gres| Nodes { first, count, gres, features: "", cpus: 8, memory_mb: 8000 };
    let nodes = vec![nodes(1, 2, "gpu:a100:4"), nodes(3, 2, "gpu:mi300:2")];
    let mut site = Site::new(Make { nodes, extra: "MinJobAge=3600\n".into(), ..Make::default() });
    let ledger = site.path("ledger");
    let (accepted, over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    let config = site.config_folder();
    let mut histogram: BTreeMap<String, u32> = BTreeMap::new();
    std::thread::scope(|scope| {
        let (ledger, accepted, over, config) = (&ledger, &accepted, &over, &config);
        scope.spawn(move || submit(ledger, config, accepted, over));
        let mut dice = Dice(7);
        for _ in 0..KILLS {
            *histogram.entry(one_life(&mut site, &mut dice)).or_default() += 1;
        }
        site.house.env.clear();
        over.store(true, Ordering::Relaxed);
    });
    site.start();
    let accepted = accepted.into_inner().expect("nobody panicked");
    assert!(accepted.len() > 50, "only {} submissions were acknowledged", accepted.len());
    let client = site.client().expect("it is up");
    eventually("all jobs to end", || {
        let status = client.status().ok()?;
        (status.waiting + status.running == 0).then_some(())
    });
    let jobs = site.jobs();
    let known: BTreeMap<u64, &serde_json::Value> =
        jobs.iter().map(|job| (job["id"].as_u64().expect("a number"), job)).collect();
    for id in &accepted {
        let job = known.get(id).unwrap_or_else(|| panic!("job {id} was accepted and is lost"));
        assert_eq!(job["state"], "succeeded", "job {id}: {job}");
    }
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    let tagged = site.tagged();
    for (_, attempt, _) in &tagged {
        *times.entry(attempt.clone()).or_default() += 1;
    }
    // A gang on unlike nodes is one job of several parts; there is none here.
    let twice: Vec<_> = times.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "in Slurm more than once: {twice:?}");
    let mut lines: BTreeMap<String, u32> = BTreeMap::new();
    for line in fs::read_to_string(&ledger).expect("workers wrote").lines() {
        *lines.entry(line.into()).or_default() += 1;
    }
    assert!(lines.values().all(|count| *count == 1), "somebody ran twice: {lines:?}");
    let count = |word: &str| lines.keys().filter(|line| line.starts_with(word)).count();
    assert_eq!(count("begin"), count("end"), "whoever began has ended");
    let mut text = format!(
        "slurm crash: {} accepted, {} jobs, {} attempts in Slurm, {} workers\n",
        accepted.len(),
        known.len(),
        tagged.len(),
        count("begin")
    );
    for (point, count) in &histogram {
        text += &format!("  {count:>4}  {point}\n");
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Submits as long as anybody listens, and remembers what was acknowledged.
fn submit(ledger: &Path, config: &Path, accepted: &Mutex<BTreeSet<u64>>, over: &AtomicBool) {
    let mut dice = Dice(3);
    while !over.load(Ordering::Relaxed) {
        let Some(client) = client(config) else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let kind = if dice.below(3) == 0 { "mi300" } else { "a100" };
        let workers = if dice.below(4) == 0 { 2 } else { 1 };
        let job = json!({
            "name": "load", "kind": kind, "workers": workers, "workdir": "/", "within": "node",
            "run": script(ledger, 1 + dice.below(200)),
        });
        if let Ok(submitted) = client.submit(&job) {
            accepted.lock().expect("nobody panicked").insert(submitted.id);
        }
        std::thread::sleep(Duration::from_millis(60 + dice.below(200)));
    }
}

/// Starts the daemon, lets it live for a while, and kills it. Returns where it was.
fn one_life(site: &mut Site, dice: &mut Dice) -> String {
    let trace = site.path("trace");
    let _ = fs::remove_file(&trace);
    let aimed = dice.below(3) > 0;
    let point = POINTS[dice.below(POINTS.len() as u64) as usize];
    site.house.env = vec![("CONSORT_CRASH_TRACE".into(), trace.display().to_string())];
    if aimed {
        site.house.env.push(("CONSORT_CRASH_AT".into(), format!("{point}:{}", 1 + dice.below(4))));
    }
    site.spawn();
    let life = Duration::from_millis(if aimed { 2_500 } else { 150 + dice.below(900) });
    let began = Instant::now();
    while began.elapsed() < life && site.is_alive() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let died = !site.is_alive();
    site.kill();
    let reached = until("a trace", || Some(fs::read_to_string(&trace).unwrap_or_default()));
    match (died, reached.trim()) {
        (true, _) => format!("aimed at {point}"),
        (false, "") => "random, before the first point".into(),
        (false, reached) => format!("random, behind {reached}"),
    }
}
