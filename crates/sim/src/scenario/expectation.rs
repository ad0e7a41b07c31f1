//! Expectations and what came instead: side by side, and written back into the file.

use super::Played;
use super::story::{Block, Story, What};
use super::tell::exact;
use consort_types::Time;

/// How far expectations are indented.
const INDENT: usize = 10;

/// Compares what each block expects with what was told for it.
pub(super) fn compare(text: &str, story: &Story, told: &[Vec<String>]) -> Played {
    let (mut expected, mut actual) = (String::new(), String::new());
    for (block, told) in story.blocks.iter().zip(told) {
        let header = header(block);
        let settled = |lines: &[String]| match lines {
            [] => format!("{header}\n  nothing\n"),
            lines => lines.iter().fold(format!("{header}\n"), |text, line| text + "  " + line + "\n"),
        };
        let said_nothing = block.expected == ["nothing"];
        expected += &settled(if said_nothing { &[] } else { &block.expected });
        actual += &settled(told);
    }
    Played { expected, actual, blessed: bless(text, story, told) }
}

fn header(block: &Block) -> String {
    let when = block.at.map_or("finally".into(), |at: Time| format!("at {}", exact(at)));
    match block.what {
        What::Jobs => format!("{when}:"),
        What::Tenants => format!("{when}, tenants:"),
        What::Events => format!("{when}, events:"),
    }
}

/// The file, with every block replaced.
fn bless(text: &str, story: &Story, told: &[Vec<String>]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut blessed: Vec<String> = vec![];
    let mut next = 0;
    for (block, told) in story.blocks.iter().zip(told) {
        blessed.extend(lines[next..block.lines.start].iter().map(|line| line.to_string()));
        let keyword = if block.at.is_some() { "expect" } else { "finally" };
        let mut said: Vec<&str> = match block.what {
            What::Jobs => vec![],
            What::Tenants => vec!["tenants"],
            What::Events => vec!["events"],
        };
        said.extend(told.iter().map(String::as_str));
        if told.is_empty() {
            said.push("nothing");
        }
        blessed.push(format!("{keyword:INDENT$}{}", said[0]));
        blessed.extend(said[1..].iter().map(|line| format!("{:INDENT$}{line}", "")));
        next = block.lines.end;
    }
    blessed.extend(lines[next..].iter().map(|line| line.to_string()));
    blessed.join("\n") + "\n"
}
