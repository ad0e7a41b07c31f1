//! The chores of the project, behind `cargo xtask`.
//!
//! For: one command that does what CI does, so that a push holds no surprise; and short ways to the slower tools.
//! Promises: every step is named, timed and reported, what is skipped is said aloud, and the exit status is 0 (done),
//! 1 (something failed), 2 (the request was wrong) or 3 (a tool that is needed is not at hand).
//! Never: changes a file of the project (but for `--bless`), asks a question, or is needed to build or use Consort itself.
//!
//! | file | opinion |
//! |---|---|
//! | `steps` | which steps there are, as data: start here to add one |
//! | `run` | runs a list of steps and reports |
//! | `rooms` | which crates there are and who may depend on whom |
//! | `project` | the root, the files, `cargo metadata` |
//! | `outside` | how another program is started |
//! | `tools` | the toolchain components a fresh machine may lack |
//! | `check/*` | one rule each |
//! | `counts` | instructions beside what is on record |
//! | `fuzz`, `mutants` | the slow tools |

mod check;
mod counts;
mod fuzz;
mod mutants;
mod outside;
mod project;
mod rooms;
mod run;
mod steps;
mod tools;

use std::process::ExitCode;

use project::Project;

const HELP: &str = "\
The chores of the project.

usage: cargo xtask COMMAND

  check                        formatting, lints and the rules of the house
  test                         check, then all tests, the scenarios, the counts and the public benchmarks
  counts [--bless]             instructions of plan-scale beside those on record; --bless records them
  fuzz [TARGET] [--seconds N]  each fuzz target, or one, for N seconds (default 30)
  mutants [ARGS]               mutation tests of the pure core; ARGS go to cargo-mutants

examples:
  cargo xtask check
  CONSORT_BENCH_DATA=path/to/data cargo xtask test
  cargo xtask fuzz journal --seconds 300
  cargo xtask mutants --file crates/sched/src/draft.rs

Exit status: 0 done, 1 something failed, 2 the request was wrong, 3 a needed tool is not at hand.";

/// How a command ended; becomes the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All is well.
    Done,
    /// What was asked about failed.
    Failed,
    /// The request itself made no sense.
    WrongRequest,
    /// A program that the command needs is missing or broken.
    OutsideBroke,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done => Self::SUCCESS,
            Ending::Failed => Self::from(1),
            Ending::WrongRequest => Self::from(2),
            Ending::OutsideBroke => Self::from(3),
        }
    }
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Help,
    Check,
    Test,
    Counts { bless: bool },
    Fuzz(fuzz::Request),
    Mutants(Vec<String>),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match parse(&arguments) {
        Ok(request) => answer(request).into(),
        Err(sentence) => {
            eprintln!("{sentence}");
            Ending::WrongRequest.into()
        }
    }
}

fn answer(request: Request) -> Ending {
    if request == Request::Help {
        println!("{HELP}");
        return Ending::Done;
    }
    let project = match Project::find() {
        Ok(project) => project,
        Err(fault) => {
            eprintln!("{fault}");
            return Ending::OutsideBroke;
        }
    };
    match request {
        Request::Help => unreachable!("answered above"),
        Request::Check => run::all(&project, &steps::check(), run::Summary::Line),
        Request::Test => run::all(&project, &steps::test(), run::Summary::Table),
        Request::Counts { bless } => run::all(&project, &steps::counts(bless), run::Summary::Line),
        Request::Fuzz(request) => fuzz::run(&project, &request),
        Request::Mutants(arguments) => mutants::run(&project, &arguments),
    }
}

/// Turns the words after `cargo xtask` into a request, or into one sentence that says what would pass.
fn parse(arguments: &[String]) -> Result<Request, String> {
    let Some((command, rest)) = arguments.split_first() else { return Ok(Request::Help) };
    // Everything after `mutants` belongs to cargo-mutants, its own `--help` included.
    if command != "mutants" && rest.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(Request::Help);
    }
    match command.as_str() {
        "--help" | "-h" | "help" => Ok(Request::Help),
        "check" => nothing_more("check", rest).map(|()| Request::Check),
        "test" => nothing_more("test", rest).map(|()| Request::Test),
        "counts" => counts::parse(rest).map(|bless| Request::Counts { bless }),
        "fuzz" => fuzz::Request::parse(rest).map(Request::Fuzz),
        "mutants" => Ok(Request::Mutants(rest.to_vec())),
        other => Err(format!(
            "There is no command `{other}`: the commands are check, test, counts, fuzz and mutants \
             (see cargo xtask --help)."
        )),
    }
}

fn nothing_more(command: &str, rest: &[String]) -> Result<(), String> {
    match rest.first() {
        None => Ok(()),
        Some(word) => Err(format!("`{command}` takes no arguments, so `{word}` has no meaning here.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn no_words_and_help_both_ask_for_help() {
        for line in ["", "--help", "-h", "help", "check --help", "fuzz -h"] {
            assert_eq!(parse(&words(line)), Ok(Request::Help), "{line:?}");
        }
    }

    #[test]
    fn commands_are_recognised() {
        assert_eq!(parse(&words("check")), Ok(Request::Check));
        assert_eq!(parse(&words("test")), Ok(Request::Test));
        assert_eq!(parse(&words("counts --bless")), Ok(Request::Counts { bless: true }));
        assert_eq!(parse(&words("mutants --help")), Ok(Request::Mutants(words("--help"))));
    }

    #[test]
    fn wrong_requests_name_the_word() {
        assert!(parse(&words("chekc")).unwrap_err().contains("`chekc`"));
        assert!(parse(&words("check fast")).unwrap_err().contains("`fast`"));
    }
}
