//! The policies that come with the house, by name: `fifo`, or with another placement than the consolidated one,
//! `fifo/spread`. All start elastic asks as wide as fits; they differ in who goes first and who may preempt whom. None
//! preempts what a tenant holds within its guarantee, unless as part of a gang that reaches beyond it; under `priority`
//! alone a tenant below its guarantee preempts others. A program adds its own with a [`Registry`].

use super::order::*;
use super::registry::{Entry, NotFound, Opinions, Registry};
use super::{Place, place, reclaim};
use std::sync::Arc;

/// What is used when no policy is named.
pub const STANDARD: &str = "priority";

/// All of them, the plainest first.
pub fn entries() -> Vec<Entry> {
    vec![
        Entry::pipeline("fifo", "first come, first served, without preemption", || Opinions::by(Fifo)),
        Entry::pipeline(
            "priority",
            "by class and priority, then first come, first served; preempts for these and for unmet guarantees",
            || Opinions::by(Priority).reclaiming(reclaim::Priority).reclaiming(reclaim::Guarantee),
        ),
        Entry::pipeline(
            "fair",
            "tenant with the least dominant share first (DRF), then by class and priority, without preemption",
            || Opinions::by(Fair),
        ),
        Entry::pipeline("shortest", "shortest job first, by declared estimate, without preemption", || {
            Opinions::by(Shortest)
        }),
        Entry::pipeline(
            "qssf",
            "smallest estimate times width first (quasi-shortest-service-first of Helios), without preemption",
            || Opinions::by(ShortestArea),
        ),
        Entry::pipeline(
            "shortest-remaining",
            "shortest remaining time first, preemptive; needs estimates",
            || Opinions::by(ShortestRemaining).reclaiming(reclaim::Level),
        ),
        Entry::pipeline(
            "las",
            "least attained service first (Tiresias), preemptive; needs no estimates",
            || Opinions::by(LeastAttained::default()).reclaiming(reclaim::Level),
        ),
        Entry::pipeline("deadline", "earliest deadline first, preemptive", || {
            Opinions::by(Deadline).reclaiming(reclaim::Level)
        }),
    ]
}

/// A named opinion on where.
pub struct Placing {
    /// What people type.
    pub name: &'static str,
    /// One line for `consort policies`.
    pub about: &'static str,
    make: fn(u64) -> Arc<dyn Place>,
}

impl Placing {
    /// Builds it; the seed is for those that throw dice.
    pub fn place(&self, seed: u64) -> Arc<dyn Place> {
        (self.make)(seed)
    }
}

/// All of them, the default first.
pub const PLACES: &[Placing] = &[
    Placing {
        name: "consolidated",
        about: "in the smallest domain that has room, on as few nodes as possible",
        make: |_| Arc::new(place::Consolidated),
    },
    Placing {
        name: "best-fit",
        about: "each member on the node with the fewest free devices that fits it",
        make: |_| Arc::new(place::BestFit),
    },
    Placing {
        name: "spread",
        about: "on as many nodes as possible, the emptiest first",
        make: |_| Arc::new(place::Spread),
    },
    Placing {
        name: "fgd",
        about: "where fragmentation grows least, for the mix of jobs at hand (fragmentation gradient descent)",
        make: |_| Arc::new(place::LeastFragments::default()),
    },
    Placing {
        name: "random",
        about: "on random nodes that have room; a baseline",
        make: |seed| Arc::new(place::Random { seed }),
    },
];

/// A stock policy by name.
pub fn find(name: &str) -> Result<Entry, NotFound> {
    Registry::stock().find(name)
}

/// The stock policy that is used when none is named.
pub fn standard() -> Entry {
    Registry::stock().standard().clone()
}
