//! What this machine has.
//!
//! For: nobody writes down by hand what a machine can say itself.
//! Promises: what cannot be found is a note, never a failure; every path that is read lies below one root, so that tests
//! can make up a machine; the same machine gives the same devices in the same order.
//! Never: changes anything, and never needs a vendor's library to be there.

mod cpu;
mod declared;
mod host;
mod inventory;
mod nvidia;
mod pci;

pub use declared::{Declared, Search};
pub use inventory::{CPU, FoundDevice, Inventory, Mask};

use std::path::PathBuf;

/// Where to look, and for what.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Before `/sys`; `/` on a real machine.
    pub root: PathBuf,
    /// NVIDIA's management library; where the driver installs it when absent.
    pub nvidia_library: Option<PathBuf>,
    /// What is looked for, and what is there without being looked for.
    pub declared: Declared,
}

impl Default for Sources {
    fn default() -> Self {
        Self { root: "/".into(), nvidia_library: None, declared: Declared::default() }
    }
}

/// Looks.
pub fn discover(sources: &Sources) -> Inventory {
    let Sources { root, nvidia_library, declared } = sources;
    let mut notes = Vec::new();
    let mut found = declared.devices.clone();
    if declared.searches.contains(&Search::Nvidia) {
        found.extend(nvidia::find(nvidia_library.as_deref(), root, &mut notes));
    }
    if declared.searches.contains(&Search::Pci) {
        found.extend(pci::find(root));
    }
    if declared.searches.contains(&Search::Cpu) {
        found.extend(cpu::find(root, &mut notes));
    }
    let mut inventory = Inventory::new(hostname(), found, notes);
    inventory.host = host::find(root);
    inventory.declared = declared.kinds.clone();
    inventory.login = crate::owned::login();
    inventory
}

fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
