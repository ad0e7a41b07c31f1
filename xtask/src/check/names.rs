//! Names that say nothing.
//!
//! For: a file or a module is called by what is in it.
//! Promises: no file, folder or module carries a name that anything could hide behind, and no `mod.rs`: `thing.rs`
//! stands beside `thing/`.
//! Never: judges the names of types or functions.

use crate::project::{Fault, Project};
use crate::run::Verdict;

const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "managers", "misc"];

/// Looks at every path, and at every `mod` in the sources.
pub fn look(project: &Project) -> Result<Verdict, Fault> {
    let mut findings = Vec::new();
    for file in project.files()? {
        findings.extend(judge_path(&file));
        if file.ends_with(".rs") {
            findings.extend(judge_text(&file, &project.text(&file)?.unwrap_or_default()));
        }
    }
    Ok(Verdict::of(findings, Vec::new()))
}

fn judge_path(file: &str) -> Option<String> {
    if file.rsplit('/').next() == Some("mod.rs") {
        return Some(format!("{file}: put `thing.rs` beside `thing/` instead of `mod.rs` inside it"));
    }
    // A folder is its whole name, a file its name up to the first dot.
    let named = |part: &str| EMPTY_NAMES.contains(&part.split('.').next().unwrap_or_default());
    let culprit = file.split('/').find(|part| named(part))?;
    Some(format!("{file}: `{culprit}` could hold anything; name it after what it holds"))
}

fn judge_text(file: &str, text: &str) -> Vec<String> {
    let finding = |(number, name)| {
        format!("{file}:{number}: `mod {name}` could hold anything; name it after what it holds")
    };
    let numbered = text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, module(line)?)));
    numbered.filter(|(_, name)| EMPTY_NAMES.contains(name)).map(finding).collect()
}

/// The name in a line that opens or declares a module.
fn module(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest = after.trim_start();
        if let Some(inside) = rest.strip_prefix('(') {
            rest = inside.split_once(')')?.1.trim_start();
        }
    }
    let after = rest.strip_prefix("mod ")?.trim_start();
    let end = after.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(after.len());
    Some(&after[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found_in_files_and_folders() {
        for file in [
            "crates/sim/src/utils.rs",
            "crates/sim/src/common/x.rs",
            "a/mod.rs",
            "python/helpers.py",
            "misc/a.md",
        ] {
            assert!(judge_path(file).is_some(), "{file}");
        }
    }

    #[test]
    fn full_names_pass() {
        for file in
            ["crates/sim/src/commons.rs", "src/model.rs", "a/manager_of_quota.rs", "README.md", ".ci/run"]
        {
            assert_eq!(judge_path(file), None, "{file}");
        }
    }

    #[test]
    fn modules_inside_a_file_are_found_with_their_line() {
        let text =
            "mod order;\npub(crate) mod helpers {\n}\n    pub mod misc;\n// mod utils\nlet mod_utils = 1;\n";
        let findings = judge_text("a.rs", text);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("a.rs:2: `mod helpers`"));
        assert!(findings[1].starts_with("a.rs:4: `mod misc`"));
    }
}
