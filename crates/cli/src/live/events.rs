//! `consort events`: what happened, and what happens.

use super::server::Server;
use crate::failure::{Failure, one_line};
use crate::screen::{Screen, print, print_json};
use consort_api::shapes::EventLine;

const EXAMPLES: &str = "\
Examples:
  consort events                            the latest events
  consort events -f                         follow new ones
  consort events --from 1200 --json

With -f and --json, every event is one JSON object on a line.";

/// List events, or follow them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Follow: show new events as they happen
    #[arg(long, short)]
    follow: bool,
    /// Start at this position of the journal
    #[arg(long, value_name = "N")]
    from: Option<u64>,
    /// At most N events
    #[arg(long, value_name = "N", conflicts_with = "follow", value_parser = super::jobs::number)]
    limit: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = args.server.client()?;
    let screen = Screen::here();
    if !args.follow {
        let events = client.events(args.from, args.limit)?;
        return match args.json {
            true => print_json(&events),
            false => print(&events.iter().map(|event| line(event, &screen)).collect::<String>()),
        };
    }
    for event in client.follow_events(args.from)? {
        let event = event?;
        match args.json {
            true => print(&(serde_json::to_string(&event).expect("plain data") + "\n"))?,
            false => print(&line(&event, &screen))?,
        }
    }
    Ok(())
}

fn line(event: &EventLine, screen: &Screen) -> String {
    let at = event.at.to_string().replace('T', " ");
    let at = at.split('.').next().unwrap_or_default().to_string();
    let lead = screen.dim(&format!("{:>8}  {at}", event.position));
    let job = event.job.map_or_else(String::new, |job| format!("job {job}"));
    format!("{lead}  {:<13} {job:<9} {}\n", one_line(&event.kind), one_line(&event.text))
}
