//! Any text as a job file, in YAML and in JSON; what is read is read again from what is written of it.
#![no_main]
use consort_types::Time;
use consort_types::file::job::{Around, JobFile, read, read_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let around = Around { now: Time::seconds(1_773_065_100), workdir: "/work" };
    let same = |job: JobFile| {
        let again = read_json("again", job.to_json().to_string().as_bytes(), &around).unwrap();
        assert_eq!((again.spec, again.work), (job.spec, job.work));
    };
    read("fuzz.yaml", text, &around).into_iter().for_each(same);
    read_json("fuzz.json", text.as_bytes(), &around).into_iter().for_each(same);
});
