//! Points at which a test may end this process as `kill -9` would.
pub fn point(_name: &str) {}
