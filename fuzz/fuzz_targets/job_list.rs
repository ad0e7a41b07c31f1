//! Any text as a job list; a workload that is read is sorted, and nobody waits for what comes later.
#![no_main]
use consort_sim::workload::job_list;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(workload) = job_list::parse("fuzz", text) {
        assert!(workload.submissions.is_sorted_by_key(|job| job.at));
        for (position, job) in workload.submissions.iter().enumerate() {
            assert!(job.after.iter().all(|(other, _)| *other < position));
            assert_eq!(job.truth.lengths.len(), job.spec.stages.len());
        }
    }
});
