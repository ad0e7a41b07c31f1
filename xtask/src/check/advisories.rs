//! Known holes in our dependencies.
//!
//! For: nobody ships a crate that others already warned about.
//! Promises: asks cargo-deny, or else cargo-audit, where the tool and its database are both at hand; where they are
//! not, the step is skipped and says so.
//! Never: fetches the database: a check gives the same answer with and without a network.

use std::path::{Path, PathBuf};

use crate::outside;
use crate::project::{Fault, Project};
use crate::run::Verdict;

/// A tool that knows advisories.
struct Tool {
    command: &'static str,
    /// Where it keeps its database, inside cargo's home.
    database: &'static str,
    arguments: &'static [&'static str],
}

const TOOLS: &[Tool] = &[
    Tool {
        command: "deny",
        database: "advisory-dbs",
        arguments: &["deny", "--offline", "check", "advisories"],
    },
    Tool { command: "audit", database: "advisory-db", arguments: &["audit", "--no-fetch"] },
];

/// Asks the first tool that is at hand together with its database.
pub fn look(project: &Project) -> Result<Verdict, Fault> {
    let ready = |tool: &&Tool| {
        home().is_some_and(|home| holds_something(&home.join(tool.database)))
            && outside::is_at_hand(outside::cargo(project).args([tool.command, "--version"]))
    };
    let Some(tool) = TOOLS.iter().find(ready) else {
        return Ok(Verdict::Skip("no advisory database at hand".into()));
    };
    let heard = outside::listen(outside::cargo(project).args(tool.arguments))?;
    if heard.success {
        return Ok(Verdict::Pass(vec![format!("asked cargo-{}", tool.command)]));
    }
    Ok(Verdict::Fail(heard.text.lines().map(str::to_owned).collect()))
}

/// Cargo's own folder.
fn home() -> Option<PathBuf> {
    let stated = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    stated.or_else(|| Some(std::env::home_dir()?.join(".cargo")))
}

/// An empty folder is what a failed download leaves behind, and no database.
fn holds_something(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::made_of;

    #[test]
    fn an_empty_or_missing_folder_is_no_database() {
        let project = made_of("advisories", &[("full/crates/x.md", "")]);
        std::fs::create_dir(project.root.join("empty")).unwrap();
        assert!(holds_something(&project.root.join("full")));
        assert!(!holds_something(&project.root.join("empty")));
        assert!(!holds_something(&project.root.join("absent")));
        std::fs::remove_dir_all(&project.root).unwrap();
    }

    #[test]
    fn no_tool_fetches() {
        for tool in TOOLS {
            let offline = tool.arguments.contains(&"--offline") || tool.arguments.contains(&"--no-fetch");
            assert!(offline, "{}", tool.command);
        }
    }
}
