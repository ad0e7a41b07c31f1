//! `consort policies`: which there are.

use crate::failure::Failure;
use crate::screen::{Screen, print, print_json};
use crate::table::Table;
use consort_sched::stock;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  consort policies
  consort policies --places
  consort compare --policy fifo,shortest,las";

/// List the policies and placements that come with Consort
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// List placements only: what may stand behind the name of a policy, as in fifo/spread
    #[arg(long)]
    places: bool,
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
    let list = |(name, about), default: &str| Listed { name, about, default: name == default };
    let standard = &stock::standard().name;
    let policies = stock::ALL.iter().map(|stock| list((&*stock.name, stock.about), standard));
    let usual = stock::PLACES[0].name;
    let places: Vec<Listed> =
        stock::PLACES.iter().map(|place| list((place.name, place.about), usual)).collect();
    let policies: Vec<Listed> = if args.places { vec![] } else { policies.collect() };
    if args.json {
        return print_json(if args.places { &places } else { &policies });
    }
    let screen = Screen::here();
    let about = |policy: &Listed| match policy.default {
        true => (policy.name, format!("{} (default)", policy.about)),
        false => (policy.name, policy.about.to_string()),
    };
    let table = |head, list: &[Listed]| {
        let pairs: Vec<_> = list.iter().map(about).collect();
        Table::pairs(head, screen.width, &pairs).show(&screen)
    };
    let mut text = String::new();
    if !args.places {
        text += &table(["policy", "who goes first"], &policies);
        text += "\n";
    }
    text += &table(["placement", "where"], &places);
    text += "\nSide by side:   consort compare --policy fifo,las\n";
    text += "Placed so:      consort compare --policy fifo,fifo/spread,fifo/fgd\n";
    text += "Only one:       consort simulate --policy las --cluster FILE --workload FILE\n";
    print(&text)
}
