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
    let (typed, command) = meant();
    if error.kind() == ErrorKind::InvalidSubcommand
        && typed == "consort"
        && let Some(instead) = text(error, ContextKind::InvalidSubcommand).as_deref().and_then(instead)
    {
        return format!("use {instead}");
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(sentence) = words_of_a_command(&typed, error)
    {
        return sentence;
    }
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
            let below = command.get_subcommands().filter(|below| !below.is_hide_set());
            let names: Vec<&str> =
                below.map(clap::Command::get_name).filter(|name| *name != "help").collect();
            format!("expected one of {}", names.join(", "))
        }
        _ => format!("see {}", help()),
    }
}

/// The help of the command that was meant.
fn help() -> String {
    format!("`{} --help`", meant().0)
}

/// The command that was meant, as it is typed, and what it is.
fn meant() -> (String, clap::Command) {
    let (mut typed, mut command) = ("consort".to_string(), crate::Cli::command());
    for word in std::env::args_os().skip(1) {
        let Some(word) = word.to_str().filter(|word| !word.starts_with('-')) else { continue };
        let Some(below) = command.find_subcommand(word).cloned() else { break };
        typed = format!("{typed} {}", below.get_name());
        command = below;
    }
    (typed, command)
}

/// What to use instead of a command that people know from elsewhere.
fn instead(name: &str) -> Option<&'static str> {
    Some(match name {
        "sacct" => "`consort jobs --all` or `consort squeue -t CD,F,CA`",
        "scontrol" => "`consort show`, `consort nodes`, `consort pause` or `consort resume`",
        "hold" | "suspend" => "`consort pause`",
        "release" | "unhold" => "`consort resume`",
        "srun" | "salloc" | "exec" => "`consort run`",
        "sstat" => "`consort top`",
        "sprio" | "why" => "`consort explain`",
        "sacctmgr" => "`consort tenants` and `consort queues`",
        "ls" | "list" | "ps" | "queue" => "`consort jobs`",
        "kill" | "stop" | "rm" | "delete" => "`consort cancel`",
        "describe" | "info" | "get" => "`consort show`",
        "tail" | "attach" => "`consort logs -f`",
        _ => return None,
    })
}

/// `submit train.sh --lr 1` and `submit python train.py`: the command that would work.
fn words_of_a_command(typed: &str, error: &clap::Error) -> Option<String> {
    if typed != "consort submit" {
        return None;
    }
    let unexpected = text(error, ContextKind::InvalidArg)?;
    let words: Vec<String> = std::env::args().skip(2).collect();
    let at =
        words.iter().position(|word| *word == unexpected || word.starts_with(&format!("{unexpected}=")))?;
    let file = words[..at].iter().rposition(|word| !word.starts_with('-'))?;
    let rest = words[file..].join(" ");
    let is_script = [".sh", ".sbatch", ".slurm"].iter().any(|end| words[file].ends_with(end));
    let is_command = !unexpected.starts_with('-') && !words[file].contains('.');
    match (is_script, is_command) {
        (true, _) => Some(format!(
            "arguments of a script go with `consort sbatch {rest}`, or as a command: `consort submit -- sh {rest}`"
        )),
        (_, true) => Some(format!("to run a command, put -- before it: `consort submit -- {rest}`")),
        _ => None,
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
