//! `consort policies`: which there are.

use crate::failure::Failure;
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use consort_sched::{Registry, stock};
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  consort policies
  consort policies --places
  consort compare --policy fifo,shortest,las";

/// List the policies and placements that this program knows
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// List placements only, such as spread in fifo/spread
    #[arg(long)]
    places: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    about: &'a str,
    default: bool,
}

fn list<'a>((name, about): (&'a str, &'a str), default: &str) -> Listed<'a> {
    Listed { name, about, default: name == default }
}

/// One line of a table.
fn row<'a>(policy: &Listed<'a>) -> (&'a str, String) {
    match policy.default {
        true => (policy.name, format!("{} (default)", policy.about)),
        false => (policy.name, policy.about.to_string()),
    }
}

/// The command.
pub fn run(args: &Args, known: &Registry) -> Result<(), Failure> {
    let standard = &known.standard().name;
    let policies = known.entries().iter().map(|entry| list((&*entry.name, &*entry.about), standard));
    let usual = stock::PLACES[0].name;
    let places: Vec<Listed<'_>> =
        stock::PLACES.iter().map(|place| list((place.name, place.about), usual)).collect();
    let policies: Vec<Listed<'_>> = if args.places { vec![] } else { policies.collect() };
    if args.json {
        return print_json(if args.places { &places } else { &policies });
    }
    let screen = Screen::here();
    let table = |head, list: &[Listed<'_>]| {
        let pairs: Vec<_> = list.iter().map(row).collect();
        Table::pairs(head, screen.width, &pairs).show(&screen)
    };
    let mut text = String::new();
    if !args.places {
        text += &table(["policy", "order"], &policies);
        text += "\n";
    }
    text += &table(["placement", "where"], &places);
    text += "\nCompare:          consort compare --policy fifo,las\n";
    text += "With placements:  consort compare --policy fifo,fifo/spread,fifo/fgd\n";
    text += "One in detail:    consort simulate --policy las --cluster FILE --workload FILE\n";
    print(&text)
}
