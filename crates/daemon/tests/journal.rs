//! A journal that is cut, damaged, older, newer or ahead of itself.

use consort_daemon::journal::{self, Batch, Journal, Submission, snapshot};
use consort_sched::{Scheduler, stock};
use consort_types::*;
use rusqlite::Connection;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// A journal and the scheduler that goes with it.
struct House {
    folder: TempDir,
    journal: Journal,
    scheduler: Scheduler,
    notes: Vec<String>,
}

fn open(folder: &Path, accept_loss: bool) -> Result<(Journal, journal::Recovered), consort_daemon::Fault> {
    Journal::open(folder, stock::standard().policy(), Capabilities::default(), accept_loss)
}

impl House {
    /// One with so many jobs that wait.
    fn with(jobs: u64) -> Self {
        let folder = TempDir::new().expect("a folder");
        let (journal, recovered) = open(folder.path(), false).expect("it opens");
        let mut house = House { folder, journal, scheduler: recovered.scheduler, notes: vec![] };
        house.say(vec![
            Input::SetKind(KindSpec::named("a")),
            Input::SetTenant(TenantSpec { name: "default".into(), quotas: vec![] }),
            Input::SetQueue(QueueSpec {
                name: "default".into(),
                priority: 0,
                strict: false,
                tenants: vec![],
            }),
            Input::NodeJoined(NodeSpec {
                name: "n".into(),
                domains: vec![],
                devices: vec![DeviceGroup { kind: "a".into(), count: 4, island: 0 }],
                features: vec![],
                host: consort_types::Host::NONE,
            }),
        ]);
        for _ in 0..jobs {
            house.submit();
        }
        house
    }

    fn submit(&mut self) {
        self.say(vec![Input::Submit(Arc::new(JobSpec::gang("j", 1, Shape::any())))]);
    }

    /// One batch.
    fn say(&mut self, inputs: Vec<Input>) {
        let mut batch = Batch::default();
        for input in inputs {
            let job = self.scheduler.view().next_job();
            let is_submission = matches!(input, Input::Submit(_));
            let event = self.scheduler.accept(Time::ZERO, input).expect("the story is in order");
            self.scheduler.apply(&event);
            batch.events.push(event);
            if is_submission {
                let position = self.scheduler.view().seen();
                batch.works.push((job, Submission { position, work: work() }));
            }
            batch.ended.extend(self.scheduler.take_ended());
        }
        self.journal.commit(&batch).expect("there is room");
        self.journal.acknowledge();
    }

    /// Closes it, does something to the folder, and opens it again.
    fn again(self, between: impl FnOnce(&Path)) -> House {
        let House { folder, journal, .. } = self;
        drop(journal);
        between(folder.path());
        let (journal, recovered) = open(folder.path(), false).expect("it recovers");
        House { folder, journal, scheduler: recovered.scheduler, notes: recovered.notes }
    }

    /// The same with damage that is not a torn tail: it is refused first, and nothing is touched; then the loss is accepted.
    fn damaged(self, between: impl FnOnce(&Path)) -> House {
        let House { folder, journal, .. } = self;
        drop(journal);
        between(folder.path());
        let refused = open(folder.path(), false).err().expect("it is refused").to_string();
        assert!(refused.contains("--accept-loss"), "{refused}");
        let (journal, recovered) = open(folder.path(), true).expect("it recovers");
        House { folder, journal, scheduler: recovered.scheduler, notes: recovered.notes }
    }
}

fn work() -> Work {
    Work {
        stages: vec![StageWork { commands: vec![Command::Program(vec!["true".into()])], indices: vec![] }],
        workdir: "/".into(),
        env: vec![],
        inherited: vec![("PATH".into(), "/bin".into())],
        grace: Grace::default(),
        limits: Limits::default(),
        output: Output::default(),
    }
}

#[test]
fn a_journal_gives_back_the_state_and_what_the_jobs_run() {
    let house = House::with(5);
    let hash = house.scheduler.state_hash();
    let house = house.again(|_| {});
    assert_eq!(house.scheduler.state_hash(), hash);
    assert_eq!(house.notes, Vec::<String>::new());
    let shelf = house.journal.shelf().expect("it opens");
    let (spec, found) = Works::find(&shelf, JobId(5)).expect("it is there");
    assert_eq!((spec.name.as_str(), found.as_ref()), ("j", &work()));
    assert!(Works::find(&shelf, JobId(6)).is_err());
}

#[test]
fn a_snapshot_is_only_a_shortcut() {
    let mut house = House::with(5);
    snapshot::write(house.folder.path(), &house.scheduler.save()).expect("there is room");
    house.submit();
    let hash = house.scheduler.state_hash();
    let house = house.again(|_| {});
    assert_eq!(house.scheduler.state_hash(), hash);
    // Torn, flipped, of another layout, gone: the journal says the same.
    let file = |folder: &Path| folder.join("snapshot");
    let torn = |folder: &Path| {
        let length = fs::metadata(file(folder)).expect("it is there").len();
        OpenOptions::new().write(true).open(file(folder)).and_then(|f| f.set_len(length / 2)).expect("cut");
    };
    let flipped = |folder: &Path| {
        let mut bytes = fs::read(file(folder)).expect("it is there");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(file(folder), bytes).expect("written");
    };
    let other = |folder: &Path| {
        let mut bytes = fs::read(file(folder)).expect("it is there");
        bytes[8] ^= 0x40;
        fs::write(file(folder), bytes).expect("written");
    };
    let whole = fs::read(file(house.folder.path())).expect("it is there");
    let mut house = house;
    for (spoil, says) in [(&torn as &dyn Fn(&Path), true), (&flipped, true), (&other, false)] {
        fs::write(file(house.folder.path()), &whole).expect("written");
        house = house.again(spoil);
        assert_eq!(house.scheduler.state_hash(), hash);
        assert_eq!(!house.notes.is_empty(), says, "{:?}", house.notes);
    }
}

#[test]
fn a_snapshot_ahead_of_its_journal_is_not_used() {
    let house = House::with(3);
    let mut other = House::with(9);
    other.submit();
    let hash = house.scheduler.state_hash();
    let ahead = other.scheduler.save();
    let house = house.again(|folder| assert!(snapshot::write(folder, &ahead).is_ok()));
    assert_eq!(house.scheduler.state_hash(), hash);
    assert!(house.notes[0].contains("ahead of the journal"), "{:?}", house.notes);
}

#[test]
fn a_torn_log_loses_nothing_silently() {
    // While somebody reads, closing leaves the write-ahead log as a crash would.
    let house = House::with(50);
    let log = house.folder.path().join("journal.db-wal");
    let kept = fs::read(&log).expect("it is there");
    let main = fs::read(house.folder.path().join("journal.db")).expect("it is there");
    let acknowledged = house.journal.last();
    let house = house.again(|folder| {
        fs::write(folder.join("journal.db"), main).expect("written");
        fs::write(folder.join("journal.db-wal"), &kept[..kept.len() - 9_000]).expect("written");
        let _ = fs::remove_file(folder.join("journal.db-shm"));
    });
    let found = house.journal.last();
    assert!(found < acknowledged, "{found} of {acknowledged}");
    assert!(found > 4);
    let note = house.notes.first().expect("it says so");
    assert!(note.contains(&format!("events up to {acknowledged} had been acknowledged")), "{note}");
    // And it goes on from there, without saying so twice.
    let mut house = house.again(|_| {});
    assert_eq!(house.notes, Vec::<String>::new());
    house.submit();
    assert_eq!(house.journal.last(), found + 1);
}

#[test]
fn a_rotten_event_is_put_aside_with_all_behind_it() {
    let house = House::with(10);
    let house = house.damaged(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        file.execute("UPDATE event SET body = x'7b7d' WHERE position = 9", []).expect("it is there");
    });
    assert_eq!(house.scheduler.view().seen(), 8);
    assert!(house.notes[0].contains("recovered to event 8; 6 dropped"), "{:?}", house.notes);
    let dropped = fs::read_to_string(house.folder.path().join("journal.dropped")).expect("it is kept");
    assert_eq!(dropped.lines().count(), 6);
    assert!(dropped.lines().nth(1).is_some_and(|line| line.starts_with("10 {\"v\":1,")), "{dropped}");
    // What was dropped with them is free to be used again.
    let mut house = house;
    house.submit();
    assert_eq!(house.scheduler.view().seen(), 9);
    assert!(house.notes.iter().any(|note| note.contains("had been acknowledged")));
}

#[test]
fn a_missing_event_ends_the_journal_before_it() {
    let house = House::with(10).damaged(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        file.execute("DELETE FROM event WHERE position = 7", []).expect("it is there");
    });
    assert_eq!(house.scheduler.view().seen(), 6);
}

#[test]
fn a_torn_last_event_is_cut_off_and_told() {
    let house = House::with(10).again(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        file.execute("UPDATE event SET body = x'7b7d' WHERE position = 14", []).expect("it is there");
    });
    assert_eq!(house.scheduler.view().seen(), 13);
    assert!(house.notes[0].contains("recovered to event 13; 1 dropped"), "{:?}", house.notes);
    assert!(house.notes[1].contains("events up to 14 had been acknowledged"), "{:?}", house.notes);
}

#[test]
fn a_damaged_page_anywhere_is_survived_if_its_loss_is_accepted() {
    // The first page is the file's own; every other may be hit.
    for part in 1..8u64 {
        let mut house = House::with(400);
        house.say(vec![Input::Cancel(JobId(1))]);
        let House { folder, journal, .. } = house;
        drop(journal);
        let path = folder.path().join("journal.db");
        let mut file = OpenOptions::new().write(true).open(&path).expect("it opens");
        let pages = file.metadata().expect("it is there").len() / 4096;
        file.seek(SeekFrom::Start(pages * part / 8 * 4096)).expect("inside");
        file.write_all(&[0xa5; 4096]).expect("written");
        drop(file);
        // It may lie where nobody looks when starting; otherwise nothing is lost unasked.
        let (journal, recovered) = match open(folder.path(), false) {
            Ok(whole) => whole,
            Err(refused) => {
                assert!(refused.to_string().contains("--accept-loss"), "{refused}");
                open(folder.path(), true).unwrap_or_else(|fault| panic!("page {part} of 8: {fault}"))
            }
        };
        let seen = recovered.scheduler.view().seen();
        drop(journal);
        let (_, again) = open(folder.path(), false).expect("it stays usable");
        assert_eq!(again.scheduler.view().seen(), seen);
        assert_eq!(again.scheduler.state_hash(), recovered.scheduler.state_hash());
    }
}

#[test]
fn a_crash_in_the_middle_of_saving_is_finished_at_the_next_start() {
    let House { folder, journal, scheduler, .. } = House::with(5);
    drop(journal);
    let file = |name: &str| folder.path().join(name);
    fs::rename(file("journal.db"), file("journal.salvaged")).expect("renamed");
    let (_, recovered) = open(folder.path(), false).expect("it recovers");
    assert_eq!(recovered.scheduler.state_hash(), scheduler.state_hash());
}

#[test]
fn something_that_is_no_journal_is_put_aside() {
    let house = House::with(3).damaged(|folder| {
        fs::write(folder.join("journal.db"), vec![b'x'; 9_000]).expect("written");
        let _ = fs::remove_file(folder.join("journal.db-wal"));
    });
    assert_eq!(house.scheduler.view().seen(), 0);
    assert!(house.notes[0].contains("the journal was damaged"), "{:?}", house.notes);
    assert!(house.notes[1].contains("events up to 7 had been acknowledged"), "{:?}", house.notes);
    assert!(house.folder.path().join("journal.damaged-1").exists());
}

#[test]
fn a_folder_of_a_newer_version_is_refused_and_untouched() {
    let House { folder, journal, .. } = House::with(3);
    drop(journal);
    let path = folder.path().join("journal.db");
    let file = Connection::open(&path).expect("it opens");
    file.pragma_update(None, "user_version", 99).expect("it is set");
    drop(file);
    let before = fs::read(&path).expect("it is there");
    let fault = open(folder.path(), true).err().expect("it is refused").to_string();
    assert!(fault.contains("is of format 99, and this program knows 1"), "{fault}");
    assert_eq!(fs::read(&path).expect("it is there"), before);
}

#[test]
fn an_event_of_a_newer_version_is_refused() {
    let House { folder, journal, .. } = House::with(3);
    drop(journal);
    let file = Connection::open(folder.path().join("journal.db")).expect("it opens");
    let body = br#"{"v":9,"at":0,"fact":{"something":"new"}}"#;
    let sum = i64::from(crc32fast::hash(body));
    file.execute(
        "UPDATE event SET body = ?1, checksum = ?2 WHERE position = 5",
        rusqlite::params![body, sum],
    )
    .expect("it is there");
    let fault = open(folder.path(), true).err().expect("it is refused").to_string();
    assert!(fault.contains("was written in version 9"), "{fault}");
}

#[test]
fn replaying_gives_the_hash_of_the_living() {
    let house = House::with(20);
    let mut seen = 0;
    let replayed = journal::replay(
        house.folder.path(),
        stock::find("fifo").expect("it is there").policy(),
        Capabilities::default(),
        &mut |position, of, _| {
            seen += 1;
            assert_eq!((position, of), (seen, 24));
        },
    );
    assert_eq!(replayed.expect("it is whole").state_hash(), house.scheduler.state_hash());
}

#[test]
fn the_layout_of_snapshots_is_numbered() {
    // When this fails, something in the state is laid out differently: raise `LAYOUT` in sched's saved.rs and put the new
    // pair here. Snapshots of the old layout are then ignored, and the journal is replayed.
    let mut house = House::with(3);
    let plan = house.scheduler.plan(Time::ZERO);
    house.scheduler.apply(&Event { at: Time::ZERO, fact: Fact::Planned(plan) });
    let bytes = postcard::to_stdvec(&house.scheduler.save()).expect("plain data");
    assert_eq!((consort_sched::LAYOUT, bytes.len(), crc32fast::hash(&bytes)), (5, 596, 3_741_291_365));
}
