//! `consort scenario`: plays stories and compares their endings with what they expect.

use crate::failure::{Failure, note};
use crate::numbers::thousands;
use crate::screen::{Screen, print};
use crate::{files, inputs};
use anstyle::AnsiColor;
use consort_sched::Registry;
use consort_sim::scenario::{Played, play_under};
use similar::{ChangeTag, TextDiff};
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  consort scenario                        all scenarios under scenarios/
  consort scenario scenarios/quota.txt
  consort scenario --bless scenarios      write the actual outcome into the files

In folders, scenarios are the files that end in .txt, at any depth.";

/// Run plain-text scenarios and compare the outcome with what they expect
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Write the actual outcome into the files as the expected one, and list the files that changed
    #[arg(long)]
    bless: bool,
    /// Files or folders
    #[arg(value_name = "PATH", default_value = "scenarios")]
    paths: Vec<PathBuf>,
}

/// How many stories ended how.
#[derive(Default)]
struct Counts {
    passed: u64,
    failed: u64,
    blessed: u64,
    unreadable: u64,
}

/// The command.
pub fn run(args: &Args, policies: &Registry) -> Result<(), Failure> {
    let screen = Screen::here();
    let mut counts = Counts::default();
    for path in stories(&args.paths)? {
        // One unreadable story does not keep the others from being played.
        match story((args, policies), &screen, &path, &mut counts) {
            Err(Failure::Request(sentence)) => {
                counts.unreadable += 1;
                note(&format!("consort: {sentence}"));
            }
            other => other?,
        }
    }
    let parts = [
        (counts.passed, "passed"),
        (counts.failed, "failed"),
        (counts.blessed, "blessed"),
        (counts.unreadable, "unreadable"),
    ];
    let parts = parts.iter().filter(|(number, what)| *number > 0 || *what == "passed");
    let parts: Vec<String> = parts.map(|(number, what)| format!("{} {what}", thousands(*number))).collect();
    print(&format!("\n{}\n", parts.join(", ")))?;
    match counts {
        Counts { unreadable: 1.., .. } => Err(Failure::Request(String::new())),
        Counts { failed: 1.., .. } => Err(Failure::Failed(
            "scenarios did not end as expected; fix the cause, or accept the new outcome with --bless".into(),
        )),
        _ => Ok(()),
    }
}

fn story(
    (args, policies): (&Args, &Registry),
    screen: &Screen,
    path: &Path,
    counts: &mut Counts,
) -> Result<(), Failure> {
    let name = path.display().to_string();
    inputs::readable(path)?;
    let bytes = fs::read(path).map_err(|error| Failure::file(path, "read", &error))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::request(format_args!("{name}: is not UTF-8"), "save it as UTF-8"))?;
    let played = play_under(policies, &name, &text).map_err(inputs::malformed)?;
    let line = |colour: AnsiColor, verdict: &str| {
        format!("{}  {name}\n", screen.styled(colour.on_default().bold(), verdict))
    };
    if args.bless && played.blessed != text {
        files::replace(path, played.blessed.as_bytes())?;
        counts.blessed += 1;
        return print(&(line(AnsiColor::Yellow, "blessed") + &difference(screen, &played)));
    }
    if played.passed() {
        counts.passed += 1;
        return print(&line(AnsiColor::Green, "passed "));
    }
    counts.failed += 1;
    print(&(line(AnsiColor::Red, "failed ") + &difference(screen, &played)))
}

/// Line by line: what was expected and did not come is red, what came unexpected is green.
fn difference(screen: &Screen, played: &Played) -> String {
    let diff = TextDiff::from_lines(&played.expected, &played.actual);
    let mut text = String::new();
    for (index, group) in diff.grouped_ops(3).iter().enumerate() {
        if index > 0 {
            text += "           ...\n";
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches(['\r', '\n']);
            text += &match change.tag() {
                ChangeTag::Equal => format!("           {line}\n"),
                ChangeTag::Delete => {
                    format!(
                        "  {}\n",
                        screen.styled(AnsiColor::Red.on_default(), &format!("expected - {line}"))
                    )
                }
                ChangeTag::Insert => {
                    format!(
                        "  {}\n",
                        screen.styled(AnsiColor::Green.on_default(), &format!("actual   + {line}"))
                    )
                }
            };
        }
    }
    text
}

/// The files that were named, and those in the folders that were named, in the order of their names.
fn stories(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut stories = vec![];
    for path in paths {
        if !path.exists() {
            return Err(Failure::request(
                format_args!("{}: no such file or folder", path.display()),
                "name files or folders with scenarios",
            ));
        }
        if !path.is_dir() {
            inputs::readable(path)?;
            stories.push(path.clone());
            continue;
        }
        let before = stories.len();
        collect(path, &mut stories)?;
        if stories.len() == before {
            return Err(Failure::request(
                format_args!("{}: no scenario in this folder", path.display()),
                "scenarios are files that end in .txt",
            ));
        }
    }
    Ok(stories)
}

fn collect(folder: &Path, stories: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let fault = |error: std::io::Error| Failure::file(folder, "read", &error);
    let mut entries = fs::read_dir(folder).map_err(fault)?.collect::<Result<Vec<_>, _>>().map_err(fault)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        // Links to folders are not followed: they could lead in circles.
        if entry.file_type().map_err(fault)?.is_dir() {
            collect(&entry.path(), stories)?;
        } else if entry.path().extension().is_some_and(|extension| extension == "txt") {
            stories.push(entry.path());
        }
    }
    Ok(())
}
