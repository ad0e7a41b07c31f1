//! Any bytes as a job table; a workload that is read is sorted, and nobody waits for what comes later.
#![no_main]
use consort_sim::workload::job_csv;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(workload) = job_csv::parse("fuzz", bytes) {
        assert!(workload.submissions.is_sorted_by_key(|job| job.at));
        for (position, job) in workload.submissions.iter().enumerate() {
            assert!(job.after.iter().all(|(other, _)| *other < position));
        }
    }
});
