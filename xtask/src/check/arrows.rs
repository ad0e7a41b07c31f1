//! Who may depend on whom.
//!
//! For: the shape of the house stays the shape on the architecture page.
//! Promises: every direct dependency between rooms, tests and build scripts included, is one that `rooms` allows; a
//! pure room leans on pure rooms only and uses no outside crate known to be restless; a crate that `rooms` does not
//! know is a failure that says where to add it. A room for tests is used in tests, and nowhere else.
//! Never: looks at code: an arrow is a line in a manifest.

use std::path::Path;

use serde_json::Value;

use crate::project::{Fault, Project};
use crate::rooms::{self, Room};
use crate::run::Verdict;

/// One dependency as a manifest states it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dependency {
    package: String,
    /// Lies on this disk, not in a registry.
    local: bool,
    /// Used by tests, examples and benchmarks only.
    for_tests: bool,
}

/// One package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    name: String,
    folder: String,
    dependencies: Vec<Dependency>,
}

/// Judges every package of the workspace.
pub fn look(project: &Project) -> Result<Verdict, Fault> {
    // Without the dependencies' own packages nothing has to be downloaded for this.
    let packages: Vec<Package> =
        project.packages(&["--no-deps"])?.iter().map(|package| read(project, package)).collect();
    Ok(Verdict::of(packages.iter().flat_map(judge).collect(), Vec::new()))
}

fn read(project: &Project, package: &Value) -> Package {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let manifest = word(&package["manifest_path"]);
    let dependencies =
        package["dependencies"].as_array().into_iter().flatten().map(|dependency| Dependency {
            package: word(&dependency["name"]),
            local: dependency["source"].is_null(),
            for_tests: dependency["kind"] == "dev",
        });
    Package {
        name: word(&package["name"]),
        folder: project.relative(Path::new(&manifest).parent().unwrap_or(Path::new(""))),
        dependencies: dependencies.collect(),
    }
}

fn judge(package: &Package) -> Vec<String> {
    let Some(room) = rooms::of_package(&package.name) else {
        return vec![unknown(&package.name)];
    };
    let mut findings = Vec::new();
    if package.folder != room.folder {
        findings.push(format!("{} lies in {}, not in {}", package.name, package.folder, room.folder));
    }
    let others = package.dependencies.iter().filter(|dependency| dependency.package != package.name);
    findings.extend(others.filter_map(|dependency| judge_arrow(room, dependency)));
    findings
}

fn judge_arrow(room: &Room, dependency: &Dependency) -> Option<String> {
    if !dependency.local {
        let restless =
            room.pure && !dependency.for_tests && rooms::RESTLESS.contains(&dependency.package.as_str());
        return restless.then(|| {
            format!(
                "{} is pure and cannot use {}: it reaches outside the program",
                room.name, dependency.package
            )
        });
    }
    let Some(other) = rooms::of_package(&dependency.package) else {
        return Some(unknown(&dependency.package));
    };
    // Asked apart from the table, so that one careless line there cannot let I/O into a pure room.
    if room.pure && !other.pure {
        return Some(format!("{} is pure and cannot lean on {}, which is not", room.name, other.name));
    }
    if other.for_tests {
        return (!dependency.for_tests)
            .then(|| format!("{} may depend on {} in its tests only", room.name, other.name));
    }
    if rooms::below(room).contains(other.name) {
        return None;
    }
    let tests = if dependency.for_tests { " (not in its tests either)" } else { "" };
    let allowed: Vec<&str> = rooms::below(room).into_iter().collect();
    let allowed = if allowed.is_empty() { "no room".into() } else { allowed.join(", ") };
    Some(format!("{} may not depend on {}{tests}: it may depend on {allowed}", room.name, other.name))
}

fn unknown(package: &str) -> String {
    format!("{package} is not a room we know: add it to ROOMS in xtask/src/rooms.rs, with what lies below it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[(&str, bool, bool)]) -> Package {
        let dependencies = dependencies
            .iter()
            .map(|&(package, local, for_tests)| Dependency { package: package.into(), local, for_tests })
            .collect();
        Package { name: name.into(), folder: folder.into(), dependencies }
    }

    #[test]
    fn what_is_below_is_allowed_near_and_far() {
        let sim = [("consort-sched", true, false), ("consort-types", true, false), ("serde", false, false)];
        assert!(judge(&package("consort-sim", "crates/sim", &sim)).is_empty());
        let cli = [("consort-sim", true, false), ("consort-types", true, false)];
        assert!(judge(&package("consort", "crates/cli", &cli)).is_empty());
    }

    #[test]
    fn what_is_above_or_beside_is_not() {
        let findings = judge(&package("consort-types", "crates/types", &[("consort-sched", true, false)]));
        assert_eq!(findings, ["types may not depend on sched: it may depend on no room"]);
        let findings = judge(&package("consort-solve", "crates/solve", &[("consort-sched", true, false)]));
        assert_eq!(findings, ["solve may not depend on sched: it may depend on types"]);
    }

    #[test]
    fn tests_obey_the_arrows_too() {
        let findings = judge(&package("consort-sched", "crates/sched", &[("consort-sim", true, true)]));
        assert_eq!(findings.len(), 1);
        let findings = judge(&package("consort-sim", "crates/sim", &[("consort", true, true)]));
        assert!(findings[0].contains("not in its tests either"), "{findings:?}");
    }

    #[test]
    fn what_is_for_tests_is_used_in_tests() {
        let contract = |for_tests| [("consort-contract", true, for_tests)];
        assert!(judge(&package("consort-local", "crates/adapters/local", &contract(true))).is_empty());
        let findings = judge(&package("consort-sim", "crates/sim", &contract(false)));
        assert_eq!(findings, ["sim may depend on contract in its tests only"]);
        let findings = judge(&package("consort-sched", "crates/sched", &contract(true)));
        assert_eq!(findings, ["sched is pure and cannot lean on contract, which is not"]);
    }

    #[test]
    fn a_pure_room_keeps_away_from_the_outside() {
        let findings = judge(&package("consort-sched", "crates/sched", &[("consort-api", true, false)]));
        assert_eq!(findings, ["sched is pure and cannot lean on api, which is not"]);
        let findings = judge(&package("consort-sched", "crates/sched", &[("tokio", false, false)]));
        assert!(findings[0].contains("tokio"));
        assert!(judge(&package("consort-sched", "crates/sched", &[("tempfile", false, true)])).is_empty());
        assert!(judge(&package("consort-daemon", "crates/daemon", &[("tokio", false, false)])).is_empty());
    }

    #[test]
    fn a_room_nobody_knows_is_told_where_to_go() {
        assert!(judge(&package("consort-attic", "crates/attic", &[]))[0].contains("xtask/src/rooms.rs"));
        assert!(
            judge(&package("consort", "crates/cli", &[("attic", true, false)]))[0].contains("attic is not")
        );
    }

    #[test]
    fn a_room_lies_where_it_should() {
        assert_eq!(
            judge(&package("consort-sim", "crates/simulator", &[])),
            ["consort-sim lies in crates/simulator, not in crates/sim"]
        );
    }

    #[test]
    fn metadata_is_read() {
        let project = Project { root: "/house".into() };
        let value = serde_json::json!({
            "name": "consort-sim", "manifest_path": "/house/crates/sim/Cargo.toml",
            "dependencies": [
                {"name": "consort-sched", "source": null, "kind": null},
                {"name": "proptest", "source": "registry+https://github.com/rust-lang/crates.io-index", "kind": "dev"},
            ],
        });
        let expected = package(
            "consort-sim",
            "crates/sim",
            &[("consort-sched", true, false), ("proptest", false, true)],
        );
        assert_eq!(read(&project, &value), expected);
    }
}
