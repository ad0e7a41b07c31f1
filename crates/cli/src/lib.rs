//! The command line. [`main`] is the whole program but for the policies it knows.
//!
//! For: people at a terminal, and scripts that read `--json`. Every command is a thin face over a room below: it
//! reads files, calls `consort-sim` or `consort-sched` or asks a server, and shows what came out.
//! Promises: exit codes 0 (done), 1 (the thing asked about failed), 2 (the request was wrong), 3 (the outside
//! broke), and for `run` and `wait` the status of the job; one calm sentence on standard error when it is not 0; the same output for the same inputs; no colours and
//! no progress bar when piped.
//! Never: decides anything about jobs, and never writes a file when its input is bad.
//!
//! | read | for |
//! |---|---|
//! | [`simulate`], [`compare`], [`bench`], [`scenario`], [`policies`], [`completions`], [`version`] | one command each |
//! | [`up`], [`serve`], [`replay`], [`backup`] | the daemon, and its journal |
//! | [`plan`] | plans inside one job |
//! | [`live`] | commands that ask a server: work, the cluster, and the same for Slurm hands |
//! | [`usage`] | what is said when the command line itself is wrong |
//! | [`failure`] | exit codes and the sentences that go with them |
//! | [`inputs`], [`names`], [`circumstances`] | what is asked for: files, names, the simulated world's troubles |
//! | [`figures`], [`jobs_csv`], [`page`], [`files`] | what is written: JSON, job tables, pages with pictures, whole files |
//! | [`screen`], [`table`], [`numbers`], [`progress`] | how it looks |

mod backup;
mod bench;
mod circumstances;
mod compare;
mod completions;
mod failure;
mod figures;
mod files;
mod inputs;
mod jobs_csv;
mod live;
mod lost;
mod names;
mod numbers;
mod page;
mod plan;
mod policies;
mod progress;
mod replay;
mod scenario;
mod screen;
mod serve;
mod simulate;
mod table;
mod up;
mod usage;
mod version;

use clap::{Parser, Subcommand};
use consort_sched::Registry;
use failure::Failure;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  consort up                           this machine becomes a small cluster
  consort run --devices 1 -- python train.py
  consort jobs                         pending and running jobs
  consort explain 17                   why job 17 is not running yet
  consort compare                      simulate every policy on a generated workload
  consort simulate --cluster cluster.yaml --workload jobs.yaml --policy las

Exit codes: 0 success, 1 the job or check failed, 2 the request was wrong,
3 the environment failed (a full disk, a missing permission).";

/// One scheduler for every accelerator
#[derive(Parser)]
#[command(name = "consort", version, after_help = EXAMPLES, max_term_width = 110)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make this machine a small cluster: find its devices, keep a journal, accept and run jobs
    Up(up::Args),
    /// Run the daemon for a cluster
    Serve(serve::Args),
    #[command(flatten)]
    Live(live::Command),
    /// Back up the journal of a running daemon to a file
    Backup(backup::BackupArgs),
    /// Restore a backup into an empty data directory
    Restore(backup::RestoreArgs),
    /// Rebuild the state from a journal and print its hash
    Replay(replay::Args),
    /// Run one workload on one cluster under one policy
    Simulate(simulate::Args),
    /// Run the same workload under several policies, side by side
    Compare(compare::Args),
    /// Plan inside one job: task graphs, pipelines, ranks, collectives, batches, synchronization
    #[command(subcommand, after_help = plan::EXAMPLES)]
    Plan(plan::Command),
    /// Run a public benchmark and compare the result with published figures
    Bench(bench::Args),
    /// Run plain-text scenarios and compare the outcome with what they expect
    Scenario(scenario::Args),
    /// List the policies that this program knows
    Policies(policies::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the version
    Version(version::Args),
}

/// The program, with the policies that it knows. The binary `consort` is `main(Registry::stock())`; one with a policy of its
/// own adds an entry, as `examples/joint-policy` does.
pub fn main(policies: Registry) -> ExitCode {
    // Before anything else: a shim is started for every worker, and has to be quick.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "shim") {
        consort_agent::shim::main(words);
    }
    let result = match Cli::try_parse() {
        Ok(cli) => dispatch(cli.command, &policies),
        Err(error) => usage::answer(&error),
    };
    result.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}

fn dispatch(command: Command, policies: &Registry) -> Result<(), Failure> {
    match command {
        Command::Up(args) => up::run(&args, policies),
        Command::Serve(args) => serve::run(&args, policies),
        Command::Backup(args) => backup::back_up(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Live(command) => live::dispatch(command),
        Command::Simulate(args) => simulate::run(&args, policies),
        Command::Compare(args) => compare::run(&args, policies),
        Command::Plan(command) => plan::dispatch(command),
        Command::Bench(args) => bench::run(&args, policies),
        Command::Scenario(args) => scenario::run(&args, policies),
        Command::Policies(args) => policies::run(&args, policies),
        Command::Completions(args) => completions::run(&args),
        Command::Version(args) => version::run(&args),
    }
}
