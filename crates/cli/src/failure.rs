//! How a command ends when it does not simply end: an exit code and one calm sentence.

use consort_types::file::value::is_hidden;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The thing asked about failed: a check, a story, a run.
    Failed(String),
    /// The request was wrong.
    Request(String),
    /// The outside broke: disk, permission.
    Outside(String),
    /// The job that was waited for ended with this status; what is to be said about it has been said.
    Status(u8),
    /// The reader of our output closed it (`| head`). Nothing is wrong.
    ReaderLeft,
}

impl Failure {
    /// The request was wrong: `subject; remedy`.
    pub fn request(subject: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Failure::Request(format!("{subject}; {remedy}"))
    }

    /// Something in the file system did not work. Paths that do not exist were the request's mistake, the rest is
    /// the outside's.
    pub fn file(path: &std::path::Path, doing: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::*;
        let path = path.display();
        match error.kind() {
            NotFound => Self::request(format_args!("{path}: no such file"), "check the path"),
            IsADirectory => Self::request(format_args!("{path}: is a folder"), "name a file"),
            NotADirectory => Self::request(format_args!("{path}: not a folder"), "check the path"),
            PermissionDenied => Failure::Outside(format!(
                "{path}: cannot be {doing}, permission denied; change its permissions or choose another place"
            )),
            StorageFull | QuotaExceeded => Failure::Outside(format!(
                "{path}: cannot be {doing}, the disk is full; free some space or choose another place"
            )),
            ReadOnlyFilesystem => Failure::Outside(format!(
                "{path}: cannot be {doing}, the file system is read-only; choose another place"
            )),
            _ => Failure::Outside(format!(
                "{path}: cannot be {doing}: {error}; try again or choose another place"
            )),
        }
    }

    /// Says it on standard error and turns it into the exit code.
    pub fn report(self) -> ExitCode {
        let (code, sentence) = match self {
            Failure::ReaderLeft => return ExitCode::SUCCESS,
            Failure::Status(code) => return ExitCode::from(code),
            Failure::Failed(sentence) => (1, sentence),
            Failure::Request(sentence) => (2, sentence),
            Failure::Outside(sentence) => (3, sentence),
        };
        if !sentence.is_empty() {
            note(&format!("consort: {sentence}"));
        }
        ExitCode::from(code)
    }
}

/// A line on standard error. If even that cannot be written, it is dropped.
pub fn note(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", one_line(line));
}

/// Text that came from outside must not be able to pretend to be further messages, to talk to the terminal, or to change
/// how what stands around it is shown.
pub fn one_line(text: &str) -> String {
    let seen = |letter: char| match letter {
        letter if letter.is_control() => Some(' '),
        letter => Some(letter).filter(|&letter| !is_hidden(letter)),
    };
    text.chars().filter_map(seen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line_and_is_shown_in_order() {
        assert_eq!(one_line("a\nb\u{1b}[2Jc"), "a b [2Jc");
        assert_eq!(one_line("echo hi \u{202e}# live"), "echo hi # live");
        assert_eq!(one_line("naïve 訓練"), "naïve 訓練");
    }
}
