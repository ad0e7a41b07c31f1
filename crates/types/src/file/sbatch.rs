//! A batch script for Slurm, read as a job file.
//!
//! ```sh
//! #!/bin/bash
//! #SBATCH -J train --gres=gpu:h100:8
//! #SBATCH --time=2-12:00:00
//! #SBATCH -d afterok:17
//! python train.py
//! ```
//! Options stand in comments before the first command, and on the command line, which wins. One that is not understood
//! is refused where it stands, unless leaving it out changes nothing about the work: then it becomes a note.
//!
//! What differs from Slurm: the script runs once on every worker, and a worker is what Slurm calls a node of the job;
//! there is no `srun` inside. A script that asks for no GPU gets processors: devices of the kind `cpu`. Standard error
//! goes where standard output goes.

use super::job::{Around, DEFAULT, JobFile, command};
use super::limits;
use super::read_error::{InFile, Place, ReadError};
use crate::cluster::Host;
use crate::job::{Count, Form, JobSpec, OnFailure, Role, Shape};
use crate::time::Span;
use crate::work::{Command, Limits, Output, StageWork, Work};

mod meaning;
mod options;
mod words;

pub use options::{Export, Options};

/// What a batch script says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The job.
    pub job: JobFile,
    /// It names no accelerator, so that it runs on processors, as with Slurm.
    pub is_plain: bool,
    /// What of the submitter's environment travels along. Whoever has that environment fills `inherited` with it.
    pub export: Export,
}

/// Reads a batch script. `file` is what errors call it, and names a job that has no name.
pub fn read(file: &str, text: &str, around: &Around<'_>) -> Result<Batch, ReadError> {
    read_with(file, text, around, &Options::default(), &[])
}

/// The same, with options that win over those in the script, and with arguments for the script.
pub fn read_with(
    file: &str,
    text: &str,
    around: &Around<'_>,
    over: &Options,
    arguments: &[String],
) -> Result<Batch, ReadError> {
    let fail = |message: &str| ReadError::whole(file, message);
    if text.trim().is_empty() {
        return Err(fail("is empty, expected a script"));
    }
    if text.contains('\0') {
        return Err(fail("contains a NUL character, expected a script"));
    }
    if text.len() + arguments.iter().map(|word| word.len() + 1).sum::<usize>() > limits::COMMAND_BYTES {
        return Err(fail("is larger than 1 MiB, expected less"));
    }
    if arguments.iter().any(|word| word.len() > limits::VARIABLE_BYTES || word.contains('\0')) {
        return Err(fail("has an argument larger than 128 KiB or with a NUL in it, expected none"));
    }
    let mut options = directives(text).in_file(file)?;
    options.give_way(over);
    let command = Command::Script { text: text.into(), arguments: arguments.to_vec() };
    assemble(file, command, around, options).in_file(file)
}

/// The options in the comments before the first command.
fn directives(text: &str) -> Result<Options, ReadError> {
    let mut options = Options::default();
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix('#') else {
            if line.trim().is_empty() {
                continue;
            }
            break;
        };
        let place = Place { line: index as u64 + 1, column: 0 };
        let Some(rest) = comment.strip_prefix("SBATCH").filter(|rest| rest.starts_with([' ', '\t'])) else {
            continue;
        };
        let fail = |message: String| place.fail(message);
        let found = words::split(rest).map_err(fail)?;
        let left = options.take(&found).map_err(fail)?;
        if let Some(word) = left.first() {
            return Err(
                place.fail(format!("{} is not an option, expected one like --time=2:00:00", quoted(word)))
            );
        }
    }
    Ok(options)
}

fn quoted(word: &str) -> String {
    super::value::quoted(word)
}

fn assemble(file: &str, command: Command, around: &Around<'_>, options: Options) -> Result<Batch, ReadError> {
    let fail = |message: String| Place::default().fail(message);
    let (count, mut shape) = options.hardware().map_err(fail)?;
    let is_plain = options.is_plain();
    let host = options.host(shape.devices).map_err(fail)?;
    // Processors that are granted as devices need not be asked for twice.
    shape.host = Host { cpu_milli: if is_plain { 0 } else { host.cpu_milli }, ..host };
    let mut notes = options.notes.clone();
    if matches!(&command, Command::Script { text, .. } if words::calls(text, "srun")) {
        notes.push("srun is not available: start the program directly, and ask for several copies of it with `-n` or `workers`".into());
    }
    if count.max > 1 {
        notes.push(format!("the script runs on each of the {} workers, not only on the first", count.max));
    }
    let (form, indices) = match &options.array {
        Some((tasks, indices)) => (Form::Bag { tasks: *tasks }, indices.clone()),
        None => (Form::Gang, vec![]),
    };
    let name = options.name.unwrap_or_else(|| command::name(file, &command));
    let mut spec = JobSpec::gang(name, 1, Shape::any());
    spec.tenant = options.tenant.unwrap_or_else(|| DEFAULT.into());
    spec.queue = options.queue.unwrap_or_else(|| DEFAULT.into());
    spec.priority = options.priority.unwrap_or(spec.priority);
    spec.qos = options.qos.unwrap_or(spec.qos);
    spec.after = options.after.unwrap_or_default();
    // Slurm sends the signal so long before the limit, where we ask at the limit and wait so long after it.
    let early = options.grace.as_ref().map_or(Span::ZERO, |grace| grace.span);
    let limit = options.time_limit.unwrap_or_default();
    spec.time_limit = limit.map(|limit| if limit > early { limit - early } else { limit });
    if matches!(form, Form::Bag { .. }) {
        spec.stages[0].on_failure = OnFailure::Continue;
    }
    spec.stages[0].form = form;
    spec.stages[0].indices.clone_from(&indices);
    spec.stages[0].roles = vec![Role { name: "worker".into(), count, shapes: vec![shape] }];
    let workdir = options.workdir.unwrap_or_else(|| ".".into());
    let work = Work {
        stages: vec![StageWork { commands: vec![command], indices, variants: vec![] }],
        workdir: super::job::settings::workdir(&workdir, around).map_err(fail)?,
        image: None,
        env: options.env,
        inherited: vec![],
        grace: options.grace.unwrap_or_default(),
        limits: Limits {
            memory_bytes: Some(host.memory_bytes).filter(|&bytes| bytes > 0),
            cpu_thousandths: Some(host.cpu_milli as u32).filter(|&milli| milli > 0),
            ..Limits::default()
        },
        output: Output { path: options.output, ..Output::default() },
    };
    Ok(Batch { job: JobFile { spec, work, notes }, is_plain, export: options.export.unwrap_or(Export::All) })
}

/// How many workers, and what each of them gets.
type Hardware = (Count, Shape);

#[cfg(test)]
mod tests;
