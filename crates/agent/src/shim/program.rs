//! From what was asked for to a program that can be started.
//!
//! For: scripts and programs become the same thing: a list of words to execute.
//! Promises: what cannot be run is said in a sentence that names the thing and what would help, with the status a shell
//! would give: 127 for what is not there, 126 for what is there and cannot be run.
//! Never: asks a shell to split or expand anything.

use crate::launch::{Order, Slot};
use crate::untrusted;
use consort_types::Command;
use std::io;
use std::path::Path;

/// Why nothing was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotRun {
    pub code: i32,
    pub why: String,
}

impl NotRun {
    pub fn new(code: i32, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

/// The words to execute. The text of a script is put into the slot.
pub(super) fn words(order: &Order, slot: &Slot) -> Result<Vec<String>, NotRun> {
    match &order.command {
        Command::Program(words) if words.is_empty() => Err(NotRun::new(127, "the command is empty")),
        Command::Program(words) => Ok(words.clone()),
        Command::Script { text, arguments } => {
            let path = slot.script();
            let (base, name) = untrusted::rooted(&path);
            untrusted::write(base, name, text.as_bytes())
                .map_err(|error| NotRun::new(126, format!("cannot store the script: {error}")))?;
            let mut words = match &order.container {
                None => interpreter(text, |path| Path::new(path).exists()),
                Some(_) => interpreter_inside(text),
            };
            words.push(path.to_string_lossy().into_owned());
            words.extend(arguments.iter().cloned());
            Ok(words)
        }
    }
}

/// Who reads a script: what its first line names, read as the kernel reads it (one program, at most one argument), so
/// that the folder of the slot may lie on a disk from which nothing can be executed.
fn interpreter(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let shells = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
    let shell = || shells.into_iter().find(|shell| exists(shell)).unwrap_or("/bin/sh");
    named(text).unwrap_or_else(|| vec![shell().to_owned()])
}

/// The interpreter in a container. Its files are not known before it runs, so `sh`, which always exists, looks for bash.
fn interpreter_inside(text: &str) -> Vec<String> {
    const FIND: &str = "for shell in /bin/bash /usr/bin/bash /usr/local/bin/bash; do \
                        [ -x \"$shell\" ] && exec \"$shell\" \"$@\"; done; exec /bin/sh \"$@\"";
    named(text).unwrap_or_else(|| ["/bin/sh", "-c", FIND, "sh"].map(str::to_owned).into())
}

/// What the first line names.
fn named(text: &str) -> Option<Vec<String>> {
    let line = text.lines().next()?.strip_prefix("#!")?.trim();
    let (program, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let argument = Some(rest.trim()).filter(|rest| !rest.is_empty());
    let words = [Some(program), argument].into_iter().flatten().map(str::to_owned);
    (!program.is_empty()).then(|| words.collect())
}

/// What it means that these words could not be executed.
pub(super) fn explain(program: &str, error: &io::Error) -> NotRun {
    match error.kind() {
        io::ErrorKind::NotFound if program.contains('/') => {
            NotRun::new(127, format!("{program}: no such file, or its interpreter is missing"))
        }
        io::ErrorKind::NotFound => {
            NotRun::new(127, format!("{program}: command not found; is it on the PATH of the job?"))
        }
        io::ErrorKind::PermissionDenied => {
            NotRun::new(126, format!("{program}: cannot be executed; is it executable (chmod +x)?"))
        }
        _ => NotRun::new(126, format!("{program}: cannot be executed: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_the_interpreter() {
        let none = |_: &str| false;
        assert_eq!(interpreter("#!/usr/bin/env python3\nprint()", none), ["/usr/bin/env", "python3"]);
        assert_eq!(interpreter("#! /bin/sh -e  -u \n", none), ["/bin/sh", "-e  -u"]);
        assert_eq!(interpreter("#!/bin/sh", none), ["/bin/sh"]);
    }

    #[test]
    fn without_one_it_is_bash_or_sh() {
        assert_eq!(interpreter("echo", |_| true), ["/bin/bash"]);
        assert_eq!(interpreter("echo", |_| false), ["/bin/sh"]);
        assert_eq!(interpreter("#!\necho", |_| false), ["/bin/sh"]);
        assert_eq!(interpreter("", |path| path.starts_with("/usr/bin/")), ["/usr/bin/bash"]);
        assert_eq!(interpreter_inside("#!/bin/sh\necho"), ["/bin/sh"]);
        assert_eq!(interpreter_inside("echo")[..2], ["/bin/sh", "-c"]);
    }

    #[test]
    fn a_shell_would_give_the_same_status() {
        let of = |kind| explain("train", &io::Error::from(kind)).code;
        assert_eq!(of(io::ErrorKind::NotFound), 127);
        assert_eq!(of(io::ErrorKind::PermissionDenied), 126);
        assert_eq!(of(io::ErrorKind::OutOfMemory), 126);
    }
}
