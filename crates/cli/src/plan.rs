//! `consort plan ...`: how one job spreads over the devices it was given.
//!
//! For: people who ask before they train. Each command reads what it is told, calls a planner of `consort-parallel`, and
//! shows the plan, what it is predicted to achieve, a bound that no plan can beat, and what was assumed: as text, as
//! JSON, as a picture, or in the words of the framework that is to run it.

mod collective;
mod dag;
mod pipeline;
mod ranks;
mod shown;
mod split;
mod sync;

use crate::failure::Failure;

/// One of each.
pub const EXAMPLES: &str = "\
Examples:
  consort plan dag work.yaml
  consort plan pipeline vgg16.graph.txt --devices 8xv100 --bandwidth 10Gb/s
  consort plan ranks --topology topology.yaml
  consort plan collective --ranks 16 --bandwidth 25GB/s
  consort plan split --batch 256 --device a100:sample=0.5ms --device t4:sample=2ms
  consort plan sync --workers 16 --compute 120ms --gradients 400MB --bandwidth 10Gb/s

`consort plan COMMAND --help` has more of each.";

/// Plan inside one job: task graphs, pipelines, ranks, collectives, batches, synchronization
#[derive(clap::Subcommand)]
pub enum Command {
    /// Schedule a task graph on heterogeneous devices
    Dag(dag::Args),
    /// Partition a network into pipeline stages: cuts, replication, schedule
    Pipeline(pipeline::Args),
    /// Order hosts and ranks so that rings use fast links
    Ranks(ranks::Args),
    /// Predict the cost of collectives on a fabric and choose the algorithm
    Collective(collective::Args),
    /// Split a global batch over heterogeneous devices
    Split(split::Args),
    /// Choose how often and in what form to exchange gradients; find stragglers
    Sync(sync::Args),
}

/// The commands.
pub fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Dag(args) => dag::run(&args),
        Command::Pipeline(args) => pipeline::run(&args),
        Command::Ranks(args) => ranks::run(&args),
        Command::Collective(args) => collective::run(&args),
        Command::Split(args) => split::run(&args),
        Command::Sync(args) => sync::run(&args),
    }
}
