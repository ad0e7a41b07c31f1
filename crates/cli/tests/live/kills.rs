//! Ends daemons as a power cut would: at any moment, or aimed at the worst ones; and says where they were.

use super::daemon::House;
use consort_daemon::journal::{self, Journal};
use consort_sched::stock;
use consort_types::Capabilities;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

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
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Where daemons were when they were killed, and how often.
#[derive(Default)]
pub struct Kills(BTreeMap<String, u32>);

impl Kills {
    /// One more.
    pub fn add(&mut self, place: String) {
        *self.0.entry(place).or_default() += 1;
    }

    /// Prints them, and makes sure that there were this many.
    pub fn tell(&self, expected: u32) {
        let mut text = String::from("crash: where the daemon was killed\n");
        for (point, count) in &self.0 {
            text += &format!("  {count:>4}  {point}\n");
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
        assert_eq!(self.0.values().sum::<u32>(), expected);
    }
}

/// Starts the daemon, lets it live for a while, and kills it. Returns where it was. `live` watches it for a span, if it
/// lives that long.
pub fn one_life(house: &mut House, dice: &mut Dice, live: impl FnOnce(&mut House, Duration)) -> String {
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
    live(house, life);
    let died = !house.is_alive();
    house.kill();
    let reached = fs::read_to_string(&trace).unwrap_or_default();
    match (died, reached.trim()) {
        (true, _) => format!("aimed at {point}"),
        (false, "") => "random, before the first point".into(),
        (false, reached) => format!("random, behind {reached}"),
    }
}

/// Lets the daemon alone.
pub fn wait(house: &mut House, life: Duration) {
    let began = Instant::now();
    while began.elapsed() < life && house.is_alive() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The journal replayed from its first event, and a snapshot with what came after it, are the same state.
pub fn compare_recoveries(data: &Path) {
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
