//! The parts of the toolchain that a fresh machine may lack.
//!
//! For: rustfmt and clippy are there before the first step that needs them.
//! Promises: asks rustup only for what is missing, and says in a sentence when it cannot be had.
//! Never: installs a toolchain, or anything outside the one in use.

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
    }
}
