//! `consort sbatch`: a batch script becomes a job; options win over its `#SBATCH` lines.

use crate::failure::Failure;
use crate::live::server::Server;
use crate::live::{sources, wait, wording};
use crate::screen::print;
use consort_types::file::sbatch::Options;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  consort sbatch train.sh
  consort sbatch -J quick --gres=gpu:h200:2 -t 30 train.sh --lr 0.1
  consort sbatch --wrap 'nvidia-smi' -G 1
  consort sbatch -d afterok:17 --parsable report.sh

Options: -J -n -N -c -G -t -p -A -q -d -a -o -D -W, --gpus-per-node, --gpus-per-task,
--gres=gpu:KIND:N, --ntasks-per-node, --mem, --export, --requeue, --signal, --nice,
--priority, --wrap, --parsable. The script runs once on every node of the job.";

/// Submit a batch script, like Slurm's sbatch
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    server: Server,
    /// Options, script and its arguments
    #[arg(value_name = "OPTIONS... SCRIPT", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let see = "see `consort sbatch --help`";
    let mut options = Options::default();
    let rest = options.take(&args.words).map_err(|sentence| Failure::request(sentence, see))?;
    let job = match (&options.wrap, rest) {
        (Some(wrap), []) => sources::script("wrap", &format!("#!/bin/sh\n{wrap}\n"), &options, &[])?,
        (Some(_), [script, ..]) => {
            return Err(Failure::request(
                format_args!("`{script}` cannot be used with --wrap"),
                "give one of them",
            ));
        }
        (None, [script, arguments @ ..]) => sources::batch(Path::new(script), &options, arguments)?,
        (None, []) => return Err(Failure::request("missing script", see)),
    };
    let client = args.server.client()?;
    let submitted = client.submit(&job.to_json())?;
    match options.parsable {
        true => print(&format!("{}\n", submitted.id))?,
        false => print(&format!("Submitted batch job {}\n", submitted.id))?,
    }
    if !options.wait {
        return Ok(());
    }
    wait::verdict(wording::status(&wait::until_ended(&client, submitted.id, None)?))
}
