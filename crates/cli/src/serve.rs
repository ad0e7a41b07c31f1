//! `consort serve`: the daemon for a cluster, in the foreground.

mod settings;
mod slurm;

use crate::failure::Failure;
use crate::up::{self, Daemon};
use consort_sched::Registry;
use settings::Settings;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  consort serve --world local --data-dir /srv/consort
  consort serve --world slurm --slurm-partition gpu --slurm-shared /shared/consort
  consort serve --world slurm --slurm-partition gpu --slurm-rest unix:/run/slurmrestd/slurmrestd.sock
  consort serve --config consort.yaml

The file has the same settings as the flags, which win over it:
  world: slurm
  data-dir: /srv/consort
  slurm:
    partition: gpu
    shared: /shared/consort
    on-drain: finish

With Slurm, nodes, devices, features and switches are read from it; jobs run as
the user of this daemon, or of slurmrestd. `consort nodes --probe` shows how it
is reached. docs/book/slurm.md is a ten-minute guide.";

/// Run the daemon for a cluster
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where jobs run: on this machine, or on a Slurm cluster
    #[arg(long, value_name = "WORLD", value_parser = ["local", "slurm"])]
    world: Option<String>,
    /// YAML file with these settings; flags win over it
    #[arg(long, value_name = "FILE", env = "CONSORT_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    daemon: Daemon,
    #[command(flatten)]
    slurm: slurm::Flags,
}

/// The command.
pub fn run(args: &Args, policies: &Registry) -> Result<(), Failure> {
    let said = match &args.config {
        Some(path) => Settings::read(path)?,
        None => Settings::default(),
    };
    let daemon = said.daemon.under(&args.daemon);
    match args.world.as_deref().or(said.world.as_deref()) {
        Some("local") => match args.slurm.first_given() {
            None => up::start(&daemon, policies),
            Some(flag) => Err(Failure::request(
                format_args!("--{flag} is for --world slurm"),
                "leave it out, or name that world",
            )),
        },
        Some("slurm") if daemon.containers.is_some() => Err(Failure::request(
            "`containers` is for --world local",
            "leave it out; jobs on Slurm start their containers themselves",
        )),
        Some("slurm") => slurm::serve(&daemon, policies, &said.slurm.under(&args.slurm)),
        Some(other) => Err(Failure::request(format_args!("unknown world `{other}`"), "use local or slurm")),
        None => {
            Err(Failure::request("missing setting: where jobs run", "give --world local or --world slurm"))
        }
    }
}
