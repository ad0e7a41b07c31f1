//! Runs the fuzz targets under `fuzz/`.
//!
//! For: a short, bounded look for inputs that break a reader of text or bytes.
//! Promises: each target gets the same number of seconds, and one that fails does not keep the others from running.
//! Never: installs anything, and never runs in `check` or `test`: it needs a nightly toolchain.

use crate::project::{Fault, Project};
use crate::{Ending, outside};

const MANIFEST: &str = "fuzz/Cargo.toml";

/// What to fuzz and for how long.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    target: Option<String>,
    seconds: u64,
}

impl Request {
    /// Reads `[TARGET] [--seconds N]`, or says in a sentence what would pass.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let mut request = Self { target: None, seconds: 30 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let seconds = match word.as_str() {
                "--seconds" => Some(words.next().map_or("", String::as_str)),
                other => other.strip_prefix("--seconds="),
            };
            match seconds {
                Some(number) => request.seconds = whole_seconds(number)?,
                None if word.starts_with('-') => {
                    return Err(format!("`fuzz` has no option `{word}`: it takes [TARGET] [--seconds N]."));
                }
                None if request.target.is_some() => {
                    return Err(format!("`fuzz` takes one target, so `{word}` has no meaning here."));
                }
                None => request.target = Some(word.clone()),
            }
        }
        Ok(request)
    }
}

fn whole_seconds(number: &str) -> Result<u64, String> {
    // libFuzzer reads zero as "for ever", which is the opposite of what anyone would mean here.
    match number.parse() {
        Ok(seconds) if seconds > 0 => Ok(seconds),
        _ => {
            Err(format!("`--seconds` takes a whole number above zero, as in `--seconds 30`, not `{number}`."))
        }
    }
}

/// Runs one target, or all.
pub fn run(project: &Project, request: &Request) -> Ending {
    match attempt(project, request) {
        Ok(ending) => ending,
        Err(fault) => {
            eprintln!("{fault}");
            Ending::OutsideBroke
        }
    }
}

fn attempt(project: &Project, request: &Request) -> Result<Ending, Fault> {
    let Some(manifest) = project.toml(MANIFEST)? else {
        eprintln!("There is nothing to fuzz: {MANIFEST} does not exist.");
        return Ok(Ending::WrongRequest);
    };
    let known = targets(&manifest);
    let chosen = match &request.target {
        None => known,
        Some(target) if known.contains(target) => vec![target.clone()],
        Some(target) => {
            eprintln!("There is no fuzz target `{target}`: the targets are {}.", known.join(", "));
            return Ok(Ending::WrongRequest);
        }
    };
    if let Some(sentence) = what_is_missing(project) {
        eprintln!("{sentence}");
        return Ok(Ending::OutsideBroke);
    }
    let mut failed = Vec::new();
    for target in chosen {
        println!("fuzz  {target} for {} s", request.seconds);
        let limit = format!("-max_total_time={}", request.seconds);
        if !outside::stream(nightly_cargo(project).args(["fuzz", "run", &target, "--", &limit]))? {
            failed.push(target);
        }
    }
    if failed.is_empty() {
        return Ok(Ending::Done);
    }
    println!("failed: {}", failed.join(", "));
    Ok(Ending::Failed)
}

fn what_is_missing(project: &Project) -> Option<&'static str> {
    if !outside::is_at_hand(nightly_cargo(project).arg("--version")) {
        return Some("Fuzzing needs a nightly toolchain: `rustup toolchain install nightly` puts it there.");
    }
    if !outside::is_at_hand(nightly_cargo(project).args(["fuzz", "--version"])) {
        return Some("cargo-fuzz is not at hand: `cargo install --locked cargo-fuzz` puts it there.");
    }
    None
}

/// Cargo of the nightly toolchain. The cargo that started us says so in the environment, which would lead cargo-fuzz
/// back to the stable one.
fn nightly_cargo(project: &Project) -> std::process::Command {
    let mut command = outside::program(project, "rustup");
    command.args(["run", "nightly", "cargo"]).env_remove("CARGO").env_remove("RUSTC");
    command
}

/// The names of the programs in the manifest.
fn targets(manifest: &toml::Table) -> Vec<String> {
    let programs = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
    programs.filter_map(|program| Some(program.get("name")?.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_target_and_a_time_are_optional() {
        assert_eq!(parse(""), Ok(Request { target: None, seconds: 30 }));
        assert_eq!(parse("journal"), Ok(Request { target: Some("journal".into()), seconds: 30 }));
        assert_eq!(parse("--seconds 5 journal"), Ok(Request { target: Some("journal".into()), seconds: 5 }));
        assert_eq!(parse("--seconds=7"), Ok(Request { target: None, seconds: 7 }));
    }

    #[test]
    fn wrong_words_are_refused() {
        for line in ["--seconds", "--seconds 0", "--seconds soon", "--second 3", "one two"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn targets_come_from_the_manifest() {
        let manifest = "[[bin]]\nname = \"journal\"\n[[bin]]\nname = \"job_file\"".parse().unwrap();
        assert_eq!(targets(&manifest), ["journal", "job_file"]);
        assert!(targets(&toml::Table::new()).is_empty());
    }
}
