//! Who computes what and when.
