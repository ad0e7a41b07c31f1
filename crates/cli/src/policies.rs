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
    let listed = stock::ALL.iter().enumerate();
    let listed: Vec<Listed> = listed
        .map(|(index, stock)| Listed { name: stock.name, about: stock.about, default: index == 0 })
        .collect();
    if args.json {
        return print_json(&listed);
    }
    let screen = Screen::here();
    let mut text = String::new();
    // Whole sentences matter more than one line each: too long ones go on below.
    let names = listed.iter().map(|policy| policy.name.len()).max().unwrap_or(0) + 2;
    let mut table = Table::default();
    let (mut left, mut right) = (vec![], vec![]);
    for policy in &listed {
        let about = if policy.default { format!("{} (default)", policy.about) } else { policy.about.into() };
        for (index, line) in
            wrapped(&about, screen.width.saturating_sub(names).max(20)).into_iter().enumerate()
        {
            left.push(if index == 0 { policy.name.to_string() } else { String::new() });
            right.push(line);
        }
    }
    table.text("policy", 0, left);
    table.text("who goes first, and who may take devices from whom", 0, right);
    text += &table.show(&screen);
    text += "\nSee them side by side:  consort compare --policy fifo,las\n";
    text += "Run one of them:        consort simulate --policy las --cluster FILE --workload FILE\n";
    print(&text)
}

/// Lines of at most this many letters, cut between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.into());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
