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
    /// `policy`, or `placement`: what may stand behind a policy's name and a slash.
    what: &'static str,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let list = |what, (name, about): (&'static str, &'static str), default: &str| Listed {
        name,
        about,
        default: name == default,
        what,
    };
    let standard = &stock::standard().name;
    let policies = stock::ALL.iter().map(|stock| list("policy", (&stock.name, stock.about), standard));
    let usual = stock::PLACES[0].name;
    let places = stock::PLACES.iter().map(|place| list("placement", (place.name, place.about), usual));
    let listed: Vec<Listed> = policies.chain(places).collect();
    if args.json {
        return print_json(&listed);
    }
    let screen = Screen::here();
    let about = |policy: &Listed| match policy.default {
        true => (policy.name, format!("{} (default)", policy.about)),
        false => (policy.name, policy.about.to_string()),
    };
    let pairs = |what| listed.iter().filter(|one| one.what == what).map(about).collect::<Vec<_>>();
    let mut text = Table::pairs(["policy", "who goes first"], screen.width, &pairs("policy")).show(&screen);
    text += "\n";
    text += &Table::pairs(["placement", "where"], screen.width, &pairs("placement")).show(&screen);
    text += "\nSide by side:   consort compare --policy fifo,las\n";
    text += "Elsewhere:      consort compare --policy fifo,fifo/spread,fifo/fgd\n";
    text += "Only one:       consort simulate --policy las --cluster FILE --workload FILE\n";
    print(&text)
}
