//! What this machine has.
//!
//! For: nobody writes down by hand what a machine can say itself.
//! Promises: what cannot be found is a note, never a failure; every path that is read lies below one root, so that tests
//! can make up a machine; the same machine gives the same devices in the same order.
//! Never: changes anything, and never needs a vendor's library to be there.

mod cpu;
mod inventory;

pub use inventory::{CPU, FoundDevice, Inventory, Mask};

use std::path::PathBuf;

/// Where to look, and for what.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Before `/sys`, `/proc` and `/dev`; `/` on a real machine.
    pub root: PathBuf,
}

impl Default for Sources {
    fn default() -> Self {
        Self { root: "/".into() }
    }
}

/// Looks.
pub fn discover(sources: &Sources) -> Inventory {
    let mut notes = Vec::new();
    let found = cpu::find(&sources.root, &mut notes);
    Inventory::new(hostname(), found, notes)
}

fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
