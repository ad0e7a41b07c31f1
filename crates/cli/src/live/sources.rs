//! Files that hold a job: a job file in YAML or JSON, or a script with or without `#SBATCH` lines.

use super::flags;
use super::wording::now;
use crate::failure::{Failure, note};
use consort_types::file::ReadError;
use consort_types::file::job::{Around, JobFile, read, read_json};
use consort_types::file::sbatch::{self, Batch, Export, Options};
use std::io::Read;
use std::path::Path;

/// Larger than any job file that would be accepted.
const LARGEST: u64 = 64 << 20;

/// What a job was read from. It decides what flags mean beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A job file, or a command: asks for accelerators unless it says otherwise.
    File,
    /// A script, which says itself what of the environment travels.
    Script {
        /// It names no accelerator and so runs on processors.
        is_plain: bool,
    },
}

/// A job from a file, and what that file is. `-` is standard input. Notes about it are told at once.
pub fn job(path: &Path) -> Result<(JobFile, Source), Failure> {
    let (file, text) = text(path)?;
    let workdir = flags::here()?;
    let around = Around { now: now(), workdir: &workdir };
    let mut source = Source::File;
    let job = if is_script(&file, &text) {
        let batch = sbatch::read(&file, &text, &around).map_err(malformed)?;
        source = Source::Script { is_plain: batch.is_plain };
        with_environment(batch)
    } else if file.ends_with(".json") {
        read_json(&file, text.as_bytes(), &around).map_err(malformed)?
    } else {
        read(&file, &text, &around)
            .map_err(|error| no_job(&file, path, &text).unwrap_or_else(|| malformed(error)))?
    };
    Ok((noted(&file, job), source))
}

/// A job from a batch script, whatever it is called, with options that win over its own.
pub fn batch(path: &Path, options: &Options, arguments: &[String]) -> Result<JobFile, Failure> {
    let (file, text) = text(path)?;
    if !text.starts_with("#!") {
        return Err(Failure::request(
            format_args!("{file}: not a script: the first line names no interpreter"),
            "start it with a line such as #!/bin/sh",
        ));
    }
    script(&file, &text, options, arguments)
}

/// The same from a text.
pub fn script(file: &str, text: &str, options: &Options, arguments: &[String]) -> Result<JobFile, Failure> {
    let workdir = flags::here()?;
    let around = Around { now: now(), workdir: &workdir };
    let batch = sbatch::read_with(file, text, &around, options, arguments).map_err(malformed)?;
    Ok(noted(file, with_environment(batch)))
}

/// What of the environment a script asks for.
fn with_environment(batch: Batch) -> JobFile {
    let Batch { mut job, export, .. } = batch;
    job.work.inherited = match export {
        Export::All => flags::environment(|_| true),
        Export::Only(names) => flags::environment(|name| names.iter().any(|wanted| wanted == name)),
    };
    job
}

fn noted(file: &str, job: JobFile) -> JobFile {
    for sentence in &job.notes {
        note(&format!("consort: {file}: {sentence}"));
    }
    job
}

fn is_script(file: &str, text: &str) -> bool {
    file.ends_with(".sh")
        || file.ends_with(".sbatch")
        || file.ends_with(".slurm")
        || text.starts_with("#!")
        || text.lines().take(100).any(|line| line.starts_with("#SBATCH"))
}

/// Whether a word alone is the name of a program on the search path.
fn is_program(path: &Path) -> bool {
    let is_word = path.components().count() == 1;
    let folders = std::env::var_os("PATH").unwrap_or_default();
    is_word && std::env::split_paths(&folders).any(|folder| folder.join(path).is_file())
}

fn text(path: &Path) -> Result<(String, String), Failure> {
    let mut bytes = vec![];
    let is_input = path == Path::new("-");
    let name = if is_input { "standard input".into() } else { path.display().to_string() };
    let fault = |error: std::io::Error| Failure::file(Path::new(&name), "read", &error);
    if is_input {
        std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes).map_err(fault)?;
    } else {
        if path.is_dir() {
            return Err(Failure::request(format_args!("{name}: is a folder"), "name a job file or a script"));
        }
        if path.extension().is_none() && !path.exists() && is_program(path) {
            return Err(Failure::request(
                format_args!("{name}: no such file"),
                format_args!("to run a program, put -- before it: `consort submit -- {name} ...`"),
            ));
        }
        let file = std::fs::File::open(path).map_err(fault)?;
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(fault)?;
    }
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::request(format_args!("{name}: is larger than 64 MiB"), "is it a job file?"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text.strip_prefix('\u{feff}').map(String::from).unwrap_or(text))),
        Err(_) => Err(Failure::request(
            format_args!("{name}: not UTF-8, so neither a job file nor a script"),
            "run a program with `consort run -- PROGRAM`",
        )),
    }
}

/// What is wrong with a file that does not even look like a job file: a program.
fn no_job(file: &str, path: &Path, text: &str) -> Option<Failure> {
    let name = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    // Every job file has a line with a field, or is a map in braces.
    let is_field = |line: &str| {
        let key = line.split_once(':').map(|(key, _)| key.trim_matches(['"', ' ', '{']));
        key.is_some_and(|key| {
            !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        })
    };
    let is_program = match name {
        "py" | "pl" | "rb" | "lua" | "js" | "jl" | "r" | "R" => true,
        "yaml" | "yml" | "json" => false,
        _ => !text.lines().any(is_field),
    };
    let with = match name {
        "py" => format!("python {file}"),
        "pl" => format!("perl {file}"),
        "rb" => format!("ruby {file}"),
        "lua" => format!("lua {file}"),
        "js" => format!("node {file}"),
        "jl" => format!("julia {file}"),
        "r" | "R" => format!("Rscript {file}"),
        _ => "PROGRAM".into(),
    };
    is_program.then(|| {
        Failure::request(
            format_args!("{file} is not a job file or shell script"),
            format_args!("use `consort submit -- {with}`"),
        )
    })
}

fn malformed(error: ReadError) -> Failure {
    Failure::Request(error.to_string())
}
