//! Mutation tests of the pure core.
//!
//! For: finding lines of `sched` that could be wrong without a test noticing.
//! Promises: the whole workspace judges each mutant, since scenarios and swarm live above the core; all further
//! arguments go to cargo-mutants untouched.
//! Never: runs in `check` or `test`: it takes hours.

use crate::project::Project;
use crate::{Ending, outside};

const ALWAYS: &[&str] = &["mutants", "-p", "consort-sched", "--test-workspace=true"];

/// Runs cargo-mutants, or says how to get it.
pub fn run(project: &Project, arguments: &[String]) -> Ending {
    if !outside::is_at_hand(outside::cargo(project).args(["mutants", "--version"])) {
        eprintln!("cargo-mutants is not at hand: `cargo install --locked cargo-mutants` puts it there.");
        return Ending::OutsideBroke;
    }
    match outside::stream(outside::cargo(project).args(ALWAYS).args(arguments)) {
        Ok(true) => Ending::Done,
        Ok(false) => Ending::Failed,
        Err(fault) => {
            eprintln!("{fault}");
            Ending::OutsideBroke
        }
    }
}
