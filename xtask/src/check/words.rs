//! Words that belong to one machine, and phrases that users must not read.
//!
//! For: the project reads and builds the same everywhere, and speaks in the terms of the field.
//! Promises: no text file holds an absolute path of one machine, no lock file or setting names a registry that is not
//! public, and no text for users has one of the [`phrases`].
//! Never: looks into files that are not text.

mod phrases;

use crate::project::{Fault, Project};
use crate::run::Verdict;

/// Folders in which people and build machines live. Put together from parts, so that this file passes its own rule.
const HOMES: &[&str] = &[concat!("/", "work"), concat!("/", "home"), concat!("/", "root")];

/// What stands before the address of a registry in manifests, lock files and settings of Rust, Python and JavaScript.
const REGISTRY_MARKS: &[&str] =
    &["registry+", "sparse+", "index-url", "index_url", "registry = \"", "registry=", "\"resolved\": \""];

/// The registries that everyone can reach.
const PUBLIC: &[&str] = &[
    "github.com/rust-lang/crates.io-index",
    "index.crates.io",
    "pypi.org",
    "files.pythonhosted.org",
    "registry.npmjs.org",
];

/// Reads every text file.
pub fn look(project: &Project) -> Result<Verdict, Fault> {
    let mut findings = Vec::new();
    for file in project.files()? {
        let text = project.text(&file)?.unwrap_or_default();
        for (index, line) in text.lines().enumerate() {
            findings.extend(judge(line).map(|what| format!("{file}:{}: {what}", index + 1)));
        }
        let found = match () {
            _ if phrases::is_page(&file) => phrases::in_page(&text),
            _ if phrases::is_source(&file) => phrases::in_source(&text, file.starts_with("crates/cli/")),
            _ => vec![],
        };
        findings.extend(found.into_iter().map(|(line, what)| format!("{file}:{line}: {what}")));
    }
    Ok(Verdict::of(findings, Vec::new()))
}

fn judge(line: &str) -> Option<String> {
    if let Some(path) = private_path(line) {
        return Some(format!("`{path}` is a path of one machine; make it relative"));
    }
    private_registry(line).map(|address| format!("`{address}` is not a public registry"))
}

/// The first path under one of the homes.
fn private_path(line: &str) -> Option<&str> {
    let mut starts: Vec<usize> =
        HOMES.iter().flat_map(|home| line.match_indices(home).map(|(start, _)| start)).collect();
    starts.sort_unstable();
    starts.into_iter().find_map(|start| {
        let path = whole_path(&line[start..]);
        (begins_a_path(&line[..start]) && is_under_a_home(path)).then_some(path)
    })
}

fn whole_path(text: &str) -> &str {
    let end = text.find(|letter: char| !is_path_letter(letter) && letter != '/').unwrap_or(text.len());
    &text[..end]
}

/// `a/b`, `../b` and `https://x.org/b` are no beginnings; `file:///b` is one.
fn begins_a_path(before: &str) -> bool {
    before.ends_with("file://")
        || !before.ends_with(|letter: char| is_path_letter(letter) || "/~}$".contains(letter))
}

/// The home itself is just a word; something inside it is a path.
fn is_under_a_home(path: &str) -> bool {
    HOMES.iter().any(|home| {
        let inside = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/'));
        inside.is_some_and(|rest| rest.starts_with(is_path_letter))
    })
}

fn is_path_letter(letter: char) -> bool {
    letter.is_alphanumeric() || "_-.".contains(letter)
}

/// The address of a registry that is not public.
fn private_registry(line: &str) -> Option<&str> {
    REGISTRY_MARKS.iter().find_map(|mark| {
        let after = &line[line.find(mark)? + mark.len()..];
        // Between mark and address there may be an equals sign, quotes and spaces, but no other word.
        let address = after.trim_start_matches([' ', '=', '"', '\'', ':']);
        let host = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
        let end = host
            .find(|letter: char| letter.is_whitespace() || "\"'`,)<>\\".contains(letter))
            .unwrap_or(host.len());
        let host = &host[..end];
        let rest = PUBLIC.iter().find_map(|public| host.strip_prefix(public));
        // The name must end there: a longer one belongs to somebody else.
        let public = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '#']));
        (!public).then_some(host)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests, too, put their examples together from parts.
    fn under(home: &str, rest: &str) -> String {
        format!("/{home}/{rest}")
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for home in ["work", "home", "root"] {
            let path = under(home, "me/project");
            for line in [
                path.clone(),
                format!("see {path}."),
                format!("A={path}"),
                format!("file://{path}"),
                format!("x:{path}"),
            ] {
                assert!(private_path(&line).is_some(), "{line}");
            }
        }
    }

    #[test]
    fn other_paths_are_not() {
        let inside = [under("work", "a"), under("home", "a"), under("root", "a")];
        for path in &inside {
            for line in [
                format!("..{path}"),
                format!("https://example.org{path}"),
                format!("${{HOME}}{path}"),
                format!("a{path}"),
            ] {
                assert_eq!(private_path(&line), None, "{line}");
            }
        }
        for line in ["/rootless/a", "/homes/a", "/root", "the folder /home is shared", "GET /works/{id}"] {
            assert_eq!(private_path(line), None, "{line}");
        }
    }

    #[test]
    fn a_second_path_on_the_line_is_found_too() {
        let line = format!("../x{} and {}", under("work", "a"), under("root", "b"));
        assert_eq!(private_path(&line), Some(under("root", "b").as_str()));
    }

    #[test]
    fn public_registries_pass() {
        for line in [
            "source = \"registry+https://github.com/rust-lang/crates.io-index\"",
            "registry = \"sparse+https://index.crates.io/\"",
            "source = { registry = \"https://pypi.org/simple\" }",
            "\"resolved\": \"https://registry.npmjs.org/a/-/a-1.0.0.tgz\"",
            "the registry = the place where crates live",
        ] {
            assert_eq!(private_registry(line), None, "{line}");
        }
    }

    #[test]
    fn other_registries_do_not() {
        let host = "crates.corp.example";
        for line in [
            format!("source = \"{}{host}/index\"", concat!("registry", "+https://")),
            format!("index = \"{}{host}/\"", concat!("sparse", "+http://")),
            format!("pip install {} https://{host}/simple", concat!("--index", "-url")),
            format!("{}https://{host}/\"", concat!("registry", " = \"")),
            format!("{}pypi.org.{host}/\"", concat!("registry", "+https://")),
        ] {
            assert!(private_registry(&line).is_some(), "{line}");
        }
    }
}
