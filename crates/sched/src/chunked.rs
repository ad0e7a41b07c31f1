//! Tables that copies of a scheduler share until one of them changes.
//!
//! A table of fifty thousand entries is a few hundred chunks behind `Arc`s. Copying it copies the `Arc`s; the first change
//! to a chunk that is shared copies this chunk and no other. So trying something on a copy of a scheduler (a remedy, a
//! forecast) costs what it changes, not what waits.
//!
//! Both tables hash and serialise as the standard collection of the same elements would: how they are cut into chunks
//! follows from their past and is no part of the state.

mod set;
mod slots;

pub(crate) use set::SortedSet;
pub(crate) use slots::Slots;

/// Elements of a chunk at most.
const CHUNK: usize = 128;
