//! `consort completions`: scripts with which a shell completes our commands.

use crate::failure::Failure;
use crate::screen::print;
use clap::CommandFactory;
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  source <(consort completions bash)                   for this session
  consort completions zsh > ~/.zfunc/_consort
  consort completions fish > ~/.config/fish/completions/consort.fish";

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    // Into memory first: the generator does not expect that a reader may leave.
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "consort", &mut script);
    print(&String::from_utf8_lossy(&script))
}
