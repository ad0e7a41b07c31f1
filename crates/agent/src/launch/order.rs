//! All that a shim needs to know to run its worker.
//!
//! For: the shim asks nobody anything; the daemon may be gone by the time it starts.
//! Promises: reaches the shim whole, as its standard input: a file in memory that no job can change and that leaves nothing
//! on a disk. Older daemons left it in the slot, as `launch.json`, and a shim without one looks there.
//! Never: refused for a word too many: what an older shim does not know it does without.

use crate::containers::Container;
use crate::untrusted::{self, Owners};
use consort_types::{Command, Grace, Host, Limits};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The longest order that is read. It holds the text of a script and an environment, and a request has at most 4 MiB.
const LONGEST: u64 = 32 << 20;

/// What one worker is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What it asked for of the machine: its limit where `limits` says nothing, if control groups can be had.
    #[serde(default, skip_serializing_if = "Host::is_none")]
    pub asked: Host,
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
    /// The file in which the shim writes what becomes of the worker. Absent in orders of older daemons, which expect it
    /// in the slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
    /// Wait for the others of the gang.
    #[serde(default)]
    pub together: bool,
    /// The container it runs in; on the machine itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
}

/// Where output goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The folder that the file must lie in; no link below it is followed. Anywhere when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<PathBuf>,
}

impl Order {
    /// The order as a file in memory, to be read from its beginning.
    pub fn in_memory(&self) -> io::Result<OwnedFd> {
        let mut file = File::from(memfd_create("order", MemfdFlags::CLOEXEC)?);
        file.write_all(&serde_json::to_vec(self).expect("orders are plain data"))?;
        file.rewind()?;
        Ok(file.into())
    }

    /// The order that a shim was given as its standard input; absent if that is something else.
    pub(crate) fn given() -> Option<Self> {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether its worker needs a folder: for the text of a script, to meet the others of its gang, or for what the client of
    /// a container runtime leaves where it works.
    pub fn needs_folder(&self) -> bool {
        self.together || self.is_script() || self.container.is_some()
    }

    /// Whether it runs a script, whose text is put into the slot.
    pub fn is_script(&self) -> bool {
        matches!(self.command, Command::Script { .. })
    }

    /// Reads an order of an older daemon; absent if the file holds none. Orders were moved into place whole: only a machine
    /// that went down leaves half of one.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let (base, name) = untrusted::rooted(path);
        let bytes = untrusted::read(base, name, Owners::ours(), LONGEST)?;
        Ok(serde_json::from_slice(&bytes).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_a_newer_daemon_can_be_read() {
        let order = Order {
            allocation: "1.0.0#1".into(),
            rank: 0,
            boot: "b".into(),
            command: Command::Program(vec!["x".into()]),
            env: vec![],
            workdir: "/".into(),
            limits: Limits::default(),
            asked: Host::NONE,
            cpus: vec![],
            soft_files: None,
            grace: Grace::default(),
            log: LogOrder { path: "/x".into(), rotate_bytes: 0, keep: 0, named: false, within: None },
            record: None,
            together: false,
            container: None,
        };
        let mut value = serde_json::to_value(&order).unwrap();
        value["newer"] = true.into();
        value["log"]["newer"] = true.into();
        assert_eq!(serde_json::from_value::<Order>(value).unwrap(), order);
    }
}
