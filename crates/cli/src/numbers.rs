//! Numbers as people read and write them.

pub use consort_report::numbers::{counted, decimal, duration, percent, thousands};

/// Reads a seed. The words are ours: the library's talk about digits and bits.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a whole number".into())
}
