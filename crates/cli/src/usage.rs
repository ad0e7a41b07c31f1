//! What is said when the command line itself cannot be understood: one sentence, like every other failure.

use crate::failure::Failure;
use crate::screen::print;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;

/// Help and version are printed; mistakes become a sentence.
pub fn answer(error: &clap::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => print(&error.render().ansi().to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            print(&error.render().ansi().to_string())?;
            Err(Failure::Request(String::new()))
        }
        _ => Err(Failure::Request(format!("{}; {}", subject(error), remedy(error)))),
    }
}

fn subject(error: &clap::Error) -> String {
    let [arg, value] = [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| text(error, kind));
    match (error.kind(), arg, value) {
        (ErrorKind::InvalidValue, Some(arg), Some(value)) if value.is_empty() => {
            format!("{arg} needs a value")
        }
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(arg), Some(value)) => {
            format!("invalid value `{value}` for {arg}")
        }
        (ErrorKind::UnknownArgument, Some(arg), _) => format!("unexpected argument `{arg}`"),
        (ErrorKind::MissingRequiredArgument, Some(arg), _) => {
            format!("missing required argument{} {arg}", if arg.contains(", ") { "s" } else { "" })
        }
        (ErrorKind::ArgumentConflict, Some(arg), _) => match text(error, ContextKind::PriorArg) {
            Some(prior) if prior == arg => format!("{arg} cannot be given twice"),
            Some(prior) => format!("{arg} cannot be used with {prior}"),
            None => format!("{arg} conflicts with another option"),
        },
        (ErrorKind::InvalidSubcommand, ..) => {
            let name = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("unknown command `{name}`")
        }
        _ => {
            let whole = error.render().to_string();
            let first = whole.lines().next().unwrap_or_default();
            first.strip_prefix("error: ").unwrap_or(first).trim_end_matches('.').to_string()
        }
    }
}

fn remedy(error: &clap::Error) -> String {
    let suggested =
        [ContextKind::SuggestedArg, ContextKind::SuggestedValue, ContextKind::SuggestedSubcommand];
    if let Some(meant) = suggested.into_iter().find_map(|kind| text(error, kind)) {
        return format!("did you mean `{meant}`? See {}", help());
    }
    if let Some(expected) = error.source() {
        return format!("{expected}; see {}", help());
    }
    match text(error, ContextKind::ValidValue) {
        Some(values) if !values.is_empty() => format!("expected one of {values}"),
        _ if error.kind() == ErrorKind::InvalidSubcommand => {
            let command = crate::Cli::command();
            let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            format!("expected one of {}", names.join(", "))
        }
        _ => format!("see {}", help()),
    }
}

/// The help of the command that was meant, if there is one.
fn help() -> String {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    let command = crate::Cli::command();
    match first.to_str().and_then(|name| command.find_subcommand(name)) {
        Some(meant) => format!("`consort {} --help`", meant.get_name()),
        None => "`consort --help`".into(),
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        ContextValue::StyledStr(text) => Some(text.to_string()),
        ContextValue::StyledStrs(texts) => {
            Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    }
}
