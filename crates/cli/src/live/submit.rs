//! `consort submit`: a file or a command becomes a job.

use super::flags::Flags;
use super::server::Server;
use super::sources::{self, Source};
use super::{command, wait, wording};
use crate::failure::Failure;
use crate::screen::{Screen, print, print_json};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  consort submit train.yaml
  consort submit train.yaml --devices 4 --time 2h --name quick
  consort submit batch.sh --wait            a script, with or without #SBATCH lines
  consort submit --name tune --devices 1 --array 0-9 -- python tune.py
  echo '{run: nvidia-smi}' | consort submit -

A job file is YAML or JSON. Only `run` is required:
  name: train
  devices: 8
  kind: h200
  run: python train.py

Flags override the file. With --wait, the exit code is that of the job.";

/// Submit a job file, a batch script or a command, and return at once
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Job file or batch script; - reads standard input
    #[arg(value_name = "FILE", required_unless_present = "command")]
    file: Option<PathBuf>,
    /// Command and its arguments, instead of a file
    #[arg(value_name = "CMD", last = true, conflicts_with = "file")]
    command: Vec<String>,
    /// Wait until the job has ended
    #[arg(long)]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    server: Server,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let (mut job, source) = match &args.file {
        Some(file) => sources::job(file)?,
        None => (command::job(&args.command)?, Source::File),
    };
    args.flags.apply(&mut job, source)?;
    let client = args.server.client()?;
    let submitted = client.submit(&job.to_json())?;
    if args.wait {
        if !args.json {
            print(&format!(
                "Job {} ({}) is submitted.\n",
                submitted.id,
                crate::failure::one_line(&submitted.name)
            ))?;
        }
        let job = wait::until_ended(&client, submitted.id, None)?;
        match args.json {
            true => print_json(&job)?,
            false => print(&wait::sentence(&job))?,
        }
        return wait::verdict(wording::status(&job));
    }
    if args.json {
        return print_json(&submitted);
    }
    let mut text =
        format!("Job {} ({}) is submitted.\n", submitted.id, crate::failure::one_line(&submitted.name));
    if Screen::here().is_terminal {
        text += &format!("Its output:   consort logs -f {}\n", submitted.id);
        text += &format!("Why it waits: consort explain {}\n", submitted.id);
    }
    print(&text)
}
