//! Why no order of ranks is planned.

use crate::fabric::Flaw;
use std::fmt;

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The fabric does not fit together.
    Fabric(Flaw),
    /// A table of speeds for so few hosts, or one that is not square.
    Table(usize),
    /// A speed that is no number, from one host to another.
    Speed(usize, usize),
    /// A host that cannot be reached or left.
    DeadEnd(usize),
    /// Links that hold no ring through all hosts.
    NoRing,
    /// More ranks than anybody plans.
    TooManyRanks(u64),
    /// A size of nothing.
    Nothing(&'static str),
    /// Sizes that do not divide the devices.
    Sizes {
        /// Which one is to be changed.
        group: &'static str,
        /// What was asked for.
        asked: u64,
        /// Devices that it would have to divide.
        left: u64,
        /// What those are, in words: `64 devices`, `64 devices over tensor 8`.
        what: String,
        /// Sizes that would do.
        would: Vec<u64>,
    },
    /// A group that would leave its island.
    Island {
        /// `tensor`, `tensor times expert`
        group: &'static str,
        /// What was asked for.
        asked: u64,
        /// Devices of the smallest island.
        island: u64,
        /// Sizes that would do.
        would: Vec<u64>,
    },
    /// Hosts of an island across hosts that do not divide into groups.
    Uneven {
        /// The domain.
        domain: String,
        /// How many hosts it has.
        hosts: usize,
        /// How many each group takes.
        each: usize,
    },
}

fn listed(sizes: &[u64]) -> String {
    let shown: Vec<String> = sizes.iter().map(u64::to_string).collect();
    match &shown[..] {
        [] => "no other size".into(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Fabric(flaw) => flaw.fmt(f),
            Refusal::Table(hosts) => {
                write!(
                    f,
                    "a table of {hosts} rows is not a table of speeds; give a row and a column for each of two or more hosts"
                )
            }
            Refusal::Speed(from, to) => {
                write!(
                    f,
                    "the speed from host {from} to host {to} is not a number; give one, or 0 for no link"
                )
            }
            Refusal::DeadEnd(host) => {
                write!(f, "host {host} cannot be reached or cannot be left; give it links in both directions")
            }
            Refusal::NoRing => {
                write!(f, "no ring passes through all hosts; give more of the links between them")
            }
            Refusal::TooManyRanks(ranks) => {
                write!(f, "{ranks} ranks are too many to plan; take at most {}", super::layout::MOST_RANKS)
            }
            Refusal::Nothing(group) => write!(f, "{group} must be at least 1"),
            Refusal::Sizes { group, asked, left, what, would } => {
                let times = if *asked > *left { "is more than" } else { "does not divide" };
                write!(f, "{group} {asked} {times} the {what}; choose {group} {}", listed(would))
            }
            Refusal::Island { group, asked, island, would } => write!(
                f,
                "{group} {asked} does not divide an island of {island} devices, which such groups must not leave; choose {}",
                listed(would)
            ),
            Refusal::Uneven { domain, hosts, each } => write!(
                f,
                "the {hosts} hosts of {domain} do not divide into groups of {each} hosts; leave {} out or choose smaller groups",
                hosts % each
            ),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Flaw> for Refusal {
    fn from(flaw: Flaw) -> Self {
        Refusal::Fabric(flaw)
    }
}
