//! Single bits flipped anywhere in the files of a journal, and each file cut or gone: opening it either refuses or
//! gives back the whole state. A shorter journal that opens would run jobs a second time.

use consort_daemon::journal::{Batch, Journal, Shelf, Submission};
use consort_sched::{Scheduler, stock};
use consort_types::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const FILES: [&str; 4] = ["journal.db", "journal.db-wal", "snapshot", "journal.acknowledged"];
const PLACES: usize = 2_000;

/// The files of a journal as `kill -9` leaves them.
struct Left {
    files: BTreeMap<&'static str, Vec<u8>>,
    events: u64,
    state_hash: u64,
    /// How each job ended, of those that did, as JSON.
    ended: Vec<Option<String>>,
}

/// A folder in memory where there is such a place: nobody has to wait for a disk two thousand times.
fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("a folder")
}

fn open(folder: &Path) -> Result<(Journal, Scheduler), consort_daemon::Fault> {
    let opened = Journal::open(folder, stock::standard().policy(), Capabilities::default(), false);
    opened.map(|(journal, recovered)| (journal, recovered.scheduler))
}

fn say(journal: &mut Journal, scheduler: &mut Scheduler, inputs: Vec<Input>) {
    let mut batch = Batch::default();
    for input in inputs {
        let job = scheduler.view().next_job();
        let is_submission = matches!(input, Input::Submit(_));
        let event = scheduler.accept(scheduler.view().now(), input).expect("the story is in order");
        scheduler.apply(&event);
        batch.events.push(event);
        if is_submission {
            batch.works.push((job, Submission { position: scheduler.view().seen(), work: work() }));
        }
    }
    let plan = scheduler.plan(scheduler.view().now());
    if !plan.moves.is_empty() {
        let event = Event::new(scheduler.view().now(), Fact::Planned(plan));
        scheduler.apply(&event);
        batch.events.push(event);
    }
    batch.ended.extend(scheduler.take_ended());
    scheduler.forget_outboxes();
    journal.commit(&batch).expect("there is room");
    journal.acknowledge().expect("there is room");
}

fn work() -> Work {
    let inherited = vec![("PATH".into(), "/bin".into())];
    Work { inherited, ..Work::of(Command::Program(vec!["true".into()]), "/") }
}

/// A few hundred events: half of them in `journal.db`, half in the log, and a snapshot in between.
fn left_by_kill() -> Left {
    let folder = self::folder();
    let (mut journal, mut scheduler) = open(folder.path()).expect("it opens");
    let group = DeviceGroup { kind: "a".into(), count: 4, island: 0 };
    let queue = QueueSpec { name: "default".into(), priority: 0, strict: false, tenants: vec![] };
    let node = NodeSpec {
        name: "n".into(),
        domains: vec![],
        devices: vec![group],
        features: vec![],
        host: consort_types::Host::NONE,
    };
    let cluster = vec![
        Input::SetKind(KindSpec::named("a")),
        Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
        Input::SetQueue(queue),
        Input::NodeJoined(node),
    ];
    say(&mut journal, &mut scheduler, cluster);
    let live = |journal: &mut Journal, scheduler: &mut Scheduler, jobs: u64| {
        for _ in 0..jobs {
            say(journal, scheduler, vec![Input::Submit(Arc::new(JobSpec::gang("j", 1, Shape::any())))]);
            let view = scheduler.view();
            let granted = view.granted().filter_map(|ask| view.ask(ask)).map(|ask| ask.allocation());
            let oldest = granted.min();
            if let Some(allocation) = oldest.filter(|_| view.next_job().0.is_multiple_of(2)) {
                say(journal, scheduler, vec![Input::Started(allocation)]);
                say(journal, scheduler, vec![Input::over(allocation, Outcome::Succeeded)]);
            }
        }
    };
    live(&mut journal, &mut scheduler, 60);
    drop(journal); // takes the log in
    let (mut journal, mut scheduler) = open(folder.path()).expect("it opens");
    live(&mut journal, &mut scheduler, 20);
    journal.write_snapshot(&scheduler.save()).expect("there is room");
    live(&mut journal, &mut scheduler, 60);
    let read = |name: &'static str| (name, fs::read(folder.path().join(name)).expect("it is there"));
    let shelf = journal.shelf().expect("it opens");
    let ended = jobs(&scheduler).map(|job| told(&shelf, job).expect("it is whole")).collect();
    let left = Left {
        files: FILES.map(read).into(),
        ended,
        events: scheduler.view().seen(),
        state_hash: scheduler.state_hash(),
    };
    assert!(left.events > 300, "{} events", left.events);
    assert!(left.files["journal.db"].len() > 20_000 && left.files["journal.db-wal"].len() > 100_000);
    left
}

fn jobs(scheduler: &Scheduler) -> impl Iterator<Item = JobId> + use<> {
    (1..scheduler.view().next_job().0).map(JobId)
}

fn told(shelf: &Shelf, job: JobId) -> Result<Option<String>, consort_daemon::Fault> {
    let record = shelf.ended(job)?;
    Ok(record.map(|record| serde_json::to_string(&record).expect("plain data")))
}

impl Left {
    /// Opens the files with one of them replaced or gone. Whether the whole state came back; anything but that or a
    /// refusal ends the test.
    fn survives(&self, name: &str, replaced: Option<&[u8]>, has_snapshot: bool, what: &str) -> bool {
        let folder = self::folder();
        for (file, bytes) in self.files.iter().filter(|(file, _)| has_snapshot || **file != "snapshot") {
            let bytes = if *file == name { replaced } else { Some(&bytes[..]) };
            if let Some(bytes) = bytes {
                fs::write(folder.path().join(file), bytes).expect("written");
            }
        }
        match open(folder.path()) {
            Ok((journal, scheduler)) => {
                let found = (scheduler.view().seen(), scheduler.state_hash());
                assert_eq!(found, (self.events, self.state_hash), "{what} of {name} is a silent loss");
                let shelf = journal.shelf().expect("it opens");
                for (job, ended) in jobs(&scheduler).zip(&self.ended) {
                    if let Ok((spec, found)) = Works::find(&shelf, job) {
                        assert_eq!((spec.name.as_str(), found.as_ref()), ("j", &work()), "{what} of {name}");
                    }
                    if let Ok(found) = told(&shelf, job) {
                        assert_eq!(&found, ended, "{what} of {name} is another ending of job {job}");
                    }
                }
                true
            }
            Err(fault) => {
                let there = fs::read(folder.path().join(name)).unwrap_or_default();
                assert_eq!(
                    there,
                    replaced.unwrap_or_default(),
                    "{what} of {name}: refused, and changed: {fault}"
                );
                false
            }
        }
    }
}

#[test]
fn no_flipped_bit_is_a_silent_loss() {
    let left = left_by_kill();
    assert!(left.survives("snapshot", Some(&left.files["snapshot"]), true, "nothing"));
    let mut dice = 20_261_116u64;
    let mut roll = |below: usize| {
        // SplitMix64, so that every run flips the same bits.
        dice = dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (dice ^ (dice >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    };
    let mut refused = BTreeMap::new();
    for place in 0..PLACES {
        let name = FILES[place % FILES.len()];
        let mut bytes = left.files[name].clone();
        // Half of them near the beginning, where the headers are; half of them without a snapshot.
        let reach = if roll(2) == 0 { bytes.len() } else { bytes.len().min(8_192) };
        let has_snapshot = name == "snapshot" || roll(2) == 0;
        let bit = roll(reach * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        if !left.survives(name, Some(&bytes), has_snapshot, &format!("bit {bit}")) {
            *refused.entry(name).or_insert(0) += 1;
        }
    }
    // A test that refuses nothing, or everything, looks at the wrong files.
    assert!(refused["journal.db-wal"] > 100 && refused["journal.db"] > 20, "{refused:?}");
    assert_eq!((refused.get("snapshot"), refused["journal.acknowledged"]), (None, PLACES / 4), "{refused:?}");
}

#[test]
fn no_file_cut_or_gone_is_a_silent_loss() {
    let left = left_by_kill();
    for (name, has_snapshot) in FILES.into_iter().flat_map(|name| [(name, true), (name, false)]) {
        let bytes = &left.files[name];
        let survived = left.survives(name, None, has_snapshot, "the absence");
        assert_eq!(survived, name == "snapshot", "{name}");
        let lengths = [0, 1, 11, 12, 16, 20, 32, 50, 99, 100, 512, 4_095, 4_096, 4_097, 8_192];
        let lengths = lengths.into_iter().chain((1..20).map(|part| bytes.len() * part / 20));
        for length in lengths.chain([bytes.len() - 1]).filter(|length| *length < bytes.len()) {
            let cut = Some(&bytes[..length]);
            let survived = left.survives(name, cut, has_snapshot, &format!("cutting at {length}"));
            // The end of the file may be in the log too, and older versions wrote a position and nothing behind it.
            let is_whole = name == "journal.db" || (name, length) == ("journal.acknowledged", 12);
            assert!(survived == (name == "snapshot") || is_whole, "{name} cut at {length}");
        }
    }
}
