//! Any bytes as an event of a journal; what is read is written and read again as the same.
#![no_main]
use consort_daemon::journal::bytes::{read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(event) = read(bytes) {
        assert_eq!(read(&write(&event)), Ok(event));
    }
});
