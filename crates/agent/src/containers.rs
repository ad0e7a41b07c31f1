//! Container runtimes: workers of jobs that name an image run inside of it.
//!
//! ```text
//! shim ──▶ podman run ──▶ conmon ──▶ init ──▶ worker        all below the shim, in the worker's control groups
//! shim ──▶ docker run ··▶ dockerd ──▶ init ──▶ worker       elsewhere: Docker has control groups of its own
//! ```
//! For: a program finds the libraries that its image brings along, whatever the machine has.
//! Promises: a worker in a container sees the devices it was granted and no others, the network, the memory shared between
//! processes and the working directory of the machine; it runs as the user of this process. What a runtime lacks is
//! said before a job is accepted.
//! Never: installs a runtime, and never picks one that cannot pass on signals or keep the limits of a worker.

mod call;
mod client;

pub(crate) use call::Call;
pub use call::Container;
pub(crate) use client::remove;

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A program that runs containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// Podman with crun, which can leave a container in the control groups it was started in.
    Podman,
    /// Docker: a service runs the containers.
    Docker,
}

impl Runtime {
    /// All of them, the preferred first, and their programs.
    pub const ALL: [(Runtime, &str); 2] = [(Runtime::Podman, "podman"), (Runtime::Docker, "docker")];

    /// Its program.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(runtime, _)| *runtime == self).expect("all are listed").1
    }

    /// The runtime of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(runtime, _)| *runtime)
    }

    /// Whether it has control groups of its own, so that limits are its business.
    pub fn owns_groups(self) -> bool {
        self == Runtime::Docker
    }
}

/// Which runtime is to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The first that works here.
    #[default]
    Any,
    /// This one.
    Only(Runtime),
    /// None: jobs with an image are refused.
    Off,
}

/// A runtime of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which.
    pub runtime: Runtime,
    /// Where its program is.
    pub program: PathBuf,
}

impl Found {
    /// A container for one worker, with the devices it was granted.
    pub fn container(&self, image: &str, nvidia: Vec<String>, nodes: Vec<PathBuf>) -> Container {
        let Found { runtime, program } = self.clone();
        Container { runtime, program, image: image.into(), nvidia, nodes, around: client::surroundings() }
    }
}

/// The runtime of this machine, looked for when it is first needed.
#[derive(Debug, Default)]
pub struct Containers {
    choice: Choice,
    found: Mutex<Option<Found>>,
}

impl Containers {
    /// To be looked for by this choice.
    pub fn new(choice: Choice) -> Self {
        Self { choice, found: Mutex::new(None) }
    }

    /// The runtime; in words what is missing. What was found is kept; what was not is looked for again, since it may have
    /// been installed. May wait for programs.
    pub fn find(&self) -> Result<Found, String> {
        let mut kept = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|found| !found.program.is_file()) {
            *kept = Some(look(self.choice)?);
        }
        Ok(kept.clone().expect("just found"))
    }
}

const REMEDY: &str = "install Podman (on Debian: apt-get install podman crun catatonit) or Docker";

fn look(choice: Choice) -> Result<Found, String> {
    let candidates: Vec<Runtime> = match choice {
        Choice::Off => return Err("containers are switched off here with `containers: none`".into()),
        Choice::Only(runtime) => vec![runtime],
        Choice::Any => Runtime::ALL.map(|(runtime, _)| runtime).into(),
    };
    let mut missing = Vec::new();
    for runtime in candidates {
        match client::locate(runtime).and_then(|program| client::check(runtime, &program).map(|()| program)) {
            Ok(program) => return Ok(Found { runtime, program }),
            Err(why) => missing.push(format!("{}: {why}", runtime.name())),
        }
    }
    Err(format!("no container runtime can be used on this machine ({}); {REMEDY}", missing.join("; ")))
}

/// The name of the container of a slot. Two daemons on one machine count their jobs alike, but keep them in folders of
/// their own.
pub(crate) fn name(slot: &Path) -> String {
    let part = |path: Option<&Path>| {
        let name = path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        name.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.', "-")
    };
    let place = consort_types::Digest::of(&slot) as u32;
    format!("consort-{}-{}-{place:08x}", part(slot.parent()), part(Some(slot)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_such_as_runtimes_take() {
        let name = name(Path::new("/srv/run/12.0.3#2/w1"));
        assert!(name.starts_with("consort-12.0.3-2-w1-") && name.len() == 28, "{name}");
        assert_ne!(name, super::name(Path::new("/elsewhere/run/12.0.3#2/w1")));
    }

    #[test]
    fn what_is_switched_off_is_said() {
        let why = Containers::new(Choice::Off).find().unwrap_err();
        assert!(why.contains("containers: none"), "{why}");
    }
}
