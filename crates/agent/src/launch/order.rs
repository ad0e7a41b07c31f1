//! All that a shim needs to know to run its worker.
//!
//! For: the shim asks nobody anything; the daemon may be gone by the time it starts.
//! Promises: is written beside its place and moved there, so that whoever finds one finds all of it.
//! Never: is changed once it is there.

use consort_types::{Command, Grace, Limits};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What one worker is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The name of the allocation's folder, for messages.
    pub allocation: String,
    /// Which of its workers.
    pub rank: u32,
    /// The boot in which it was written. Nothing of an earlier boot is still running.
    pub boot: String,
    /// What to run.
    pub command: Command,
    /// Everything the worker finds in its environment.
    pub env: Vec<(String, String)>,
    /// Where it runs.
    pub workdir: String,
    /// What it may use of the machine.
    pub limits: Limits,
    /// The processors it may use; all of them when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// The soft limit of open files that workers had before the daemon raised its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_files: Option<u64>,
    /// How it is asked to go.
    pub grace: Grace,
    /// Where its output goes.
    pub log: LogOrder,
    /// Wait for the others of the gang.
    #[serde(default)]
    pub together: bool,
}

/// Where output goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogOrder {
    /// The file that grows.
    pub path: PathBuf,
    /// It is put aside at this size; never when 0.
    pub rotate_bytes: u64,
    /// How many that were put aside are kept.
    pub keep: u32,
    /// Somebody named this file and expects it to be there, even empty.
    #[serde(default)]
    pub named: bool,
}

impl Order {
    /// Puts the order where a shim will look for it.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let beside = path.with_extension("new");
        std::fs::write(&beside, serde_json::to_vec(self).expect("orders are plain data"))?;
        std::fs::rename(&beside, path)
    }

    /// Reads an order.
    pub fn read(path: &Path) -> io::Result<Self> {
        serde_json::from_slice(&std::fs::read(path)?).map_err(io::Error::from)
    }
}
