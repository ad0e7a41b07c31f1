//! Which journal this is: a number drawn when it is made, and written into the database, the snapshot and the mark of what
//! was acknowledged.
//!
//! Files of different clusters, or of a journal and of one restored from its backup, do not belong together although each of
//! them is whole. What was written before there was such a number has none.

use crate::fault::Fault;

/// Bytes of the number.
pub(super) const LENGTH: usize = 16;

/// The number of one journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity([u8; LENGTH]);

impl Identity {
    /// Draws a new one.
    pub(super) fn draw() -> Result<Self, Fault> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes)
            .map_err(|error| Fault::new(format!("cannot read random numbers: {error}"), "try again"))?;
        Ok(Self(bytes))
    }

    /// As a file has it.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// As it is written.
    pub(super) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }
}
