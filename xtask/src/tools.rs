//! What a fresh machine may lack: parts of the toolchain, Slurm, container runtimes, a browser, and valgrind.
//!
//! For: rustfmt and clippy are there before the first step that needs them, a real Slurm, real container runtimes and a real
//! browser before the first test that starts one.
//! Promises: asks rustup and apt only for what is missing, and says in a sentence when it cannot be had.
//! Never: installs a toolchain; asks for a password; touches a Slurm that is there.

use std::path::PathBuf;

use crate::outside;
use crate::project::{Fault, Project};
use crate::run::Verdict;

/// What cargo calls it, and what rustup calls it.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// Looks for each component and adds the missing ones.
pub fn set_up(project: &Project) -> Result<Verdict, Fault> {
    let mut findings = Vec::new();
    let mut notes = Vec::new();
    for &(command, component) in COMPONENTS {
        let at_hand = || outside::is_at_hand(outside::cargo(project).args([command, "--version"]));
        if at_hand() {
            continue;
        }
        let added =
            outside::is_at_hand(outside::program(project, "rustup").args(["component", "add", component]));
        if added && at_hand() {
            notes.push(format!("added {component} to the toolchain"));
        } else {
            findings.push(missing(component));
        }
    }
    Ok(Verdict::of(findings, notes))
}

/// Something that Debian has and some tests need.
struct Need {
    /// What people call it.
    what: &'static str,
    /// Programs that are there when it is.
    programs: &'static [&'static str],
    packages: &'static [&'static str],
    /// Who fails without it.
    who: &'static str,
}

const SLURM: Need = Need {
    what: "Slurm",
    // One of each package that the tests use.
    programs: &["slurmctld", "slurmd", "squeue", "slurmrestd", "munged"],
    packages: &[
        "slurmctld",
        "slurmd",
        "slurm-client",
        "slurmrestd",
        "slurm-wlm-basic-plugins",
        "slurm-wlm-jwt-plugin",
        "munge",
    ],
    who: "the Slurm adapter",
};

const CONTAINERS: Need = Need {
    what: "container runtimes",
    programs: &["podman", "crun", "catatonit", "dockerd", "docker", "busybox"],
    packages: &["podman", "crun", "catatonit", "docker.io", "busybox-static"],
    who: "jobs with an image",
};

const BROWSER: Need = Need {
    what: "a browser",
    programs: &["chromium"],
    // A browser without any font measures text that nobody sees.
    packages: &["chromium", "fonts-dejavu-core"],
    who: "the page of a report",
};

const VALGRIND: Need = Need {
    what: "a counter of instructions",
    programs: &["valgrind"],
    packages: &["valgrind"],
    who: "what a decision costs",
};

/// The services of its packages do not get in the way: without a configuration in its usual place Slurm does not start,
/// and the tests have a `munged` of their own.
pub fn set_up_slurm(project: &Project) -> Result<Verdict, Fault> {
    Ok(SLURM.set_up(project))
}

/// The tests have a `dockerd` and storage of their own, and leave those of the machine alone.
pub fn set_up_containers(project: &Project) -> Result<Verdict, Fault> {
    Ok(CONTAINERS.set_up(project))
}

/// Whoever names another browser in `CONSORT_BROWSER` needs none from here.
pub fn set_up_browser(project: &Project) -> Result<Verdict, Fault> {
    match std::env::var_os("CONSORT_BROWSER") {
        Some(_) => Ok(Verdict::Pass(Vec::new())),
        None => Ok(BROWSER.set_up(project)),
    }
}

/// Callgrind is one of its tools.
pub fn set_up_valgrind(project: &Project) -> Result<Verdict, Fault> {
    Ok(VALGRIND.set_up(project))
}

impl Need {
    fn lacking(&self) -> Vec<&'static str> {
        self.programs.iter().copied().filter(|program| !is_on_path(program)).collect()
    }

    /// Looks for it and installs it where we are root and have apt.
    fn set_up(&self, project: &Project) -> Verdict {
        if self.lacking().is_empty() {
            return Verdict::Pass(Vec::new());
        }
        let is_root = outside::listen(outside::program(project, "id").arg("-u"))
            .is_ok_and(|heard| heard.text.trim() == "0");
        if is_root && is_on_path("apt-get") {
            let apt = |arguments: &[&str]| {
                let mut command = outside::program(project, "apt-get");
                outside::is_at_hand(
                    command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq").args(arguments),
                )
            };
            let install = [&["install", "-y", "--no-install-recommends"], self.packages].concat();
            // The lists of a fresh machine are empty or old.
            if !apt(&install) && apt(&["update"]) {
                apt(&install);
            }
            if self.lacking().is_empty() {
                return Verdict::Pass(vec![format!("installed {}", self.packages.join(" "))]);
            }
        }
        Verdict::Fail(vec![self.missing(&self.lacking())])
    }

    fn missing(&self, programs: &[&str]) -> String {
        format!(
            "{} of {} could not be found or installed; on Debian, as root: \
             `apt-get install --no-install-recommends {}`. The tests of {} fail without it.",
            programs.join(", "),
            self.what,
            self.packages.join(" "),
            self.who
        )
    }
}

/// Along the path, and where system programs lie that are often not on it.
fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).any(|folder| folder.join(program).is_file())
}

fn missing(component: &str) -> String {
    format!(
        "{component} is not part of this toolchain and could not be added; \
         `rustup component add {component}` on a machine with a network puts it there."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_the_remedy() {
        assert!(missing("clippy").contains("`rustup component add clippy`"));
        let slurm = SLURM.missing(&["slurmd", "munged"]);
        assert!(slurm.starts_with("slurmd, munged of Slurm"));
        assert!(slurm.contains("`apt-get install --no-install-recommends slurmctld slurmd "));
        assert!(BROWSER.missing(&["chromium"]).contains("recommends chromium fonts-dejavu-core`"));
    }
}
