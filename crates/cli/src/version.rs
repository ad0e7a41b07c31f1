//! `consort version`.

use crate::failure::Failure;
use crate::screen::print;

const EXAMPLES: &str = "\
Example:
  consort version";

/// Print the version
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// The command.
pub fn run(_args: &Args) -> Result<(), Failure> {
    print(concat!("consort ", env!("CARGO_PKG_VERSION"), "\n"))
}
