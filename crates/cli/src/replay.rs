//! `consort replay`: a journal again, from its first event.

use crate::failure::Failure;
use crate::progress::Progress;
use crate::screen::{print, print_json};
use crate::up::outside;
use consort_daemon::journal;
use consort_sched::stock;
use consort_types::{Capabilities, Event, Fact, Input};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  consort replay ~/.local/share/consort
  consort replay --json /srv/consort | jq -r .state_hash

Rebuilds the state by applying every event of the journal, without running a
policy. The hash equals the `state_hash` of the daemon at the same position.";

/// Rebuild the state from a journal and print its hash
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Data directory of a daemon, running or not
    #[arg(value_name = "DATA_DIR")]
    data_dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Replayed {
    data_dir: String,
    events: u64,
    submitted: u64,
    plans: u64,
    living: u64,
    state_hash: String,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let (mut submitted, mut plans) = (0, 0);
    let progress = Progress::counting("events");
    let mut seen = |position: u64, of: u64, event: &Event| {
        submitted += u64::from(matches!(event.fact, Fact::Accepted(Input::Submit(_))));
        plans += u64::from(matches!(event.fact, Fact::Planned(_)));
        if position.is_multiple_of(1024) {
            progress.at("replaying", position, of);
        }
    };
    let policy = stock::standard().policy();
    let scheduler =
        journal::replay(&args.data_dir, policy, Capabilities::default(), &mut seen).map_err(outside)?;
    drop(progress);
    let view = scheduler.view();
    let told = Replayed {
        data_dir: args.data_dir.display().to_string(),
        events: view.seen(),
        submitted,
        plans,
        living: view.living_count() as u64,
        state_hash: format!("{:016x}", scheduler.state_hash()),
    };
    if args.json {
        return print_json(&told);
    }
    print(&format!(
        "{} events: {} submissions, {} plans, {} jobs alive\nstate hash {}\n",
        told.events, told.submitted, told.plans, told.living, told.state_hash
    ))
}
