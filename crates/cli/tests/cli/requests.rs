//! What holds for every command: help, mistakes, readers that leave.

use super::*;
use std::io::Read;
use std::process::Stdio;

const COMMANDS: [&str; 31] = [
    "up",
    "serve",
    "replay",
    "submit",
    "run",
    "jobs",
    "show",
    "explain",
    "logs",
    "wait",
    "cancel",
    "pause",
    "resume",
    "nodes",
    "devices",
    "queues",
    "tenants",
    "events",
    "top",
    "status",
    "sbatch",
    "squeue",
    "scancel",
    "sinfo",
    "simulate",
    "compare",
    "bench",
    "scenario",
    "policies",
    "completions",
    "version",
];

#[test]
fn every_help_has_an_example_and_fits() {
    let folder = Folder::new();
    for command in COMMANDS {
        let help = folder.run(&format!("{command} --help")).done().out;
        assert!(help.contains(&format!("  consort {command}")) || command == "completions", "{help}");
        assert!(help.contains("\nExample"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
    }
    let help = folder.run("--help").done().out;
    assert!(COMMANDS.iter().all(|command| help.contains(&format!("\n  {command} "))), "{help}");
    assert!(help.contains("Examples:\n  consort up"), "{help}");
}

#[test]
fn mistakes_on_the_command_line_are_one_sentence() {
    let folder = Folder::with_inputs();
    let run = "simulate --cluster cluster.yaml --workload jobs.yaml --policy fifo";
    folder.run("simulte").refused(2, &["unknown command `simulte`; did you mean `simulate`?"]);
    folder.run("frobnicate").refused(2, &["unknown command `frobnicate`; expected one of up, serve"]);
    folder
        .run("simulate")
        .refused(2, &["missing required arguments --cluster <FILE>", "; see `consort simulate --help`"]);
    folder.run(&format!("{run} --polcy x")).refused(2, &["`--polcy`", "did you mean `--policy`?"]);
    folder.run(&format!("{run} --place moon")).refused(2, &["`moon`", "available: consolidated, best-fit"]);
    folder.run(&format!("{run} --seed many")).refused(2, &["`many`", "--seed", "expected a whole number"]);
    folder.run(&format!("{run} --start-delay soon")).refused(2, &["`soon`", "expected a time like 90s"]);
    folder.run(&format!("{run} --start-delay=-3s")).refused(2, &["`-3s`", "expected a time from 0s"]);
    folder.run(&format!("{run} --start-delay -3s")).refused(2, &["`-3s`", "expected a time from 0s"]);
    folder.run(&format!("{run} --seed -1")).refused(2, &["`-1`", "expected a whole number"]);
    folder.run(&format!("{run} --late-news NaN")).refused(2, &["`NaN`", "from 0 to 0.9"]);
    folder.run("completions tcsh").refused(2, &["`tcsh`"]);
    // Commands that people know from elsewhere, and those below others.
    folder.run("sacct").refused(2, &["unknown command `sacct`; use `consort jobs --all`"]);
    folder.run("hold 3").refused(2, &["use `consort pause`"]);
    folder.run("tenants delete red").refused(2, &["unknown command `delete`; expected one of set\n"]);
    folder.run("plan sync --x").refused(2, &["unexpected argument `--x`; see `consort plan sync --help`"]);
    folder.run("submit train.sh --lr 1").refused(2, &["`consort sbatch train.sh --lr 1`"]);
    folder.run("submit python train.py").refused(2, &["`consort submit -- python train.py`"]);
    folder.run("logs 1 --tail x").refused(2, &["`x` for --tail", "expected a whole number from 0 on"]);
    folder.run("up --listen 7584").refused(2, &["such as 127.0.0.1:7467"]);
    let alone = folder.run("");
    assert!(alone.code == 2 && alone.out.contains("Usage: consort"), "{alone:?}");
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_text_do_no_harm() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::with_inputs();
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe\n\x1b[31m.yaml");
    let mut command = folder.command("compare --cluster");
    Ran::of(command.arg(odd).output().unwrap()).refused(2, &["no such file"]);
    let mut command = folder.command("compare --policy");
    Ran::of(command.arg(odd).output().unwrap()).refused(2, &[]);
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    let folder = Folder::with_inputs();
    folder.write("story.txt", "expect nothing\n");
    for line in
        ["policies", "compare --jobs 50", "compare --jobs 50 --json", "completions bash", "--help", "version"]
    {
        let mut child = folder.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_the_outside() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Ran::of(Folder::new().command("policies").stdout(full).output().unwrap());
    ran.refused(3, &["standard output", "disk is full"]);
}

#[test]
fn policies_are_listed_with_the_default() {
    let folder = Folder::new();
    let value = folder.run("policies --json").json();
    let list = value.as_array().unwrap();
    assert_eq!(list.len(), 8);
    assert!(list.iter().all(|policy| policy["about"].as_str().is_some_and(|about| !about.is_empty())));
    let defaults: Vec<_> = list.iter().filter(|policy| policy["default"] == true).collect();
    assert_eq!(defaults.len(), 1);
    assert_eq!(defaults[0]["name"], "priority");
    let places = folder.run("policies --places --json").json();
    assert!(places.as_array().unwrap().iter().any(|place| place["name"] == "spread"), "{places}");
    let shown = folder.run("policies").done().out;
    assert!(shown.contains("(default)") && shown.contains("consort compare --policy"), "{shown}");
}

#[test]
fn completions_and_version() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(&format!("completions {shell}")).done().out;
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
    let version = format!("consort {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(folder.run("version").done().out, version);
    assert_eq!(folder.run("--version").done().out, version);
}
