//! What we have learned from observations. Never the truth: that lives in worlds.

pub mod length;
