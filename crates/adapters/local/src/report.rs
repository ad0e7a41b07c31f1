//! What a shim that we started tells us through its standard output.
//!
//! The same records as in its file. No job can put words there, so they are believed before any file.

use consort_agent::status::{self, Record};
use std::io::{PipeReader, Read};

/// The most that is read. Shims write a few hundred bytes.
const LONGEST: u64 = 64 << 10;

/// The reading end of the pipe. Reading does not wait.
pub(crate) struct Report {
    pipe: PipeReader,
    text: Vec<u8>,
}

impl Report {
    pub fn new(pipe: PipeReader) -> Self {
        Self { pipe, text: Vec::new() }
    }

    /// Everything that was told so far.
    pub fn records(&mut self) -> Vec<Record> {
        let room = LONGEST.saturating_sub(self.text.len() as u64);
        // Ends with an error when there is nothing to read yet; what was read before stays.
        let _ = (&mut self.pipe).take(room).read_to_end(&mut self.text);
        status::records(&self.text)
    }
}
