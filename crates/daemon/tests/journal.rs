//! A journal that is cut, damaged, older, newer or ahead of itself.

use consort_daemon::journal::{self, Batch, Journal, NotCommitted, Submission, snapshot};
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
        self.journal.acknowledge().expect("there is room");
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
    let inherited = vec![("PATH".into(), "/bin".into())];
    Work { inherited, ..Work::of(Command::Program(vec!["true".into()]), "/") }
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
    house.journal.write_snapshot(&house.scheduler.save()).expect("there is room");
    house.submit();
    let hash = house.scheduler.state_hash();
    let house = house.again(|_| {});
    assert_eq!(house.scheduler.state_hash(), hash);
    // Torn, flipped, of an older layout, gone: the journal says the same.
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
    let newer_by_damage = |folder: &Path| {
        let mut bytes = fs::read(file(folder)).expect("it is there");
        bytes[8] ^= 0x40;
        fs::write(file(folder), bytes).expect("written");
    };
    let older = |folder: &Path| of_layout(folder, consort_sched::LAYOUT - 1);
    let whole = fs::read(file(house.folder.path())).expect("it is there");
    let mut house = house;
    let spoilt: [&dyn Fn(&Path); 4] = [&torn, &flipped, &newer_by_damage, &older];
    for (spoil, says) in spoilt.into_iter().zip([true, true, true, false]) {
        fs::write(file(house.folder.path()), &whole).expect("written");
        house = house.again(spoil);
        assert_eq!(house.scheduler.state_hash(), hash);
        assert_eq!(!house.notes.is_empty(), says, "{:?}", house.notes);
    }
}

#[test]
fn a_snapshot_ahead_of_its_journal_proves_a_loss() {
    let house = House::with(3);
    let mut other = House::with(9);
    other.submit();
    let hash = house.scheduler.state_hash();
    let (ahead, own) = (other.scheduler.save(), house.journal.identity());
    let house = house.damaged(|folder| assert!(snapshot::write(folder, &ahead, own).is_ok()));
    assert!(house.notes[0].contains("ends with event 7, but events up to 14"), "{:?}", house.notes);
    assert_ne!(house.scheduler.state_hash(), hash, "its jobs are paused");
    assert!(house.folder.path().join("journal.damaged-1.snapshot").exists());
    assert!(!house.folder.path().join("snapshot").exists(), "it would fit once the journal has grown again");
}

#[test]
fn files_of_different_journals_do_not_go_together() {
    for (name, says) in [
        ("snapshot", "the snapshot is of another journal"),
        ("journal.acknowledged", "journal.acknowledged is of another journal"),
        ("journal.db", "journal.acknowledged is of another journal"),
    ] {
        let other = House::with(3);
        other.journal.write_snapshot(&other.scheduler.save()).expect("there is room");
        let House { folder: other, journal, .. } = other;
        journal.close().expect("there is room");
        let house = House::with(5);
        let house = house.damaged(|folder| {
            fs::copy(other.path().join(name), folder.join(name)).expect("copied");
            if name == "journal.db" {
                for suffix in ["-wal", "-shm"] {
                    let _ = fs::remove_file(folder.join(format!("{name}{suffix}")));
                }
            }
        });
        assert!(house.notes[0].contains(says), "{:?}", house.notes);
        assert!(house.scheduler.view().jobs().all(|job| job.is_paused()));
        // What was accepted is a journal of its own from then on.
        assert_eq!(house.again(|_| {}).notes.len(), 1);
    }
}

#[test]
fn a_snapshot_of_another_past_is_refused() {
    // A copy of the directory went on by itself, and its snapshot came back: the same journal by name.
    let mut other = House::with(3);
    let spec = Arc::new(JobSpec::gang("j", 1, Shape::any()));
    other.scheduler.apply(&Event::new(Time::seconds(9), Fact::Accepted(Input::Submit(spec))));
    let house = House::with(5);
    let own = house.journal.identity();
    let saved = other.scheduler.save();
    let house = house.damaged(|folder| assert!(snapshot::write(folder, &saved, own).is_ok()));
    assert!(house.notes[0].contains("the snapshot does not fit event 8"), "{:?}", house.notes);
}

#[test]
fn events_out_of_order_are_damage() {
    let later = |folder: &Path| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        let body: Vec<u8> = file
            .query_row("SELECT body FROM event WHERE position = 6", [], |row| row.get(0))
            .expect("it is there");
        let text = String::from_utf8(body).expect("JSON").replacen("\"at\":0", "\"at\":5", 1);
        let sum = i64::from(crc32fast::hash(text.as_bytes()));
        let changed = file.execute(
            "UPDATE event SET body = ?1, checksum = ?2 WHERE position = 6",
            rusqlite::params![text.as_bytes(), sum],
        );
        assert_eq!(changed.expect("it is there"), 1);
    };
    let house = House::with(5).damaged(later);
    assert!(
        house.notes[0].contains("event 7 of the journal is earlier than the event before it"),
        "{:?}",
        house.notes
    );
}

#[test]
fn settings_that_are_lost_are_named() {
    let set = |house: &mut House| {
        let quotas = vec![];
        house.say(vec![Input::SetTenant(TenantSpec { name: "red".into(), quotas }), Input::Drain(NodeId(0))]);
    };
    // Behind an event that cannot be read.
    let mut house = House::with(2);
    set(&mut house);
    let house = house.damaged(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        file.execute("UPDATE event SET body = x'7b7d' WHERE position = 6", []).expect("it is there");
    });
    let says = "set after event 5 are lost, among them: drain of node n, tenant red; check";
    assert!(house.notes[1].contains(says), "{:?}", house.notes);
    // In a snapshot that is ahead.
    let mut house = House::with(2);
    set(&mut house);
    house.journal.write_snapshot(&house.scheduler.save()).expect("there is room");
    let house = house.damaged(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        file.execute("DELETE FROM event WHERE position > 6", []).expect("they are there");
    });
    let says = "set after event 6 are lost, among them: drain of node n, tenant red; check";
    assert!(house.notes[1].contains(says), "{:?}", house.notes);
}

#[test]
fn a_journal_without_an_identity_gets_one() {
    let house = House::with(3).again(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        file.execute_batch("DROP TABLE identity").expect("it is there");
        OpenOptions::new()
            .write(true)
            .open(folder.join("journal.acknowledged"))
            .and_then(|mark| mark.set_len(12))
            .expect("cut to what older versions wrote");
    });
    let identity = house.journal.identity();
    let House { folder, journal, .. } = house;
    drop(journal);
    assert_eq!(fs::metadata(folder.path().join("journal.acknowledged")).expect("it is there").len(), 32);
    assert_eq!(open(folder.path(), false).expect("it recovers").0.identity(), identity);
}

#[test]
fn files_that_are_removed_or_replaced_in_use_are_noticed() {
    for name in ["journal.db", "journal.db-wal", "journal.db-shm", "journal.acknowledged"] {
        let mut house = House::with(2);
        house.journal.require_files().expect("all are there");
        let path = house.folder.path().join(name);
        fs::remove_file(&path).expect("it is there");
        let gone = house.journal.require_files().expect_err("it is noticed").to_string();
        assert!(gone.contains(&format!("{name} was removed while it was in use")), "{gone}");
        fs::write(&path, "another").expect("written");
        let other = house.journal.acknowledge().expect_err("it is noticed");
        assert!(
            matches!(&other, NotCommitted::Broken(fault) if fault.what.contains("was replaced")),
            "{other:?}"
        );
        drop(house.journal);
        assert_eq!(fs::read(&path).expect("it is left alone"), b"another");
    }
}

#[test]
fn work_without_a_journal_is_not_a_new_directory() {
    for trace in ["inventory.json", "slurm.json", "run/1.0.0#1", "records/1.0.0#1.w0", "logs/1"] {
        let folder = TempDir::new().expect("a folder");
        fs::create_dir_all(folder.path().join("logs/of-mine")).expect("a folder");
        let path = folder.path().join(trace);
        fs::create_dir_all(path.parent().expect("inside")).expect("a folder");
        fs::create_dir(&path).expect("a folder");
        let refused = open(folder.path(), false).err().expect("it is refused").to_string();
        assert!(refused.contains(&format!("there is {trace};")), "{refused}");
        assert!(refused.contains("--accept-loss"), "{refused}");
        let (journal, _) = open(folder.path(), true).expect("the loss is accepted");
        assert!(!folder.path().join("logs/1").exists(), "another job 1 would write into it");
        drop(journal);
        open(folder.path(), false).expect("it is a journal now");
    }
    let folder = TempDir::new().expect("a folder");
    fs::create_dir_all(folder.path().join("logs/of-mine")).expect("a folder");
    open(folder.path(), false).expect("this is not ours");
}

#[test]
fn a_backup_of_no_directory_says_so() {
    let folder = TempDir::new().expect("a folder");
    let (absent, copy) = (folder.path().join("absent"), folder.path().join("copy"));
    let fault = journal::backup::backup(&absent, &copy, &mut |_, _| {}).expect_err("there is none");
    assert!(fault.is_request && fault.what.contains("absent: no such data directory"), "{fault}");
    assert!(!absent.exists() && !copy.exists());
}

#[test]
fn an_interrupted_restore_is_not_a_new_directory() {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join("restoring")).expect("a folder");
    fs::write(folder.path().join("restoring/journal.db"), "half").expect("written");
    for accept_loss in [false, true] {
        let refused = open(folder.path(), accept_loss).err().expect("it is refused").to_string();
        assert!(refused.contains("`consort restore` into") && refused.contains("interrupted"), "{refused}");
    }
    // All was moved, and only the empty folder is left.
    House::with(1).again(|folder| fs::create_dir(folder.join("restoring")).expect("a folder"));
}

#[test]
fn two_writers_of_one_journal_are_told() {
    let mut house = House::with(1);
    let mut other = journal_of(&house);
    house.submit();
    let batch = Batch {
        events: vec![Event::new(Time::ZERO, Fact::Accepted(Input::Cancel(JobId(1))))],
        ..Batch::default()
    };
    let fault = other.commit(&batch).expect_err("the position is taken");
    assert!(
        matches!(&fault, NotCommitted::Broken(fault) if fault.what.contains("another consort writes")),
        "{fault:?}"
    );
}

fn journal_of(house: &House) -> Journal {
    open(house.folder.path(), false).expect("it opens").0
}

#[test]
fn a_torn_log_is_refused_and_left_as_it_is() {
    let house = House::with(50);
    let log = house.folder.path().join("journal.db-wal");
    let kept = fs::read(&log).expect("it is there");
    let kept = &kept[..kept.len() - 9_000];
    let main = fs::read(house.folder.path().join("journal.db")).expect("it is there");
    let acknowledged = house.journal.last();
    let House { folder, journal, .. } = house;
    drop(journal);
    fs::write(folder.path().join("journal.db"), &main).expect("written");
    fs::write(&log, kept).expect("written");
    let _ = fs::remove_file(folder.path().join("journal.db-shm"));
    for _ in 0..2 {
        let refused = open(folder.path(), false).err().expect("it is refused").to_string();
        assert!(refused.contains(&format!("events up to {acknowledged} had been acknowledged")), "{refused}");
        assert!(refused.contains("--accept-loss"), "{refused}");
        assert_eq!(fs::read(folder.path().join("journal.db")).expect("it is there"), main);
        assert_eq!(fs::read(&log).expect("it is there"), kept);
    }
    let (journal, recovered) = open(folder.path(), true).expect("the loss is accepted");
    let mut house = House { folder, journal, scheduler: recovered.scheduler, notes: recovered.notes };
    assert_eq!(fs::read(house.folder.path().join("journal.damaged-1")).expect("it is kept"), main);
    assert_eq!(fs::read(house.folder.path().join("journal.damaged-1-wal")).expect("it is kept"), kept);
    // Nothing that was alive then can start by itself, and status goes on saying so.
    let jobs = house.scheduler.view().living_count();
    assert!(0 < jobs && jobs < 50, "{jobs}");
    assert!(house.scheduler.view().jobs().all(|job| job.is_paused()));
    assert!(house.scheduler.plan(Time::ZERO).moves.is_empty());
    assert!(house.notes[1].contains("tenants, quotas, queues and drained nodes"), "{:?}", house.notes);
    assert!(house.notes[2].contains("`consort resume JOB`"), "{:?}", house.notes);
    let found = house.journal.last();
    let mut house = house.again(|_| {});
    assert!(matches!(&house.notes[..], [note] if note.contains("are paused, because")), "{:?}", house.notes);
    // And it goes on from there.
    house.submit();
    assert_eq!(house.journal.last(), found + 1);
    let living: Vec<JobId> = house.scheduler.view().jobs().map(|job| job.id()).collect();
    let last = JobId(living.len() as u64);
    house.say(living.into_iter().filter(|job| *job != last).map(Input::Resume).collect());
    assert_eq!(house.again(|_| {}).notes, Vec::<String>::new());
}

#[test]
fn a_journal_without_its_mark_is_refused() {
    for (spoil, says) in [
        (
            &(|mark: &Path| fs::remove_file(mark).expect("it is there")) as &dyn Fn(&Path),
            "is missing or empty",
        ),
        (&|mark: &Path| fs::write(mark, [7; 12]).expect("written"), "is damaged"),
    ] {
        let House { folder, journal, .. } = House::with(3);
        drop(journal);
        spoil(&folder.path().join("journal.acknowledged"));
        let refused = open(folder.path(), false).err().expect("it is refused").to_string();
        assert!(refused.contains(says), "{refused}");
        let (_, recovered) = open(folder.path(), true).expect("the loss is accepted");
        assert!(recovered.scheduler.view().jobs().all(|job| job.is_paused()));
    }
}

#[test]
fn what_is_gone_is_not_a_new_journal() {
    for (name, is_emptied) in [("journal.db", false), ("journal.db", true), ("journal.db-wal", false)] {
        let house = House::with(5);
        let files = ["journal.db", "journal.db-wal"];
        let bytes = files.map(|file| fs::read(house.folder.path().join(file)).expect("it is there"));
        let house = house.damaged(|folder| {
            files
                .iter()
                .zip(&bytes)
                .for_each(|(file, bytes)| fs::write(folder.join(file), bytes).expect("written"));
            let _ = fs::remove_file(folder.join("journal.db-shm"));
            match is_emptied {
                true => fs::write(folder.join(name), "").expect("written"),
                false => fs::remove_file(folder.join(name)).expect("it is there"),
            }
        });
        assert!(house.notes[0].contains("events up to 9 had been acknowledged"), "{:?}", house.notes);
        let kept = house.folder.path().join("journal.damaged-1-wal");
        let kept = fs::metadata(kept).map_or(0, |kept| kept.len());
        assert_eq!(kept > 0, name == "journal.db", "the log is kept");
    }
}

#[test]
fn a_clean_stop_leaves_no_log() {
    let House { folder, journal, scheduler, .. } = House::with(5);
    let _reader = journal.shelf().expect("it opens");
    journal.close().expect("there is room");
    let log = fs::metadata(folder.path().join("journal.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0);
    let alone = TempDir::new().expect("a folder");
    for file in ["journal.db", "journal.acknowledged"] {
        fs::copy(folder.path().join(file), alone.path().join(file)).expect("copied");
    }
    let (_, recovered) = open(alone.path(), false).expect("it is whole");
    assert_eq!(recovered.scheduler.state_hash(), scheduler.state_hash());
}

#[test]
fn a_crash_before_the_first_commit_is_not_a_loss() {
    let folder = TempDir::new().expect("a folder");
    drop(open(folder.path(), false).expect("it opens"));
    let (_, recovered) = open(folder.path(), false).expect("it opens again");
    assert_eq!(recovered.notes, Vec::<String>::new());
    fs::remove_file(folder.path().join("journal.db")).expect("it is there");
    open(folder.path(), false).expect("nothing was acknowledged");
}

#[test]
fn a_rotten_event_is_put_aside_with_all_behind_it() {
    let house = House::with(10);
    let house = house.damaged(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        file.execute("UPDATE event SET body = x'7b7d' WHERE position = 9", []).expect("it is there");
        for name in ["4", "5", "notes"] {
            fs::create_dir_all(folder.join("logs").join(name)).expect("a folder");
        }
    });
    // Job 5 is lost, and another one will be called so: it must not write into the same files.
    let is_there = |place: &str| house.folder.path().join(place).exists();
    assert!(is_there("logs/4") && is_there("logs/notes") && !is_there("logs/5"));
    assert!(is_there("journal.damaged-1.logs/5"));
    assert!(house.notes[0].contains("and 5 events behind it would be lost"), "{:?}", house.notes);
    assert!(house.notes[0].contains("8 events and what 4 jobs run were carried over"), "{:?}", house.notes);
    let kept = Connection::open(house.folder.path().join("journal.damaged-1")).expect("it is kept");
    let rows: i64 = kept.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).expect("a number");
    assert_eq!(rows, 14);
    // What was dropped with them is free to be used again.
    let mut house = house;
    assert_eq!(house.scheduler.view().seen(), 8 + 4, "four jobs are paused");
    house.submit();
    assert_eq!(house.scheduler.view().seen(), 13);
}

#[test]
fn a_damaged_command_is_not_run_and_not_backed_up() {
    let house = House::with(3).again(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        let other =
            "UPDATE work SET body = CAST(replace(CAST(body AS TEXT), 'true', 'trud') AS BLOB) WHERE job = 2";
        assert_eq!(file.execute(other, []).expect("it is there"), 1);
    });
    let shelf = house.journal.shelf().expect("it opens");
    assert!(Works::find(&shelf, JobId(1)).is_ok());
    let fault = Works::find(&shelf, JobId(2)).expect_err("it is damaged");
    assert!(fault.contains("what job 2 runs is damaged"), "{fault}");
    let copy = house.folder.path().join("copy");
    let fault =
        journal::backup::backup(house.folder.path(), &copy, &mut |_, _| {}).expect_err("it is damaged");
    assert!(fault.to_string().contains("what job 2 runs is damaged"), "{fault}");
    assert!(!copy.exists());
}

#[test]
fn tables_of_the_first_version_get_checksums_from_then_on() {
    let house = House::with(2).again(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        let older = "ALTER TABLE work DROP COLUMN checksum; ALTER TABLE history DROP COLUMN checksum;
            PRAGMA user_version = 1; PRAGMA wal_checkpoint(TRUNCATE)";
        file.execute_batch(older).expect("they are there");
    });
    let mut house = house;
    house.submit();
    let shelf = house.journal.shelf().expect("it opens");
    assert!((1..=3).all(|job| Works::find(&shelf, JobId(job)).is_ok()));
    let file = Connection::open(house.folder.path().join("journal.db")).expect("it opens");
    let count: i64 =
        file.query_row("SELECT count(checksum) FROM work", [], |row| row.get(0)).expect("a number");
    assert_eq!(count, 1);
}

#[test]
fn a_missing_event_ends_the_journal_before_it() {
    let house = House::with(10).damaged(|folder| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        file.execute("DELETE FROM event WHERE position = 7", []).expect("it is there");
    });
    assert_eq!(house.scheduler.view().living_count(), 2);
}

#[test]
fn a_torn_last_event_is_cut_off_if_nobody_was_told_of_it() {
    let tear = |folder: &Path| {
        let file = Connection::open(folder.join("journal.db")).expect("it opens");
        file.execute("UPDATE event SET body = x'7b7d' WHERE position = 14", []).expect("it is there");
    };
    let house = House::with(10).damaged(tear);
    assert!(house.notes[0].contains("events up to 14 had been acknowledged: 1 lost"), "{:?}", house.notes);
    let house = House::with(10).again(|folder| {
        tear(folder);
        let (thirteen, mark) = (13u64.to_le_bytes(), folder.join("journal.acknowledged"));
        let bytes = [&thirteen[..], &crc32fast::hash(&thirteen).to_le_bytes()].concat();
        fs::write(mark, bytes).expect("written");
    });
    assert_eq!(house.scheduler.view().seen(), 13);
    assert!(house.notes[0].contains("recovered to event 13; 1 dropped"), "{:?}", house.notes);
    assert_eq!(house.notes.len(), 1);
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
    assert!(house.notes[0].contains("journal.db is damaged"), "{:?}", house.notes);
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
    assert!(fault.contains("is of format 99, and this program knows 2"), "{fault}");
    assert_eq!(fs::read(&path).expect("it is there"), before);
}

/// Makes the snapshot in a folder look as if a program with this layout had written it.
fn of_layout(folder: &Path, layout: u32) {
    let mut bytes = fs::read(folder.join("snapshot")).expect("it is there");
    bytes[8..12].copy_from_slice(&layout.to_le_bytes());
    let sum = crc32fast::hash(&[&bytes[8..20], &bytes[24..]].concat());
    bytes[20..24].copy_from_slice(&sum.to_le_bytes());
    fs::write(folder.join("snapshot"), bytes).expect("written");
}

#[test]
fn a_snapshot_of_a_newer_version_is_refused_and_untouched() {
    let House { folder, journal, scheduler, .. } = House::with(3);
    journal.write_snapshot(&scheduler.save()).expect("there is room");
    drop(journal);
    of_layout(folder.path(), consort_sched::LAYOUT + 1);
    let before = fs::read(folder.path().join("journal.db")).expect("it is there");
    let replayed = journal::replay(
        folder.path(),
        stock::standard().policy(),
        Capabilities::default(),
        &mut |_, _, _| {},
    );
    let faults = [open(folder.path(), false).err(), open(folder.path(), true).err(), replayed.err()];
    for fault in faults {
        let fault = fault.expect("it is refused").to_string();
        let says = format!("its snapshot has layout {}", consort_sched::LAYOUT + 1);
        assert!(fault.contains("a newer version of consort wrote to") && fault.contains(&says), "{fault}");
        assert!(fault.contains("use that version, or give another data directory"), "{fault}");
    }
    assert_eq!(fs::read(folder.path().join("journal.db")).expect("it is there"), before);
}

#[test]
fn a_directory_of_an_older_version_gets_a_snapshot_first() {
    let House { folder, journal, scheduler, .. } = House::with(3);
    journal.write_snapshot(&scheduler.save()).expect("there is room");
    drop(journal);
    of_layout(folder.path(), consort_sched::LAYOUT - 1);
    let (journal, mut recovered) = open(folder.path(), false).expect("it recovers");
    assert_eq!((recovered.has_snapshot, recovered.replayed), (false, 7));
    recovered.renew_snapshot(folder.path());
    assert_eq!(recovered.notes, Vec::<String>::new());
    drop(journal);
    let written = fs::read(folder.path().join("snapshot")).expect("it is there");
    let (journal, mut recovered) = open(folder.path(), false).expect("it recovers");
    assert_eq!((recovered.has_snapshot, recovered.replayed), (true, 0));
    recovered.renew_snapshot(folder.path());
    assert_eq!(fs::read(folder.path().join("snapshot")).expect("it is there"), written, "it is good already");
    // Where none can be written, the daemon goes on and says so.
    drop(journal);
    fs::remove_file(folder.path().join("snapshot")).expect("it was there");
    let (_journal, mut recovered) = open(folder.path(), false).expect("it recovers");
    fs::create_dir(folder.path().join("snapshot.new")).expect("in the way");
    recovered.renew_snapshot(folder.path());
    assert!(recovered.notes[0].contains("no snapshot was written"), "{:?}", recovered.notes);
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
    house.scheduler.apply(&Event::new(Time::ZERO, Fact::Planned(plan)));
    let bytes = postcard::to_stdvec(&house.scheduler.save()).expect("plain data");
    assert_eq!((consort_sched::LAYOUT, bytes.len(), crc32fast::hash(&bytes)), (13, 670, 3_707_413_912));
}

#[test]
fn a_removed_lock_lets_nobody_in() {
    use consort_daemon::folder::Folder;
    let folder = TempDir::new().expect("a folder");
    let first = Folder::take(folder.path()).expect("it is free");
    fs::remove_file(folder.path().join("lock")).expect("it is there");
    let fault = Folder::take(folder.path()).err().expect("it is in use").to_string();
    assert!(fault.contains("is in use by another consort"), "{fault}");
    drop(first);
    Folder::take(folder.path()).expect("it is free again");
}
