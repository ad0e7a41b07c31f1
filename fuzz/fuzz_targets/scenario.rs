//! Any text as a story. It is read and not played: a short text can tell a story that takes for ever. An error points
//! into the text, or at all of it.
#![no_main]
use consort_sim::scenario::read_only;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = read_only("fuzz", text) {
        assert!(!error.message.is_empty());
        assert!(error.line <= text.lines().count() as u64 + 1);
    }
});
