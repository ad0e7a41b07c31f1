//! `consort events`: what happened, and what happens.

use super::server::Server;
use crate::failure::{Failure, one_line};
use crate::screen::{Screen, print, print_json};
use consort_api::client::EventQuery;
use consort_api::shapes::EventLine;

const EXAMPLES: &str = "\
Examples:
  consort events                            the latest events
  consort events -f                         follow new ones
  consort events --from 1200 --json
  consort events --job 17                   what happened to one job
  consort events -f --node n7 --kind started,ended

With -f and --json, every event is one JSON object on a line.";

/// List events, or follow them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Follow: show new events as they happen
    #[arg(long, short)]
    follow: bool,
    /// Start at this position of the journal
    #[arg(long, value_name = "N", value_parser = position)]
    from: Option<u64>,
    /// Only events about this job
    #[arg(long, value_name = "JOB", value_parser = super::server::job_id)]
    job: Option<u64>,
    /// Only events about this tenant or its jobs
    #[arg(long)]
    tenant: Option<String>,
    /// Only events about this node
    #[arg(long)]
    node: Option<String>,
    /// Only events of these kinds, such as started,ended
    #[arg(long, value_delimiter = ',')]
    kind: Vec<String>,
    /// At most N events
    #[arg(long, value_name = "N", conflicts_with = "follow", value_parser = super::jobs::number)]
    limit: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// A position of the journal.
fn position(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a position of the journal, a whole number".into())
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = args.server.client()?;
    let screen = Screen::here();
    let query = EventQuery {
        from: args.from,
        limit: args.limit,
        job: args.job,
        tenant: args.tenant.clone(),
        node: args.node.clone(),
        kinds: args.kind.clone(),
    };
    if !args.follow {
        let events = client.events_like(&query)?;
        return match args.json {
            true => print_json(&events),
            false => print(&events.iter().map(|event| line(event, &screen)).collect::<String>()),
        };
    }
    for event in client.follow_events_like(query)? {
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
