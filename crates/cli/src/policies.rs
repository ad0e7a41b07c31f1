//! `consort policies`: which there are.

use crate::failure::Failure;
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use consort_sched::stock;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  consort policies
  consort compare --policy fifo,shortest,las";

/// List the policies that come with Consort
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    default: bool,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let default = stock::standard().name;
    let listed = stock::ALL.iter();
    let listed: Vec<Listed> = listed
        .map(|stock| Listed { name: stock.name, about: stock.about, default: stock.name == default })
        .collect();
    if args.json {
        return print_json(&listed);
    }
    let screen = Screen::here();
    let about = |policy: &Listed| match policy.default {
        true => (policy.name, format!("{} (default)", policy.about)),
        false => (policy.name, policy.about.to_string()),
    };
    let pairs: Vec<_> = listed.iter().map(about).collect();
    let mut text = Table::pairs(["policy", "what it does"], screen.width, &pairs).show(&screen);
    text += "\nSide by side:   consort compare --policy fifo,las\n";
    text += "Only one:       consort simulate --policy las --cluster FILE --workload FILE\n";
    print(&text)
}
