//! `consort queues`: the waiting lines.

use super::server::Look;
use crate::failure::{Failure, one_line};
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use consort_api::shapes::{Queue, QueueChange};

const EXAMPLES: &str = "\
Examples:
  consort queues
  consort queues set urgent --priority 10 --strict
  consort queues set urgent --strict=false --tenants red,blue";

/// List queues, create or change one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    change: Option<Change>,
    #[command(flatten)]
    look: Look,
}

#[derive(clap::Subcommand)]
enum Change {
    /// Create a queue, or change the given settings of one
    #[command(after_help = "Example:\n  consort queues set urgent --priority 10 --strict")]
    Set(Set),
}

#[derive(clap::Args)]
struct Set {
    /// Queue name
    #[arg(value_name = "QUEUE")]
    name: String,
    /// Queues of higher priority go first
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = priority)]
    priority: Option<i32>,
    /// The first job that cannot start blocks the jobs behind it
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    strict: Option<bool>,
    /// Tenants that may use it, or `all`
    #[arg(long, value_delimiter = ',', value_name = "TENANT")]
    tenants: Option<Vec<String>>,
    #[command(flatten)]
    look: Look,
}

/// A priority, as an argument.
fn priority(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| "expected a whole number; it may be negative".into())
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let screen = Screen::for_list();
    let Some(Change::Set(set)) = &args.change else {
        let queues = args.look.server.client()?.queues()?;
        return match (args.look.json, queues.is_empty()) {
            (true, _) => print_json(&queues),
            (false, true) => print("No queues.\n"),
            (false, false) => print(&table(&queues).show(&screen)),
        };
    };
    let client = set.look.server.client()?;
    // The server replaces the whole of it; what is not named here stays as it was.
    let known = client.queues()?.into_iter().find(|queue| queue.name == set.name);
    let mut change = known.map_or_else(QueueChange::default, |queue| QueueChange {
        priority: queue.priority,
        strict: queue.strict,
        tenants: queue.tenants,
    });
    change.priority = set.priority.unwrap_or(change.priority);
    change.strict = set.strict.unwrap_or(change.strict);
    if let Some(tenants) = &set.tenants {
        change.tenants = if tenants == &["all"] { vec![] } else { tenants.clone() };
    }
    let queue = client.set_queue(&set.name, &change)?;
    match set.look.json {
        true => print_json(&queue),
        false => print(&table(&[queue]).show(&screen)),
    }
}

fn table(queues: &[Queue]) -> Table {
    let each = |show: &dyn Fn(&Queue) -> String| queues.iter().map(show).collect::<Vec<_>>();
    let tenants = |queue: &Queue| match queue.tenants.is_empty() {
        true => "all".into(),
        false => one_line(&queue.tenants.join(", ")),
    };
    let mut table = Table::default();
    table.text("queue", 0, each(&|queue| one_line(&queue.name)));
    table.numbers("priority", 1, each(&|queue| queue.priority.to_string()));
    table.text("strict", 2, each(&|queue| if queue.strict { "yes" } else { "no" }.into()));
    table.numbers("waiting", 0, each(&|queue| queue.waiting.to_string()));
    table.numbers("running", 0, each(&|queue| queue.running.to_string()));
    table.text("tenants", 1, each(&tenants));
    table
}
