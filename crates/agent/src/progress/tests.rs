use super::*;
use consort_types::{AskId, JobId};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::fs::symlink;

const ID: AllocationId = AllocationId { ask: AskId { job: JobId(7), stage: 0, task: 0 }, attempt: 1 };

/// A folder with a slot for each of two workers, and what watches their files.
fn watched() -> (tempfile::TempDir, Reports) {
    let dir = tempfile::tempdir().unwrap();
    for worker in ["w0", "w1"] {
        std::fs::create_dir(dir.path().join(worker)).unwrap();
    }
    let mut reports = Reports::new(dir.path(), Owners::ours(), Faults::default());
    reports.begin(ID, ["w0", "w1"].map(|worker| Path::new(worker).join(FILE)));
    (dir, reports)
}

/// What is reported when the attempt ends.
fn last(dir: &tempfile::TempDir, reports: &mut Reports) -> Option<Sample> {
    let _ = dir;
    reports.end(ID).map(|report| report.sample)
}

#[test]
fn what_a_worker_wrote_is_reported_with_its_attempt() {
    let (dir, mut reports) = watched();
    assert!(reports.due().is_empty());
    std::fs::write(dir.path().join("w0/progress"), r#"{"done": 3, "total": 10, "unit": "step"}"#).unwrap();
    reports.looked -= LOOK;
    let due = reports.due();
    assert_eq!(due.len(), 1);
    assert_eq!((due[0].allocation, due[0].sample.to_string()), (ID, "3 of 10 steps".into()));
    std::fs::write(dir.path().join("w0/progress"), r#"{"done": 10, "rate": 2}"#).unwrap();
    reports.looked -= LOOK;
    assert!(reports.due().is_empty(), "too soon");
    let rest = last(&dir, &mut reports).unwrap();
    assert_eq!((rest.done_milli, rest.rate_nano, rest.total_milli), (10_000, 2_000_000_000, 0));
    assert!(!reports.hand_in(ID, Sample::default()), "it is over");
    assert_eq!(reports.next(), None);
}

#[test]
fn the_lowest_rank_that_reports_speaks_for_all_and_peaks_are_of_all() {
    let (dir, mut reports) = watched();
    std::fs::write(dir.path().join("w0/progress"), r#"{"done": 3, "memory_bytes": 10}"#).unwrap();
    std::fs::write(dir.path().join("w1/progress"), r#"{"done": 9, "memory_bytes": 20}"#).unwrap();
    let rest = last(&dir, &mut reports).unwrap();
    assert_eq!((rest.done_milli, rest.memory_bytes), (3_000, 20));
}

#[test]
fn what_a_job_puts_in_the_place_of_its_file_is_refused_and_holds_up_nobody() {
    let attacks: [fn(&Path); 6] = [
        |path| symlink("/etc/shadow", path).unwrap(),
        |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        |path| std::fs::File::create(path).unwrap().set_len(10 << 30).unwrap(),
        |path| std::fs::create_dir(path).unwrap(),
        |path| {
            std::fs::write(path.with_file_name("other"), r#"{"done": 1}"#).unwrap();
            std::fs::hard_link(path.with_file_name("other"), path).unwrap();
        },
        |path| std::fs::write(path, vec![b'['; LONGEST as usize]).unwrap(),
    ];
    for attack in attacks {
        let (dir, mut reports) = watched();
        attack(&dir.path().join("w0/progress"));
        std::fs::write(dir.path().join("w1/progress"), r#"{"done": 9}"#).unwrap();
        reports.looked -= LOOK;
        assert_eq!(reports.due().len(), 1, "the other worker is heard");
        assert!(reports.faults.of(ID).is_some_and(|why| why.contains("cannot be read")));
        reports.looked -= LOOK;
        assert!(reports.due().is_empty());
        assert_eq!(last(&dir, &mut reports), None);
    }
}

#[test]
fn reports_become_rarer_where_many_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut reports = Reports::new(dir.path(), Owners::ours(), Faults::default());
    let id = |task| AllocationId { ask: AskId { task, ..ID.ask }, ..ID };
    for task in 0..20_000 {
        reports.begin(id(task), []);
    }
    let sample = |rate: u64, done: u64| Sample { rate_nano: rate, done_milli: done, ..Sample::default() };
    let mut at = |seconds: u64, rate: u64| {
        reports.start -= Duration::from_secs(seconds);
        reports.looked -= LOOK;
        (0..20_000).for_each(|task| assert!(reports.hand_in(id(task), sample(rate, seconds * rate + 1))));
        reports.due().len()
    };
    assert_eq!(at(1, 100), 20_000);
    assert_eq!(at(30, 200), 0, "half a minute later");
    assert_eq!(at(31, 200), 20_000, "a change of rate is known after a minute");
    assert_eq!(at(120, 201), 0, "no change");
}
