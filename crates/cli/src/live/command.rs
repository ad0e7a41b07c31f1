//! A job from a command line, for `run` and `submit`.

use super::flags;
use crate::failure::Failure;
use consort_types::file::job::JobFile;
use consort_types::file::{limits, value};
use consort_types::{Command, JobSpec, Shape, Work};

/// A job of one worker with one device, which flags then change.
pub fn job(command: &[String]) -> Result<JobFile, Failure> {
    let bytes: usize = command.iter().map(|word| word.len() + 1).sum();
    if bytes > limits::COMMAND_BYTES || command.iter().any(|word| word.len() > limits::VARIABLE_BYTES) {
        return Err(Failure::request("the command is larger than 1 MiB", "put it into a file"));
    }
    if command[0].is_empty() {
        return Err(Failure::request("the command is empty", "name a program after --"));
    }
    let name = command[0].rsplit('/').next().unwrap_or_default();
    let name: String = name.chars().filter(|&letter| !value::is_hidden(letter)).take(limits::NAME).collect();
    let name = if name.is_empty() { "job".into() } else { name };
    let work = Work::of(Command::Program(command.to_vec()), flags::here()?);
    Ok(JobFile { spec: JobSpec::gang(name, 1, Shape::any()), work, notes: vec![] })
}
