//! The scripts that Slurm runs: one for the job, one for each worker.
//!
//! ```text
//! SHARED/run/12.0.0#1/          one attempt at one ask; ours, only the scripts in it and out/ are the job's
//!                     batch.sh  what Slurm starts on the first node: begins once, calls srun, writes how it ended
//!                     task.sh   what srun starts for every worker: finds its rank, its environment and its log
//!                     script.0  the text of a script, by role
//!                     hosts     a line for each rank, where ranks and Slurm's own order must agree; ours
//!                     intent    we are about to submit it: the secret of its tag
//!                     id        the number Slurm gave it
//!                     stop      it is asked to go; a worker that has not begun yet does not
//!                     out/      the job's own: begun/ (it has begun), failed.N (when and how rank N failed), up.N, done.N
//!                               (it began, it succeeded by itself), gone.N (its status after it was asked to go), ended
//!                               (how it all ended), batch.log (output of Slurm and srun)
//! SHARED/signs/12.0.0#1         marker file: something happened to this attempt
//! ```
//! Nodes need nothing installed; all they must see is the shared folder.
//!
//! Guarantees:
//! - An attempt never runs twice: `mkdir begun` succeeds once, whatever Slurm does.
//! - What was submitted is quoted, never evaluated, and its environment reaches the worker only: our scripts use names
//!   that begin with `consort_`, which no submitted variable can set (`environment.rs`).
//! - A worker that ended after it was asked to go has not succeeded, whatever its status: see `batch.rs`.
//! - `SLURM_*` and device masks are Slurm's own, except that several workers with several devices each on one node get
//!   their part of the masks. `SLURM_JWT` is removed.

mod batch;
mod environment;
mod task;

use crate::layout::Layout;
use consort_agent::launch::allocation_name;
use consort_types::{AllocationId, Command, JobSpec, Work};
use std::path::Path;

/// Everything a script is made of.
pub struct Making<'a> {
    /// The attempt that is started.
    pub allocation: AllocationId,
    /// What was submitted.
    pub spec: &'a JobSpec,
    /// What it runs.
    pub work: &'a Work,
    /// Ranks and their nodes.
    pub layout: &'a Layout,
    /// Addresses of the nodes, in the order of the layout.
    pub addresses: &'a [String],
    /// The folder that all nodes see.
    pub shared: &'a Path,
}

/// Writes a line into a file, whatever the job has put in its place: writing to a FIFO would wait for ever.
const PUT: &str = r#"consort_clear() { [ ! -e "$1" ] || [ -f "$1" ] || rm -rf -- "$1"; }
consort_put() { { consort_clear "$1"; echo "$2" > "$1"; } 2> /dev/null; }
"#;

/// Writes how it ended, and that there is something to read.
const ENDED: &str = r#"consort_clear "$consort_out/ended"
consort_put "$consort_out/ended.new" "$consort_code $consort_cause" && mv "$consort_out/ended.new" "$consort_out/ended" 2> /dev/null || consort_unwritten=1
consort_put "$consort_sign" ""
"#;

/// Signals are for the work, not for the scripts around it: slurmrestd's old shapes send them to the batch script too.
const SIGNALS: &str = "trap : HUP INT QUIT USR1 USR2 ALRM\n";

/// Quotes one word for a shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

impl Making<'_> {
    /// The private variables that both scripts begin with.
    fn folders(&self) -> String {
        let name = allocation_name(self.allocation);
        let text = |path: std::path::PathBuf| quoted(&path.display().to_string());
        format!(
            "consort_run={}\nconsort_sign={}\nconsort_out=\"$consort_run/out\"\nconsort_told= consort_cause=exit consort_unwritten=\n{PUT}",
            text(self.shared.join("run").join(&name)),
            text(self.shared.join("signs").join(&name))
        )
    }

    /// A line for each rank: the name of its node.
    pub fn hosts(&self) -> String {
        self.layout.seats.iter().map(|seat| format!("{}\n", self.layout.nodes[seat.node])).collect()
    }

    /// The texts of scripts, by role.
    pub fn scripts(&self) -> Vec<(usize, String)> {
        let stage = self.work.stages.get(usize::from(self.allocation.ask.stage));
        let commands = stage.map_or(&[][..], |stage| &stage.commands);
        let text = |(role, command): (usize, &Command)| match command {
            Command::Script { text, .. } => Some((role, text.clone())),
            Command::Program(_) => None,
        };
        commands.iter().enumerate().filter_map(text).collect()
    }
}

#[cfg(test)]
mod tests;
