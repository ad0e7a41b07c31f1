//! `consort status`: how the server is.

use super::server::Server;
use crate::failure::{Failure, one_line};
use crate::numbers::thousands;
use crate::screen::{Screen, print, print_json};

const EXAMPLES: &str = "\
Examples:
  consort status
  consort status --json | jq -r .state_hash   hash of the whole scheduler state";

/// Show the state of the server
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Include the hash of the whole scheduler state, which visits every job; always with --json
    #[arg(long)]
    hash: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = args.server.client()?;
    let status = if args.hash || args.json { client.status_with_hash()? } else { client.status()? };
    if args.json {
        return print_json(&status);
    }
    let screen = Screen::here();
    let mut text = format!(
        "{} ({}), version {}\n",
        screen.bold(&format!("Consort at {}", one_line(&status.url))),
        one_line(&status.world),
        one_line(&status.version)
    );
    let (waiting, running, ended) =
        (thousands(status.waiting), thousands(status.running), thousands(status.ended));
    text += &format!("jobs        {running} running, {waiting} waiting, {ended} ended\n");
    text += &format!("devices     {}\n", thousands(status.devices));
    text += &format!("policy      {}\n", one_line(&status.policy));
    text += &format!("journal     {} events in {}\n", thousands(status.position), one_line(&status.data_dir));
    if let Some(socket) = &status.socket {
        text += &format!("socket      {}\n", one_line(socket));
    }
    if let Some(hash) = &status.state_hash {
        text += &format!("state hash  {}\n", one_line(hash));
    }
    for note in &status.notes {
        text += &format!("note        {}\n", one_line(note));
    }
    print(&text)
}
