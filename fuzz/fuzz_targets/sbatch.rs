//! Any text as a batch script; a job that is read can be written as a job file.
#![no_main]
use consort_types::Time;
use consort_types::file::job::{Around, read_json};
use consort_types::file::sbatch::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let around = Around { now: Time::seconds(1_773_065_100), workdir: "/work" };
    if let Ok(batch) = read("fuzz.sh", text, &around) {
        let job = batch.job;
        let again = read_json("again", job.to_json().to_string().as_bytes(), &around).unwrap();
        assert_eq!((again.spec, again.work), (job.spec, job.work));
    }
});
