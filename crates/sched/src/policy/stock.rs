//! The policies that come with the house, by name: `fifo`, or with another placement than the consolidated one,
//! `fifo/spread`. All start elastic asks as wide as fits; they differ in who goes first and who may preempt whom. None
//! preempts what a tenant holds within its guarantee, unless as part of a gang that reaches beyond it; under `priority`
//! alone a tenant below its guarantee preempts others.

use super::order::*;
use super::{Pipeline, Place, Policy, Reclaim, place, reclaim, size};
use std::borrow::Cow;
use std::sync::Arc;

/// A named combination and what it is good for.
#[derive(Clone)]
pub struct Stock {
    /// What people type.
    pub name: Cow<'static, str>,
    /// One line for `consort policies`.
    pub about: &'static str,
    make: fn() -> Opinions,
    place: &'static Placing,
}

/// Who goes first, and who may take from whom.
type Opinions = (Box<dyn Order>, Vec<Box<dyn Reclaim>>);

impl Stock {
    /// Builds it.
    pub fn policy(&self) -> Arc<dyn Policy> {
        self.seeded(1)
    }

    /// Builds it with other dice, where its placement throws some.
    pub fn seeded(&self, seed: u64) -> Arc<dyn Policy> {
        self.policy_with(self.place.place(seed))
    }

    /// The same, placed so unless its name already says how.
    pub fn placed(&self, place: &'static Placing) -> Stock {
        let place = if self.name.contains('/') { self.place } else { place };
        Stock { place, ..self.clone() }
    }

    /// Builds it with another placement.
    pub fn policy_with(&self, place: Box<dyn Place>) -> Arc<dyn Policy> {
        let (order, reclaim) = (self.make)();
        Arc::new(Pipeline {
            name: self.name.to_string(),
            order,
            size: Box::new(size::Widest),
            place,
            reclaim,
        })
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
        name: Cow::Borrowed("fifo"),
        about: "first come, first served; nothing is taken back",
        make: || (Box::new(Fifo), vec![]),
        place: &PLACES[0],
    },
    Stock {
        name: Cow::Borrowed("priority"),
        about: "firmer class and higher priority first, then first come; these and unmet guarantees take back devices",
        make: || (Box::new(Priority), by_claim()),
        place: &PLACES[0],
    },
    Stock {
        name: Cow::Borrowed("fair"),
        about: "least dominant share first, within a tenant firmer class and higher priority, then first come",
        make: || (Box::new(Fair), vec![]),
        place: &PLACES[0],
    },
    Stock {
        name: Cow::Borrowed("shortest"),
        about: "shortest declared estimate first",
        make: || (Box::new(Shortest), vec![]),
        place: &PLACES[0],
    },
    Stock {
        name: Cow::Borrowed("qssf"),
        about: "smallest estimate times width first (Helios' quasi-shortest-service-first)",
        make: || (Box::new(ShortestArea), vec![]),
        place: &PLACES[0],
    },
    Stock {
        name: Cow::Borrowed("shortest-remaining"),
        about: "least time left first, preemptive; needs estimates",
        make: || (Box::new(ShortestRemaining), by_level()),
        place: &PLACES[0],
    },
    Stock {
        name: Cow::Borrowed("las"),
        about: "least attained device-time first, preemptive, no estimates needed (Tiresias)",
        make: || (Box::new(LeastAttained::default()), by_level()),
        place: &PLACES[0],
    },
    Stock {
        name: Cow::Borrowed("deadline"),
        about: "earliest deadline first, preemptive",
        make: || (Box::new(Deadline), by_level()),
        place: &PLACES[0],
    },
];

/// A named opinion on where.
pub struct Placing {
    /// What people type.
    pub name: &'static str,
    /// One line for `consort policies`.
    pub about: &'static str,
    make: fn(u64) -> Box<dyn Place>,
}

impl Placing {
    /// Builds it; the seed is for those that throw dice.
    pub fn place(&self, seed: u64) -> Box<dyn Place> {
        (self.make)(seed)
    }
}

/// All of them, the default first.
pub const PLACES: &[Placing] = &[
    Placing {
        name: "consolidated",
        about: "the smallest part of the topology that holds it, on as few nodes as possible",
        make: |_| Box::new(place::Consolidated),
    },
    Placing {
        name: "best-fit",
        about: "each member on the node with the fewest free devices that still holds it",
        make: |_| Box::new(place::BestFit),
    },
    Placing {
        name: "spread",
        about: "members on as many nodes as there are, the emptiest first",
        make: |_| Box::new(place::Spread),
    },
    Placing {
        name: "fgd",
        about: "where the least becomes useless for what living jobs ask for (least growth of fragments)",
        make: |_| Box::new(place::LeastFragments::default()),
    },
    Placing {
        name: "random",
        about: "any node that has room; a baseline",
        make: |seed| Box::new(place::Random { seed }),
    },
];

/// One of them by name.
pub fn find(name: &str) -> Option<Stock> {
    let (order, place) = name.split_once('/').unwrap_or((name, PLACES[0].name));
    let stock = ALL.iter().find(|stock| stock.name == order)?;
    let place = PLACES.iter().find(|placing| placing.name == place)?;
    Some(Stock { name: Cow::Owned(name.into()), place, ..stock.clone() })
}

/// What is used when nobody names one.
pub fn standard() -> &'static Stock {
    ALL.iter().find(|stock| stock.name == "priority").expect("it is in the list")
}
