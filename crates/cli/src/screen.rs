//! What standard output is like: how wide, and whether it shows colours.
//!
//! A terminal tells its width; `COLUMNS` overrides it; a pipe is 120 wide, so that what is piped does not depend on
//! the window it was piped from, and has no end where lists are piped, so that no column of theirs depends on how long
//! a name is. `NO_COLOR` and `CLICOLOR_FORCE` are respected.

use crate::failure::Failure;
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// Standard output.
pub struct Screen {
    /// In characters.
    pub width: usize,
    /// Whether styles are shown.
    pub colours: bool,
    /// Whether a person is looking.
    pub is_terminal: bool,
}

const PIPE: usize = 120;
const NARROWEST: usize = 40;
const WIDEST: usize = 1_000;

impl Screen {
    /// As it is now.
    pub fn here() -> Self {
        let stdout = std::io::stdout();
        let is_terminal = stdout.is_terminal();
        let colours = AutoStream::choice(&stdout) != ColorChoice::Never;
        let window = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = wished().or_else(|| if is_terminal { window() } else { None }).unwrap_or(PIPE);
        Self { width: width.clamp(NARROWEST, WIDEST), colours, is_terminal }
    }

    /// The same for a list: whole where it is not shown on a terminal.
    pub fn for_list() -> Self {
        let here = Self::here();
        match here.is_terminal || wished().is_some() {
            true => here,
            false => Self { width: usize::MAX, ..here },
        }
    }

    /// The text in this style, where styles are shown.
    pub fn styled(&self, style: Style, text: &str) -> String {
        if self.colours { format!("{style}{text}{style:#}") } else { text.into() }
    }

    /// A sentence, in as many lines as it takes.
    pub fn prose(&self, text: &str) -> String {
        wrapped(text, self.width).join("\n") + "\n"
    }

    /// Text of lesser importance.
    pub fn dim(&self, text: &str) -> String {
        self.styled(Style::new().dimmed(), text)
    }

    /// Text that stands out.
    pub fn bold(&self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }
}

/// The width that was asked for.
fn wished() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// How many columns of a terminal a text takes; some letters take two.
pub fn length(text: &str) -> usize {
    text.width()
}

/// Lines of at most this width, cut between words.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() && length(line) + 1 + length(word) > width {
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

/// Writes to standard output. A reader that has left ends the command quietly.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ReaderLeft,
        _ => Failure::file(Path::new("standard output"), "written", &error),
    })
}

/// Writes a value as JSON, for scripts.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&(json(value) + "\n"))
}

/// A value as JSON. Our values have string keys and no surprises, so this cannot fail.
pub fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("plain data")
}
