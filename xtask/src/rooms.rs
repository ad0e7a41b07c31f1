//! The rooms of the house and the arrows between them.
//!
//! For: one table that says which crates there are, where they live, whether they are pure, and what each may lean on.
//! Promises: the table is a plan, not an inventory: a room that is not built yet may already be in it.
//! Never: looks at the project; `check/arrows` compares the two.

use std::collections::BTreeSet;

/// One crate of the workspace.
pub struct Room {
    /// The short name, as in the architecture page.
    pub name: &'static str,
    /// The name of its package.
    pub package: &'static str,
    /// Its folder, from the root.
    pub folder: &'static str,
    /// No I/O, clock, dice, threads or hash order.
    pub pure: bool,
    /// Nobody ships it: any room that is not pure may use it in its tests, and only there.
    pub for_tests: bool,
    /// The rooms directly below. What is below those is allowed too.
    pub below: &'static [&'static str],
}

/// From the bottom up: a room comes after everything below it.
pub const ROOMS: &[Room] = &[
    pure("types", "consort-types", "crates/types", &[]),
    pure("parallel", "consort-parallel", "crates/parallel", &["types"]),
    // Planners beside known answers; reads data and clocks, so it is not a part of the pure room.
    edge("parallel-bench", "consort-parallel-bench", "crates/parallel/bench", &["parallel"]),
    edge("solve", "consort-solve", "crates/solve", &["types"]),
    pure("federated", "consort-federated", "crates/federated", &["types"]),
    edge("api", "consort-api", "crates/api", &["types"]),
    // Policies that need a linear or integer program do not live in here but in a crate on `sched` and `solve`, which a
    // program adds to its registry: `edge("NAME", ..., &["sched", "solve"])`, and NAME below `cli` if we ship it.
    pure("sched", "consort-sched", "crates/sched", &["parallel"]),
    Room { for_tests: true, ..edge("contract", "consort-contract", "crates/contract", &["sched"]) },
    edge("sim", "consort-sim", "crates/sim", &["sched", "solve"]),
    // The plotting crate stays in there.
    edge("report", "consort-report", "crates/report", &["sim"]),
    edge("learn", "consort-learn", "crates/learn", &["sim"]),
    edge("agent", "consort-agent", "crates/agent", &["api"]),
    // Stands in for a library of a vendor; nothing links it.
    Room { for_tests: true, ..edge("fake-nvml", "consort-fake-nvml", "crates/agent/fake-nvml", &[]) },
    edge("local", "consort-local", "crates/adapters/local", &["agent"]),
    edge("slurm", "consort-slurm", "crates/adapters/slurm", &["agent"]),
    // A real Slurm to try the adapter on; it knows nothing of Consort.
    Room {
        for_tests: true,
        ..edge("slurm-fixture", "consort-slurm-fixture", "crates/adapters/slurm/fixture", &[])
    },
    edge("daemon", "consort-daemon", "crates/daemon", &["sched", "local", "slurm", "federated"]),
    edge("cli", "consort", "crates/cli", &["learn", "report", "daemon", "parallel-bench"]),
    // A program of somebody else: one policy more than ours. Outside `crates`, because nothing of ours may lean on it.
    Room {
        for_tests: true,
        ..edge("joint-policy", "consort-joint-policy", "examples/joint-policy", &["cli"])
    },
    // Leans on no room: the chores must run while a room does not build.
    edge("xtask", "xtask", "xtask", &[]),
];

/// Crates from outside that read a clock, roll dice, start threads or reach a disk or a network. A pure room does not
/// use them, except in its tests. The list holds the likely ones; the bans in clippy.toml catch the rest at the call.
pub const RESTLESS: &[&str] = &[
    "async-std",
    "chrono",
    "crossbeam",
    "fastrand",
    "getrandom",
    "hyper",
    "libc",
    "memmap2",
    "mio",
    "nix",
    "notify",
    "num_cpus",
    "parking_lot",
    "rayon",
    "reqwest",
    "rusqlite",
    "rustix",
    "smol",
    "socket2",
    "sqlx",
    "sysinfo",
    "tempfile",
    "time",
    "tokio",
    "ureq",
    "walkdir",
];

/// The room of a package.
pub fn of_package(package: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.package == package)
}

/// The room of this name. The table names only rooms that are in it: a test holds it to that.
fn named(name: &str) -> &'static Room {
    ROOMS.iter().find(|room| room.name == name).expect("rooms name only rooms of the table")
}

/// Everything below a room, near and far, by name.
pub fn below(room: &Room) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    for &name in room.below {
        all.insert(name);
        all.extend(below(named(name)));
    }
    all
}

const fn pure(
    name: &'static str,
    package: &'static str,
    folder: &'static str,
    below: &'static [&'static str],
) -> Room {
    Room { name, package, folder, pure: true, for_tests: false, below }
}

const fn edge(
    name: &'static str,
    package: &'static str,
    folder: &'static str,
    below: &'static [&'static str],
) -> Room {
    Room { name, package, folder, pure: false, for_tests: false, below }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_so_there_are_no_circles() {
        let mut seen = BTreeSet::new();
        for room in ROOMS {
            assert!(room.below.iter().all(|name| seen.contains(name)), "{} comes too early", room.name);
            assert!(seen.insert(room.name), "{} is there twice", room.name);
        }
    }

    #[test]
    fn pure_rooms_stand_on_pure_rooms() {
        for room in ROOMS.iter().filter(|room| room.pure) {
            assert!(below(room).into_iter().all(|name| named(name).pure), "{}", room.name);
        }
    }

    #[test]
    fn four_rooms_are_pure() {
        let pure: BTreeSet<&str> = ROOMS.iter().filter(|room| room.pure).map(|room| room.name).collect();
        assert_eq!(pure, BTreeSet::from(["types", "parallel", "sched", "federated"]));
    }

    #[test]
    fn the_cli_stands_on_everything_but_the_chores() {
        let shipped = ROOMS.iter().filter(|room| !room.for_tests).map(|room| room.name);
        let all: BTreeSet<&str> = shipped.filter(|name| !["cli", "xtask"].contains(name)).collect();
        assert_eq!(below(named("cli")), all);
    }

    #[test]
    fn nobody_stands_on_what_is_for_tests() {
        for room in ROOMS {
            assert!(below(room).into_iter().all(|name| !named(name).for_tests), "{}", room.name);
        }
    }

    #[test]
    fn a_policy_from_outside_leans_on_the_core_and_a_solver_that_the_core_does_not_reach() {
        let above = below(&edge("packed", "consort-packed", "crates/packed", &["sched", "solve"]));
        assert_eq!(above, BTreeSet::from(["sched", "solve", "parallel", "types"]));
        assert!(!below(named("sched")).contains("solve"));
    }

    #[test]
    fn below_reaches_far() {
        assert_eq!(below(named("sched")), BTreeSet::from(["parallel", "types"]));
    }
}
