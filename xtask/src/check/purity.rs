//! The bans of the pure rooms are in place.
//!
//! For: determinism made mechanical. Clippy enforces the bans; this makes sure that clippy is told about them.
//! Promises: every pure room has a `clippy.toml` of its own that bans at least what is listed here, and every place
//! in its sources that lifts a ban is noted.
//! Never: looks for the banned calls themselves: clippy knows types, and a search for words does not.

use std::collections::BTreeSet;

use crate::project::{Fault, Project};
use crate::rooms::{ROOMS, Room};
use crate::run::Verdict;

/// The least that must be banned, by the key under which clippy wants it. The file may well ban more.
const BANS: &[(&str, &[&str])] = &[
    (
        "disallowed-types",
        &[
            "std::collections::HashMap",
            "std::collections::HashSet",
            "std::hash::RandomState",
            "std::fs::File",
            "std::net::TcpStream",
            "std::net::TcpListener",
            "std::net::UdpSocket",
        ],
    ),
    (
        "disallowed-methods",
        &[
            "std::time::Instant::now",
            "std::time::SystemTime::now",
            "std::thread::spawn",
            "std::env::var",
            "std::env::vars",
            "std::env::args",
            "std::fs::read",
            "std::fs::read_to_string",
            "std::fs::write",
            "rand::rng",
            "rand::random",
            "getrandom::fill",
        ],
    ),
];

/// Looks at the pure rooms that have been built.
pub fn look(project: &Project) -> Result<Verdict, Fault> {
    let mut findings = Vec::new();
    let mut notes = Vec::new();
    let files = project.files()?;
    for room in ROOMS.iter().filter(|room| room.pure) {
        if !project.root.join(room.folder).join("Cargo.toml").is_file() {
            continue;
        }
        findings.extend(judge(room, project.toml(&format!("{}/clippy.toml", room.folder))?.as_ref()));
        let sources = format!("{}/src/", room.folder);
        for file in files.iter().filter(|file| file.starts_with(&sources) && file.ends_with(".rs")) {
            notes.extend(lifted(file, &project.text(file)?.unwrap_or_default()));
        }
    }
    Ok(Verdict::of(findings, notes))
}

fn judge(room: &Room, bans: Option<&toml::Table>) -> Vec<String> {
    let folder = room.folder;
    let Some(bans) = bans else {
        return vec![format!("{folder}/clippy.toml is missing: a pure room states its bans")];
    };
    let mut findings = Vec::new();
    for (key, wanted) in BANS {
        let stated = paths(bans.get(*key));
        let missing = wanted.iter().filter(|path| !stated.contains(**path));
        findings.extend(missing.map(|path| format!("{folder}/clippy.toml: {key} lacks {path}")));
    }
    findings
}

/// Clippy takes a ban as a plain path or as a table with a `path`.
fn paths(list: Option<&toml::Value>) -> BTreeSet<&str> {
    let entries = list.and_then(toml::Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.as_str().or_else(|| entry.get("path")?.as_str())).collect()
}

/// The lines that lift a ban. Allowed where a comment says why, and worth seeing each time.
fn lifted(file: &str, text: &str) -> Vec<String> {
    let lifts = |line: &str| {
        let line = line.trim_start();
        !line.starts_with("//")
            && (line.contains("clippy::disallowed_methods") || line.contains("clippy::disallowed_types"))
    };
    let numbered = text.lines().enumerate().filter(|(_, line)| lifts(line));
    numbered.map(|(index, _)| format!("{file}:{}: lifts a ban", index + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> &'static Room {
        crate::rooms::of_package("consort-sched").unwrap()
    }

    fn complete() -> toml::Table {
        let list =
            |paths: &[&str]| toml::Value::Array(paths.iter().map(|path| toml::Value::from(*path)).collect());
        BANS.iter().map(|(key, paths)| ((*key).to_owned(), list(paths))).collect()
    }

    #[test]
    fn a_complete_list_passes() {
        assert!(judge(room(), Some(&complete())).is_empty());
    }

    #[test]
    fn a_missing_file_fails() {
        assert!(judge(room(), None)[0].contains("crates/sched/clippy.toml is missing"));
    }

    #[test]
    fn each_missing_ban_fails_by_name() {
        for (key, wanted) in BANS {
            for path in *wanted {
                let mut bans = complete();
                bans[*key].as_array_mut().unwrap().retain(|entry| entry.as_str() != Some(path));
                assert_eq!(
                    judge(room(), Some(&bans)),
                    [format!("crates/sched/clippy.toml: {key} lacks {path}")]
                );
            }
        }
    }

    #[test]
    fn a_ban_under_the_wrong_key_or_in_a_comment_does_not_count() {
        let bans = "disallowed-names = [\"std::fs::read\"] # std::fs::write".parse().unwrap();
        let findings = judge(room(), Some(&bans));
        assert!(findings.iter().any(|finding| finding.ends_with("std::fs::read")));
        assert!(findings.iter().any(|finding| finding.ends_with("std::fs::write")));
    }

    #[test]
    fn bans_may_be_plain_or_with_a_reason() {
        let bans: toml::Table = "x = [\"a::b\", { path = \"c::d\", reason = \"e\" }]".parse().unwrap();
        assert_eq!(paths(bans.get("x")), BTreeSet::from(["a::b", "c::d"]));
    }

    #[test]
    fn lifted_bans_are_noted() {
        let text = "fn a() {}\n#[expect(clippy::disallowed_types)]\n// clippy::disallowed_types\n";
        assert_eq!(lifted("a.rs", text), ["a.rs:2: lifts a ban"]);
    }
}
