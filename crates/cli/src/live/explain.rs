//! `consort explain`: why a job is where it is.

use super::server::{Server, job_id};
use super::wording;
use crate::failure::{Failure, one_line};
use crate::screen::{Screen, print, print_json};
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  consort explain 17
  consort explain 17 --json";

/// Explain why a job is pending, and what would let it start
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Job id
    #[arg(value_name = "JOB", value_parser = job_id)]
    job: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

/// Parts of a job that are listed; the rest is counted.
const SHOWN: usize = 50;

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let explanation = args.server.client()?.explain(args.job)?;
    if args.json {
        return print_json(&explanation);
    }
    let screen = Screen::here();
    let mut text = String::new();
    // Sentences that name the job need no title.
    let subject = format!("Job {} ({})", explanation.id, one_line(&explanation.name));
    if !explanation.sentences.iter().any(|sentence| one_line(sentence).starts_with(&subject)) {
        text += &screen.bold(&format!("{subject}: {}", explanation.state));
        text.push('\n');
    }
    for sentence in &explanation.sentences {
        text += &screen.prose(&one_line(sentence));
    }
    // One part is what the sentences were about.
    if explanation.asks.len() > 1 {
        let reason = |ask: &consort_api::shapes::AskReason| (one_line(&ask.part), one_line(&ask.reason));
        let asks: Vec<(String, String)> = explanation.asks.iter().take(SHOWN).map(reason).collect();
        let pairs: Vec<(&str, String)> =
            asks.iter().map(|(ask, reason)| (ask.as_str(), reason.clone())).collect();
        text += "\n";
        text += &Table::pairs(["part", "reason"], screen.width, &pairs).show(&screen);
        if let more @ 1.. = explanation.asks.len().saturating_sub(SHOWN) {
            text += &screen.dim(&screen.prose(&format!("And {more} more; --json has them all.")));
        }
    }
    if !explanation.remedies.is_empty() {
        text += "\n";
        text += &screen.bold("What would help now:");
        text.push('\n');
        for remedy in &explanation.remedies {
            text += &screen.prose(&one_line(remedy));
        }
    }
    if !explanation.story.is_empty() {
        text += "\n";
        text += &wording::story(&explanation.story, &screen);
    }
    print(&text)
}
