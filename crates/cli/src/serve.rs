//! `consort serve`: the daemon for a cluster, in the foreground.

mod settings;
mod slurm;

use crate::failure::Failure;
use crate::up::{self, Daemon};
use settings::Settings;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  consort serve --world local --data-dir /srv/consort
  consort serve --world slurm --slurm-partition gpu --slurm-shared /shared/consort
  consort serve --world slurm --slurm-partition gpu --slurm-rest unix:/run/slurmrestd/slurmrestd.sock
  consort serve --config consort.yaml

The file says the same as the flags, which win over it:
  world: slurm
  data-dir: /srv/consort
  slurm:
    partition: gpu
    shared: /shared/consort
    on-drain: finish

With Slurm, nodes, devices, features and switches are read from it; jobs run as
the user of this daemon, or of slurmrestd. `consort nodes --probe` tells how it
is reached. docs/book/slurm.md leads through it in ten minutes.";

/// Run the daemon for a cluster
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where work is carried out
    #[arg(long, value_name = "WORLD", value_parser = ["local", "slurm"])]
    world: Option<String>,
    /// A file that says the same as these flags
    #[arg(long, value_name = "FILE", env = "CONSORT_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    daemon: Daemon,
    #[command(flatten)]
    slurm: slurm::Flags,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let said = match &args.config {
        Some(path) => Settings::read(path)?,
        None => Settings::default(),
    };
    let daemon = said.daemon.under(&args.daemon);
    match args.world.as_deref().or(said.world.as_deref()) {
        Some("local") => match args.slurm.first_given() {
            None => up::start(&daemon),
            Some(flag) => Err(Failure::request(
                format_args!("--{flag} is for --world slurm"),
                "leave it out, or name that world",
            )),
        },
        Some("slurm") => slurm::serve(&daemon, &said.slurm.under(&args.slurm)),
        Some(other) => {
            Err(Failure::request(format_args!("there is no world called {other}"), "use local or slurm"))
        }
        None => Err(Failure::request(
            "nobody says where work is carried out",
            "give --world local or --world slurm",
        )),
    }
}
