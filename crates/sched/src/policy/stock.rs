//! The policies that come with the house, by name. All use consolidated placement and start elastic asks as wide
//! as fits; they differ in who goes first and who may take from whom. A tenant's guarantee is never taken from under any
//! of them; under `priority` alone it can also be taken back.

use super::order::*;
use super::{Pipeline, Place, Policy, Reclaim, place, reclaim, size};
use std::sync::Arc;

/// A named combination and what it is good for.
pub struct Stock {
    /// What people type.
    pub name: &'static str,
    /// One line for `consort policies`.
    pub about: &'static str,
    make: fn() -> Opinions,
}

/// Who goes first, and who may take from whom.
type Opinions = (Box<dyn Order>, Vec<Box<dyn Reclaim>>);

impl Stock {
    /// Builds it.
    pub fn policy(&self) -> Arc<dyn Policy> {
        self.policy_with(Box::new(place::Consolidated))
    }

    /// Builds it with another placement.
    pub fn policy_with(&self, place: Box<dyn Place>) -> Arc<dyn Policy> {
        let (order, reclaim) = (self.make)();
        Arc::new(Pipeline { name: self.name.into(), order, size: Box::new(size::Widest), place, reclaim })
    }
}

fn by_claim() -> Vec<Box<dyn Reclaim>> {
    vec![Box::new(reclaim::Priority), Box::new(reclaim::Guarantee)]
}

fn by_level() -> Vec<Box<dyn Reclaim>> {
    vec![Box::new(reclaim::Level)]
}

/// All of them, the plainest first.
pub const ALL: &[Stock] = &[
    Stock {
        name: "fifo",
        about: "first come, first served; nothing is taken back",
        make: || (Box::new(Fifo), vec![]),
    },
    Stock {
        name: "priority",
        about: "firmer class and higher priority first, then first come; these and unmet guarantees take back devices",
        make: || (Box::new(Priority), by_claim()),
    },
    Stock {
        name: "fair",
        about: "least dominant share first, within a tenant firmer class and higher priority, then first come",
        make: || (Box::new(Fair), vec![]),
    },
    Stock {
        name: "shortest",
        about: "shortest declared estimate first",
        make: || (Box::new(Shortest), vec![]),
    },
    Stock {
        name: "qssf",
        about: "smallest estimate times width first (Helios' quasi-shortest-service-first)",
        make: || (Box::new(ShortestArea), vec![]),
    },
    Stock {
        name: "shortest-remaining",
        about: "least time left first, preemptive; needs estimates",
        make: || (Box::new(ShortestRemaining), by_level()),
    },
    Stock {
        name: "las",
        about: "least attained device-time first, preemptive, no estimates needed (Tiresias)",
        make: || (Box::new(LeastAttained::default()), by_level()),
    },
    Stock {
        name: "deadline",
        about: "earliest deadline first, preemptive",
        make: || (Box::new(Deadline), by_level()),
    },
];

/// One of them by name.
pub fn find(name: &str) -> Option<&'static Stock> {
    ALL.iter().find(|stock| stock.name == name)
}

/// What is used when nobody names one.
pub fn standard() -> &'static Stock {
    find("priority").expect("it is in the list")
}
