//! The order of ranks in the words of launchers.

use super::Plan;
use std::fmt::Write;

/// A form that a launcher reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `host slots=8`: hosts in order, for MPI and DeepSpeed.
    Hostfile,
    /// `rank 0=host slot=0`: every rank, for Open MPI.
    Rankfile,
    /// The host of each task, one to a line: for `SLURM_HOSTFILE` and `--distribution=arbitrary`.
    Slurm,
    /// `host node_rank`: for `torchrun --node-rank`.
    Torchrun,
}

/// Writes a plan in that form.
pub fn write(plan: &Plan, form: Form) -> String {
    let mut text = String::new();
    if form == Form::Torchrun {
        text += "# On each host: torchrun --nnodes ";
        let (count, first) = (plan.hosts.len(), plan.hosts.first().map_or("", |seat| seat.host.as_str()));
        let _ = writeln!(text, "{count} --node-rank RANK --master-addr {first} --master-port 29500 ...");
        text += "# RANK is the number behind the host's name. Elastic rendezvous sorts hosts itself: leave it off.\n";
    }
    for seat in &plan.hosts {
        // Writing to a string cannot fail.
        let _ = match form {
            Form::Hostfile => writeln!(text, "{} slots={}", seat.host, seat.devices),
            Form::Torchrun => writeln!(text, "{} {}", seat.host, seat.node_rank),
            Form::Rankfile | Form::Slurm => break,
        };
    }
    for rank in &plan.ranks {
        let _ = match form {
            Form::Rankfile => writeln!(text, "rank {}={} slot={}", rank.rank, rank.host, rank.local),
            Form::Slurm => writeln!(text, "{}", rank.host),
            Form::Hostfile | Form::Torchrun => break,
        };
    }
    text
}
