//! `consort jobs`: what waits and what runs.

use super::filters;
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
  consort jobs --state waiting,held --json  pending and PD are waiting, R is running";

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

/// A state by its word, or by that of Slurm.
pub fn state(text: &str) -> Result<State, String> {
    let words = State::ALL.map(State::word);
    let lower = text.to_ascii_lowercase();
    let word = match lower.as_str() {
        "pending" | "pd" | "queued" => "waiting",
        "r" => "running",
        "cd" | "completed" | "done" => "succeeded",
        "f" => "failed",
        "ca" | "canceled" => "cancelled",
        "cg" | "completing" => "stopping",
        word => word,
    };
    let found = State::ALL.into_iter().find(|state| state.word() == word);
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
    let client = args.server.client()?;
    let (jobs, more) = client.jobs(&query)?;
    let is_filtered =
        !(args.state.is_empty() && args.name.is_none()) || args.tenant.is_some() || args.queue.is_some();
    if jobs.is_empty() {
        args.tenant.iter().try_for_each(|name| filters::tenant(&client, name))?;
        args.queue.iter().try_for_each(|name| filters::queue(&client, name))?;
    }
    if args.json {
        return print_json(&jobs);
    }
    let screen = Screen::for_list();
    if jobs.is_empty() {
        return print(match (is_filtered, query.all || !args.state.is_empty()) {
            (true, true) => "No job matches these filters.\n",
            (true, false) => "No pending or running job matches these filters; --all includes ended ones.\n",
            (false, true) => "No jobs.\n",
            (false, false) => "No pending or running jobs.\n",
        });
    }
    let mut text = table(&jobs).show(&screen);
    if more {
        let shown = match jobs.len() {
            1 => "This is the newest job".into(),
            many => format!("These are the newest {}", counted(many as u64, "job")),
        };
        text += &screen.dim(&screen.prose(&format!("{shown}; --limit N shows more.")));
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
