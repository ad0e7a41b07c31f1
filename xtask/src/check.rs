//! The rules of the house, one file each.
//!
//! For: what a reviewer should not have to look for by hand.
//! Promises: each rule has a `look` that names the file, what is wrong and what would pass; the judging itself is a
//! plain function over text or data, tested beside it.
//! Never: mends what it finds.

pub mod advisories;
pub mod arrows;
pub mod licences;
pub mod links;
pub mod names;
pub mod purity;
pub mod sizes;
pub mod words;
