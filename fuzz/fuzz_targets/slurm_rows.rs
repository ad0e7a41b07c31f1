//! Any bytes in one row of what Slurm tells about jobs: all other rows are read as if it were not there.
#![no_main]
use consort_slurm::engine::tools::queue;
use consort_slurm::shapes::{Answer, Job};
use consort_slurm::tag;
use libfuzzer_sys::fuzz_target;

const MARK: &str = "0123456789abcdef0123456789abcdef";

fuzz_target!(|bytes: &[u8]| {
    let _ = tag::read("consort:1f", &String::from_utf8_lossy(bytes));
    columns(bytes);
    json(bytes);
});

fn intact(jobs: &[Job], id: u64) -> bool {
    jobs.iter().any(|job| job.id == id && job.comment == "good")
}

/// `squeue`: rows are told apart by their mark alone.
fn columns(bytes: &[u8]) {
    if bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes()) {
        return;
    }
    let good = |id: u64| format!("{id:<20}{:<20}{:<24}{:<16}{:<12}{:<60}{:<200}@{MARK}@\n", "N/A", "RUNNING", 0, 0, "None", "good");
    let told = [good(1).as_bytes(), bytes, format!("@{MARK}@\n").as_bytes(), good(2).as_bytes()].concat();
    let (jobs, skipped) = queue::read(&told, MARK);
    assert!(intact(&jobs, 1) && intact(&jobs, 2) && jobs.len() + skipped <= 3);
}

/// JSON: whatever leaves quotes and brackets alone.
fn json(bytes: &[u8]) {
    if bytes.iter().any(|byte| b"\"\\[]{},".contains(byte)) {
        return;
    }
    for around in ["", "\""] {
        let good = |id: u64| format!(r#"{{"job_id": {id}, "comment": "good"}}"#);
        let around = around.as_bytes();
        let row = [b"{\"job_id\": 7, \"comment\": ", around, bytes, around, b"}"].concat();
        let told = [b"{\"jobs\": [", good(1).as_bytes(), b",", &row, b",", good(2).as_bytes(), b"]}"].concat();
        let (jobs, skipped) = Answer::read(&told).and_then(Answer::numbered_jobs).expect("two rows are good");
        assert!(intact(&jobs, 1) && intact(&jobs, 2) && jobs.len() + skipped == 3);
    }
}
