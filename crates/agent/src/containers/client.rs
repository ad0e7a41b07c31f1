//! The programs of container runtimes, asked short questions.
//!
//! Promises: no question takes longer than its patience; what runs longer is killed.

use super::{Container, Runtime, name};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Variables and their values.
pub(super) type Environment = Vec<(String, String)>;

/// How long a runtime may take for an answer; it waits for locks and disks.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where Podman looks for the init process that it puts into containers.
const INITS: [&str; 6] = [
    "/usr/libexec/podman/catatonit",
    "/usr/local/libexec/podman/catatonit",
    "/usr/lib/podman/catatonit",
    "/usr/local/lib/podman/catatonit",
    "/usr/bin/catatonit",
    "/usr/local/bin/catatonit",
];

/// Where its program is; in words that it is not there.
pub(super) fn locate(runtime: Runtime) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let programs = std::env::split_paths(&path).map(|folder| folder.join(runtime.name()));
    { programs }.find(|file| file.is_file()).ok_or_else(|| "not installed".into())
}

/// Whether it can do what is needed; in words what it lacks.
pub(super) fn check(runtime: Runtime, program: &Path) -> Result<(), String> {
    match runtime {
        Runtime::Podman => {
            let below = ask(program, &["info", "--format", "{{.Host.OCIRuntime.Name}}"], &surroundings())?;
            match below.trim() {
                "crun" if INITS.iter().any(|init| Path::new(init).is_file()) => Ok(()),
                "crun" => Err("catatonit, which passes on signals, is not installed".into()),
                other => Err(format!("it uses {other}, which cannot leave limits to us; install crun")),
            }
        }
        Runtime::Docker => {
            ask(program, &["version", "--format", "{{.Server.Version}}"], &surroundings()).map(drop)
        }
    }
}

impl Container {
    /// Whether it ran out of the memory it was given, for a runtime with control groups of its own.
    pub(crate) fn ran_out_of_memory(&self, slot: &Path) -> bool {
        let words = ["inspect", "--format", "{{.State.OOMKilled}}", &name(slot)];
        ask(&self.program, &words, &self.around).is_ok_and(|said| said.trim() == "true")
    }

    /// Ends what may be left of it, and removes it.
    pub(crate) fn remove(&self, slot: &Path) {
        // One that is not there is removed already; one that cannot be removed keeps nothing but a place on the disk.
        let _ = ask(&self.program, &["rm", "--force", &name(slot)], &self.around);
    }
}

/// Removes a container whose shim is dead, when its order is no longer known.
pub(crate) fn remove(runtime: Runtime, slot: &Path) {
    if let Ok(program) = locate(runtime) {
        let _ = ask(&program, &["rm", "--force", &name(slot)], &surroundings());
    }
}

/// Asks a short question.
fn ask(program: &Path, words: &[&str], around: &Environment) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(words).env_clear().envs(around.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let began = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not answer within {} s", PATIENCE.as_secs()));
            }
        }
    };
    let read = |stream: Option<&mut dyn Read>| {
        let mut text = Vec::new();
        let _ = stream.map(|stream| stream.take(64 << 10).read_to_end(&mut text));
        String::from_utf8_lossy(&text).trim().to_owned()
    };
    let said = read(child.stdout.as_mut().map(|stream| stream as &mut dyn Read));
    match status.success() {
        true => Ok(said),
        false => Err(read(child.stderr.as_mut().map(|stream| stream as &mut dyn Read)).replace('\n', " ")),
    }
}

/// What the program of a runtime finds in its own environment: what this process was given, and nothing of a job's.
pub(super) fn surroundings() -> Environment {
    let text = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| is_of_runtime(name)).collect()
}

/// Whether a variable means something to a runtime itself. The program of a runtime hands other variables of a job to the
/// container from its own environment, so that their values do not show in a list of processes; these it could mistake.
pub(super) fn is_of_runtime(name: &str) -> bool {
    const NAMES: [&str; 16] = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "TMPDIR",
        "LANG",
        "GODEBUG",
        "GOGC",
        "GOMAXPROCS",
        "GOMEMLIMIT",
        "GOTRACEBACK",
        "GOCOVERDIR",
        "NOTIFY_SOCKET",
        "INVOCATION_ID",
    ];
    const PREFIXES: [&str; 13] = [
        "LC_",
        "LD_",
        "XDG_",
        "DOCKER_",
        "CONTAINER",
        "_CONTAINER",
        "BUILDAH_",
        "STORAGE_",
        "REGISTRY_",
        "DBUS_",
        "LISTEN_",
        "SSL_",
        "SUDO_",
    ];
    NAMES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.to_ascii_lowercase().ends_with("_proxy")
}
