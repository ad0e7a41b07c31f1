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

/// Plans inside one job
#[derive(clap::Subcommand)]
pub enum Command {
    /// A task graph on unlike devices: which task runs where and when
    Dag(dag::Args),
    /// A network cut into stages: partition, replication, schedule
    Pipeline(pipeline::Args),
    /// The order of hosts and ranks that keeps rings on fast links
    Ranks(ranks::Args),
    /// What collectives cost on a fabric, and which algorithm to choose
    Collective(collective::Args),
    /// A global batch over unlike devices
    Split(split::Args),
    /// How often to exchange gradients, and in what form
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
