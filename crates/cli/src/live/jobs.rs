//! `consort jobs`: what waits and what runs.

use super::server::Server;
use super::wording;
use crate::failure::{Failure, one_line};
use crate::names::meant;
use crate::numbers::{counted, duration};
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use consort_api::client::JobQuery;
use consort_api::shapes::{Job, State};

const EXAMPLES: &str = "\
Examples:
  consort jobs                              pending and running jobs
  consort jobs --all --limit 20             the last 20, including ended ones
  consort jobs --state waiting,held --json";

/// List jobs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Include jobs that have ended
    #[arg(long, short)]
    all: bool,
    /// Only jobs in these states, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = state)]
    state: Vec<State>,
    /// Only jobs of this tenant
    #[arg(long)]
    tenant: Option<String>,
    /// Only jobs of this queue
    #[arg(long)]
    queue: Option<String>,
    /// Only jobs with this name
    #[arg(long)]
    name: Option<String>,
    /// At most N jobs, the newest
    #[arg(long, value_name = "N", value_parser = number)]
    limit: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// A state by its word.
pub fn state(text: &str) -> Result<State, String> {
    let words = State::ALL.map(State::word);
    let found = State::ALL.into_iter().find(|state| state.word() == text);
    found.ok_or_else(|| meant(text, &words, "expected one of"))
}

/// A number that is not 0.
pub fn number(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "expected a whole number from 1 on".into())
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let query = JobQuery {
        // Whoever asks for a state that only ended jobs have means ended jobs.
        all: args.all || args.state.iter().any(|state| state.has_ended()),
        limit: args.limit,
        before: None,
        states: args.state.clone(),
        tenant: args.tenant.clone(),
        queue: args.queue.clone(),
        name: args.name.clone(),
    };
    let (jobs, more) = args.server.client()?.jobs(&query)?;
    if args.json {
        return print_json(&jobs);
    }
    let screen = Screen::for_list();
    if jobs.is_empty() {
        return print(if query.all { "No such job.\n" } else { "No pending or running jobs.\n" });
    }
    let mut text = table(&jobs).show(&screen);
    if more {
        let shown = counted(jobs.len() as u64, "job");
        text += &screen.dim(&screen.prose(&format!("These are the newest {shown}; --limit N shows more.")));
    }
    print(&text)
}

/// Jobs, one a line.
pub fn table(jobs: &[Job]) -> Table {
    let now = wording::now();
    let mut table = Table::default();
    let each = |show: &dyn Fn(&Job) -> String| jobs.iter().map(show).collect::<Vec<_>>();
    table.numbers("job", 0, each(&|job| job.id.to_string()));
    table.long_text("name", 16, each(&|job| one_line(&job.name)));
    table.text("state", 0, each(&|job| job.state.to_string()));
    table.numbers("devices", 1, each(&|job| job.devices.to_string()));
    table.numbers("time", 1, each(&|job| duration(wording::elapsed(job, now))));
    table.text("tenant", 3, each(&|job| one_line(&job.tenant)));
    table.text("queue", 4, each(&|job| one_line(&job.queue)));
    if jobs.iter().any(|job| job.exit_code.is_some()) {
        table.numbers("exit", 5, each(&|job| job.exit_code.map_or("-".into(), |code| code.to_string())));
    }
    table.long_text("reason", 20, each(&|job| one_line(&job.reason)));
    table
}
