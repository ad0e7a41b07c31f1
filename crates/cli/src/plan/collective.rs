//! `consort plan collective`.

use crate::failure::Failure;
use crate::plan::shown::Shown;

/// Plan
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    shown: Shown,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let _ = &args.shown;
    Err(Failure::request("plan collective is not there yet", "wait"))
}
