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
//! | [`flags`], [`sources`] | what is to be run: the flags of `submit` and `run`, and the files |
//! | [`wording`] | how jobs, times and amounts are said |

mod act;
mod command;
mod devices;
mod events;
mod explain;
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

/// The commands of this folder.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Submit a job file or a batch script
    Submit(submit::Args),
    /// Run a command on devices: submit it, show its output, end with its status
    Run(run::Args),
    /// List jobs
    Jobs(jobs::Args),
    /// Show a job in full
    Show(show::Args),
    /// Say why a job is where it is
    Explain(explain::Args),
    /// Show what a job has written
    Logs(logs::Args),
    /// Wait until jobs have ended
    Wait(wait::Args),
    /// End jobs, whatever they are doing
    Cancel(act::Cancel),
    /// Take back what jobs hold, and do not start them until they are resumed
    Pause(act::Pause),
    /// Undo a pause
    Resume(act::Resume),
    /// List nodes, or give one no new work
    Nodes(nodes::Args),
    /// List devices
    Devices(devices::Args),
    /// List queues, or change one
    Queues(queues::Args),
    /// List tenants, or change one
    Tenants(tenants::Args),
    /// List what happened, or watch it happen
    Events(events::Args),
    /// Watch devices and jobs
    Top(top::Args),
    /// Say how the server is
    Status(status::Args),
    /// Submit a batch script, as Slurm's command of this name
    Sbatch(slurm::sbatch::Args),
    /// List jobs, as Slurm's command of this name
    Squeue(slurm::squeue::Args),
    /// End jobs, as Slurm's command of this name
    Scancel(slurm::scancel::Args),
    /// List queues and nodes, as Slurm's command of this name
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
