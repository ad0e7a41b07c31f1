//! The shipped binary, run as people and scripts run it.

mod bench;
mod compare;
mod live;
mod plan;
mod requests;
mod scenario;
mod simulate;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

const CLUSTER: &str = "nodes:\n  - {name: 'n{}', count: 2, devices: {h200: 8}}\n";
const JOBS: &str = "\
- {name: a, at: 0s, devices: 8, kind: h200, run: 1h}
- {name: b, at: 10m, devices: 16, kind: h200, run: 2h}
- {name: \"c, d\", at: 15m, devices: 1, run: 90s}
";

/// A folder of its own for each test, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("consort-cli-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// With a small cluster and a few jobs in it.
    fn with_inputs() -> Self {
        let folder = Self::new();
        folder.write("cluster.yaml", CLUSTER);
        folder.write("jobs.yaml", JOBS);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Names of what is in it.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The binary, in this folder, with nothing of the tester's own settings.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_consort")));
        command.args(line.split_whitespace()).current_dir(&self.0);
        let ours = ["CONSORT_BENCH_DATA", "CONSORT_URL", "CONSORT_TOKEN"];
        for name in ["COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"].into_iter().chain(ours) {
            command.env_remove(name);
        }
        command.env("XDG_CONFIG_HOME", self.path("config"));
        command
    }

    fn run(&self, line: &str) -> Ran {
        Ran::of(self.command(line).output().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What came out.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("not killed"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It did what was asked.
    #[track_caller]
    fn done(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// It printed JSON.
    #[track_caller]
    fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.done().out).unwrap()
    }

    /// It refused with this code and one sentence that contains all of these.
    #[track_caller]
    fn refused(self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(self.err.starts_with("consort: "), "{self:?}");
        assert_eq!(self.err.matches('\n').count(), 1, "{self:?}");
        assert!(self.err.ends_with('\n') && !self.err.contains("panicked"), "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in {:?}", self.err);
        }
    }
}

/// The keys of an object, in the order in which they are printed.
fn keys(value: &serde_json::Value, text: &str) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
    keys.sort_by_key(|key| text.find(&format!("\"{key}\":")));
    keys
}
