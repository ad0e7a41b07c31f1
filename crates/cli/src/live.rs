//! Commands that ask a server.
//!
//! For: people who have work to run, and people who look after a cluster. Every command is one or two requests and a
//! table. Promises: what is not found is refused with what there is; whatever is sent is read here first, so that
//! mistakes in a file are told with their line; nothing is asked at a terminal that is not one.
//! Never: keeps anything between two commands.
//!
//! | read | for |
//! |---|---|
//! | [`submit`], [`run`], [`jobs`], [`show`], [`explain`], [`logs`], [`wait`], [`act`] | work |
//! | [`nodes`], [`devices`], [`queues`], [`tenants`], [`events`], [`top`], [`status`] | the cluster |
//! | [`slurm`] | the same for Slurm hands |
//! | [`server`] | which server is meant, and what its answers mean for the exit code |
//! | [`filters`] | names in filters that nothing has |
//! | [`flags`], [`sources`] | what is to be run: the flags of `submit` and `run`, and the files |
//! | [`wording`] | how jobs, times and amounts are said |

mod act;
mod command;
mod devices;
mod events;
mod explain;
mod filters;
mod flags;
mod jobs;
mod logs;
mod nodes;
mod queues;
mod run;
pub mod server;
mod show;
mod slurm;
mod sources;
mod status;
mod submit;
mod tenants;
mod top;
mod wait;
mod wording;

use crate::failure::Failure;
pub use jobs::number;

/// The commands of this folder.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Submit a job file, a batch script or a command, and return at once
    Submit(submit::Args),
    /// Run a command as a job: submit it, stream its output, exit with its status
    Run(run::Args),
    /// List jobs
    Jobs(jobs::Args),
    /// Show all details of a job
    Show(show::Args),
    /// Explain why a job is pending, and what would let it start
    Explain(explain::Args),
    /// Show the output of a job
    Logs(logs::Args),
    /// Wait until jobs have ended
    Wait(wait::Args),
    /// Cancel jobs, pending or running
    Cancel(act::Cancel),
    /// Pause jobs: stop them, free their devices, and do not start them until they are resumed
    Pause(act::Pause),
    /// Resume paused jobs
    Resume(act::Resume),
    /// List nodes; drain, undrain or remove one
    Nodes(nodes::Args),
    /// List devices
    Devices(devices::Args),
    /// List queues, create or change one
    Queues(queues::Args),
    /// List tenants, create or change one
    Tenants(tenants::Args),
    /// List events, or follow them
    Events(events::Args),
    /// Watch devices and jobs, live
    Top(top::Args),
    /// Show the state of the server
    Status(status::Args),
    /// Submit a batch script, like Slurm's sbatch
    Sbatch(slurm::sbatch::Args),
    /// List jobs, like Slurm's squeue
    Squeue(slurm::squeue::Args),
    /// Cancel jobs, like Slurm's scancel
    Scancel(slurm::scancel::Args),
    /// List queues and nodes, like Slurm's sinfo
    Sinfo(slurm::sinfo::Args),
}

/// Runs one of them.
pub fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Submit(args) => submit::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Jobs(args) => jobs::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Logs(args) => logs::run(&args),
        Command::Wait(args) => wait::run(&args),
        Command::Cancel(args) => act::cancel(&args),
        Command::Pause(args) => act::pause(&args),
        Command::Resume(args) => act::resume(&args),
        Command::Nodes(args) => nodes::run(&args),
        Command::Devices(args) => devices::run(&args),
        Command::Queues(args) => queues::run(&args),
        Command::Tenants(args) => tenants::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Sbatch(args) => slurm::sbatch::run(&args),
        Command::Squeue(args) => slurm::squeue::run(&args),
        Command::Scancel(args) => slurm::scancel::run(&args),
        Command::Sinfo(args) => slurm::sinfo::run(&args),
    }
}
