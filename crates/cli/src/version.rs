//! `consort version`.

use crate::failure::Failure;
use crate::screen::{print, print_json};

const EXAMPLES: &str = "\
Examples:
  consort version
  consort version --json";

/// Print the version
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    match args.json {
        true => print_json(&serde_json::json!({"version": version})),
        false => print(&format!("consort {version}\n")),
    }
}
