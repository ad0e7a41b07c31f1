//! Any text as a devices file.
#![no_main]
use consort_agent::discover::Declared;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Declared::parse("fuzz.yaml", text);
});
