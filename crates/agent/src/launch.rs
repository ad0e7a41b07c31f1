//! Starting workers, and finding them again.
//!
//! ```text
//! RUN_DIR/12.0.0#1/            one attempt at one ask
//!                  go          the gang is whole: workers may begin
//!                  w0/         one worker
//!                     launch.json   all that its shim needs, complete before there is a shim
//!                     script        the text of a script, if it is one
//! RECORD_DIR/12.0.0#1.w0       what became of that worker, by its shim
//! ```
//! A worker knows its own folder and may clear it away; that is why its record is not in there.
//!
//! For: a daemon that may be killed between any two lines, started again, and told all it wants once more.
//! Promises: an order lies on disk, whole, before its shim is started; starting a shim a second time does no harm; what
//! became of a worker can be told from its record alone.
//! Never: waits for a worker, and never starts one itself: only a shim does, under the lock of its slot.

mod known;
mod order;
mod output;
mod slot;

pub use known::Known;
pub use order::{LogOrder, Order};
pub use output::output_path;
pub use slot::{Sight, Slot, allocation_name, allocation_of, log_path, record_name, recorded_in};

use crate::process::SHIM_MARK;
use std::io::{self, PipeReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How a shim is called: a program and what comes before the folder of the slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShimProgram {
    /// The program.
    pub program: PathBuf,
    /// What it is called with, before the folder of the slot: `shim`.
    pub arguments: Vec<String>,
}

impl ShimProgram {
    /// Starts a shim for a slot whose order has been written. Its records can be read from the pipe, as well as from
    /// its file; reading does not wait.
    ///
    /// It gets nothing from us but its folder: no environment but its mark, no open file but the pipe. Nothing is run
    /// between fork and exec, so that the copy of a big daemon costs nothing; what a shim has to change about itself it
    /// changes itself.
    pub fn spawn(&self, slot: &Path) -> io::Result<(Child, PipeReader)> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .arg(slot)
            .env_clear()
            .env(SHIM_MARK, slot)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::null())
            // What is typed at our terminal is meant for us alone.
            .process_group(0)
            .spawn()?;
        Ok((child, reader))
    }
}
