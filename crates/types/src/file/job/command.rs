//! What is run: a script, or a program and its arguments.

use crate::file::limits;
use crate::file::read_error::ReadError;
use crate::file::value;
use crate::file::yaml::{Node, Value};
use crate::work::Command;

/// Text is a script, a list a program and its arguments, a map a script with arguments. What is set up comes before.
pub(super) fn read(node: Node, setup: Option<&str>) -> Result<Command, ReadError> {
    let place = node.place;
    let command = match node.value {
        Value::Text(_) => Command::Script { text: script(node)?, arguments: vec![] },
        Value::List(items) => Command::Program(arguments(items)?),
        Value::Map(_) => {
            let mut fields = node.fields("`run`", &["script", "arguments"])?;
            let text = script(fields.need("script")?)?;
            let items = fields.take("arguments").map_or(Ok(vec![]), |node| node.list("arguments"))?;
            Command::Script { text, arguments: arguments(items)? }
        }
    };
    if let Command::Program(words) = &command
        && words.first().is_none_or(String::is_empty)
    {
        return Err(place.fail("`run` is an empty list, expected a program and its arguments"));
    }
    let Some(setup) = setup else { return Ok(command) };
    before(setup, command)
        .ok_or_else(|| place.fail("`setup` cannot be used with a `run` whose interpreter is not a shell"))
}

/// The text of `setup`.
pub(super) fn setup(node: Node) -> Result<String, ReadError> {
    let place = node.place;
    let text = node.into_text("setup")?;
    match text.len() > limits::COMMAND_BYTES {
        true => Err(place.fail("`setup` is larger than 1 MiB")),
        false => Ok(text),
    }
}

fn script(node: Node) -> Result<String, ReadError> {
    let place = node.place;
    let text = node.into_text("run")?;
    if text.trim().is_empty() {
        return Err(place.fail("`run` is empty, expected a script, or a list of a program and its arguments"));
    }
    match text.len() > limits::COMMAND_BYTES {
        true => Err(place.fail("`run` is larger than 1 MiB; put it into a file")),
        false => Ok(text),
    }
}

fn arguments(items: Vec<Node>) -> Result<Vec<String>, ReadError> {
    let word = |node: Node| {
        let place = node.place;
        let text = node.into_text("run")?;
        match text.len() > limits::VARIABLE_BYTES {
            true => Err(place.fail("an argument is larger than 128 KiB")),
            false => Ok(text),
        }
    };
    items.into_iter().map(word).collect()
}

/// One script that does both, unless what runs is a script for something else than a shell.
fn before(setup: &str, command: Command) -> Option<Command> {
    let setup = setup.trim_end_matches('\n');
    Some(match command {
        Command::Program(arguments) => Command::Script { text: format!("{setup}\nexec \"$@\"\n"), arguments },
        Command::Script { text, arguments } => match text.strip_prefix("#!") {
            None => Command::Script { text: format!("{setup}\n{text}"), arguments },
            Some(rest) => {
                let (interpreter, rest) = rest.split_once('\n').unwrap_or((rest, ""));
                let is_shell = interpreter
                    .split_whitespace()
                    .any(|word| word.rsplit('/').next().is_some_and(|name| name.ends_with("sh")));
                if !is_shell {
                    return None;
                }
                Command::Script { text: format!("#!{interpreter}\n{setup}\n{rest}"), arguments }
            }
        },
    })
}

/// How large it is.
pub(super) fn bytes(command: &Command) -> usize {
    let words = |words: &[String]| words.iter().map(|word| word.len() + 1).sum::<usize>();
    match command {
        Command::Program(program) => words(program),
        Command::Script { text, arguments } => text.len() + words(arguments),
    }
}

/// What a job is called that has no name: after its file, or after what it runs.
pub(crate) fn name(file: &str, command: &Command) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    let file = last(file);
    let stem = file.rsplit_once('.').map(|(stem, _)| stem.to_string());
    let name = match command {
        Command::Program(words) => last(&words[0]),
        Command::Script { text, .. } => stem.unwrap_or_else(|| {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
            last(line.and_then(|line| line.split_whitespace().next()).unwrap_or_default())
        }),
    };
    let name: String = name.chars().filter(|&letter| !value::is_hidden(letter)).take(limits::NAME).collect();
    if name.is_empty() { "job".into() } else { name }
}
