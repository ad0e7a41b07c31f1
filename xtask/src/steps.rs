//! The list of steps, as data.
//!
//! For: one place that says what `cargo xtask check` and `cargo xtask test` do. A new room adds a line here.
//! Promises: `test` begins with everything in `check`, in the same order, and no two steps share a name.
//! Never: runs anything; that is `run`.

use crate::check::{advisories, arrows, licences, links, names, purity, sizes, words};
use crate::counts;
use crate::project::{Fault, Project};
use crate::run::Verdict;
use crate::tools;

/// One thing to do, under the name by which it is reported.
#[derive(Clone, Copy)]
pub struct Step {
    /// Short, lower case, unique.
    pub name: &'static str,
    /// What must be there before the step makes sense.
    pub needs: Needs,
    /// What is done.
    pub work: Work,
}

/// What a step cannot do without. A step whose need is not met is skipped by name, never silently.
#[derive(Clone, Copy)]
pub enum Needs {
    /// Runs everywhere.
    Nothing,
    /// An environment variable that is set and not empty.
    Variable(&'static str),
}

/// The kinds of work.
#[derive(Clone, Copy)]
pub enum Work {
    /// This program looks for itself.
    Look(fn(&Project) -> Result<Verdict, Fault>),
    /// Runs cargo and shows its output only when it fails.
    Quiet(&'static [&'static str]),
    /// Runs cargo and lets its output through as it comes.
    Loud(&'static [&'static str]),
    /// Runs the `consort` that was built for the tests, so that nothing is built twice.
    Consort(&'static [&'static str]),
}

const BENCH_DATA: Needs = Needs::Variable("CONSORT_BENCH_DATA");

const VALGRIND: Step = look("valgrind", tools::set_up_valgrind);

/// Before every push.
const CHECK: &[Step] = &[
    look("tools", tools::set_up),
    quiet("format", &["fmt", "--all", "--check"]),
    quiet("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    look("arrows", arrows::look),
    look("sizes", sizes::look),
    look("names", names::look),
    look("purity", purity::look),
    look("licences", licences::look),
    look("advisories", advisories::look),
    look("links", links::look),
    look("words", words::look),
];

/// What `test` does beyond `check`.
///
/// Answers do not depend on the profile: exact rows come from the binary of the tests. Only instructions are counted in
/// release, of the simulator alone. Times are measured by hand, with `consort bench` of a release build.
const TEST: &[Step] = &[
    // Not among the tools: whoever only checks need not have them.
    look("slurm", tools::set_up_slurm),
    look("containers", tools::set_up_containers),
    look("browser", tools::set_up_browser),
    Step {
        name: "test",
        needs: Needs::Nothing,
        work: Work::Loud(&["test", "--workspace", "--no-fail-fast"]),
    },
    consort("scenarios", Needs::Nothing, &["scenario", "scenarios"]),
    VALGRIND,
    look("counts", counts::look),
    consort(
        "bench jct-philly",
        BENCH_DATA,
        &["bench", "jct-philly", "--case", "half", "--case", "full", "--check"],
    ),
    consort("bench jct-itp", BENCH_DATA, &["bench", "jct-itp", "--check"]),
    consort("bench tiresias", BENCH_DATA, &["bench", "tiresias", "--check"]),
    consort("bench frag-openb", BENCH_DATA, &["bench", "frag-openb", "--case", "default", "--check"]),
];

/// The steps of `cargo xtask check`.
pub fn check() -> Vec<Step> {
    CHECK.to_vec()
}

/// The steps of `cargo xtask test`.
pub fn test() -> Vec<Step> {
    [CHECK, TEST].concat()
}

/// The steps of `cargo xtask counts`.
pub fn counts(bless: bool) -> Vec<Step> {
    vec![VALGRIND, if bless { look("bless", counts::bless) } else { look("counts", counts::look) }]
}

const fn look(name: &'static str, work: fn(&Project) -> Result<Verdict, Fault>) -> Step {
    Step { name, needs: Needs::Nothing, work: Work::Look(work) }
}

const fn quiet(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { name, needs: Needs::Nothing, work: Work::Quiet(arguments) }
}

const fn consort(name: &'static str, needs: Needs, arguments: &'static [&'static str]) -> Step {
    Step { name, needs, work: Work::Consort(arguments) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = test().iter().map(|step| step.name).collect();
        assert_eq!(names.len(), test().len());
    }

    #[test]
    fn test_begins_with_check() {
        let name = |step: &Step| step.name;
        let check: Vec<&str> = check().iter().map(name).collect();
        let test: Vec<&str> = test().iter().map(name).collect();
        assert!(test.starts_with(&check));
        assert!(test.len() > check.len());
    }

    #[test]
    fn benchmarks_need_their_data() {
        for step in test().iter().filter(|step| step.name.starts_with("bench ")) {
            assert!(matches!(step.needs, Needs::Variable("CONSORT_BENCH_DATA")), "{}", step.name);
        }
    }
}
