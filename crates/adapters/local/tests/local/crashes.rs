//! A daemon that is killed between any two steps, and started again.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

fn daemon(folder: &Path, size: u32, crash: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_consort-local-daemon"));
    command.arg(folder).arg(size.to_string()).arg(env!("CARGO_BIN_EXE_consort-local-shim"));
    command.arg("echo $RANK >> runs; sleep 0.05");
    if let Some(crash) = crash {
        command.env("CONSORT_CRASH_AT", crash).env("CONSORT_CRASH_TRACE", folder.join("trace"));
    }
    command.output().unwrap()
}

/// Whatever happened, each worker ran once and the gang succeeded.
fn check(folder: &Path, size: u32, told: &Output) {
    let words = String::from_utf8_lossy(&told.stdout);
    assert_eq!(words, "succeeded\n", "{}", String::from_utf8_lossy(&told.stderr));
    let runs = std::fs::read_to_string(folder.join("runs")).unwrap();
    let mut ranks: Vec<&str> = runs.lines().collect();
    ranks.sort_unstable();
    let expected: Vec<String> = (0..size).map(|rank| rank.to_string()).collect();
    assert_eq!(ranks, expected);
}

#[test]
fn killed_at_every_point_it_runs_everything_once() {
    let size = 3;
    for (point, times) in [("before-spawn", size), ("after-spawn", size), ("before-go", 1)] {
        for time in 1..=times {
            let folder = tempfile::tempdir().unwrap();
            let killed = daemon(folder.path(), size, Some(&format!("{point}:{time}")));
            assert_eq!(killed.status.signal(), Some(9), "{point}:{time}: {killed:?}");
            let trace = std::fs::read_to_string(folder.path().join("trace")).unwrap();
            assert_eq!(trace, format!("{point:<32}"));
            check(folder.path(), size, &daemon(folder.path(), size, None));
        }
    }
}

#[test]
fn killed_again_and_again_it_runs_everything_once() {
    for size in [1, 4] {
        let folder = tempfile::tempdir().unwrap();
        for crash in ["before-spawn:1", "after-spawn:1", "after-spawn:1", "before-go:1"] {
            let told = daemon(folder.path(), size, Some(crash));
            // A single worker is up after its first spawn and needs no word to go.
            if told.status.signal().is_none() {
                check(folder.path(), size, &told);
            }
        }
        check(folder.path(), size, &daemon(folder.path(), size, None));
    }
}

#[test]
fn killed_at_any_moment_it_runs_everything_once() {
    let size = 3;
    for round in 0..15u64 {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_consort-local-daemon"));
        command.arg(folder.path()).arg(size.to_string()).arg(env!("CARGO_BIN_EXE_consort-local-shim"));
        command.arg("echo $RANK >> runs; sleep 0.05");
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(round * 700));
        child.kill().unwrap();
        child.wait().unwrap();
        check(folder.path(), size, &daemon(folder.path(), size, None));
    }
}
