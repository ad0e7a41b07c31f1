//! The policies that a program knows, by name. A value, not a table: a program adds its own to the stock ones and hands
//! the registry to the command line, the daemon, the simulator and the swarm.
//!
//! An entry is a pipeline, which takes any placement (`fifo/spread`), or any other [`Policy`], which chooses devices itself
//! and takes none.

use super::stock::{self, Placing};
use super::{Order, Pipeline, Policy, Reclaim, Size, size};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Policies by name.
#[derive(Clone)]
pub struct Registry {
    entries: Vec<Entry>,
    /// Position of what is used when no policy is named.
    standard: usize,
}

impl Registry {
    /// The stock policies; `priority` is the standard one.
    pub fn stock() -> Self {
        let entries = stock::entries();
        let standard =
            entries.iter().position(|entry| entry.name == stock::STANDARD).expect("it is in the list");
        Registry { entries, standard }
    }

    /// One policy and no other, which is then the standard one.
    pub fn only(entry: Entry) -> Self {
        Registry { entries: vec![], standard: 0 }.with(entry)
    }

    /// One more. Its name must be free, because journals and scripts know policies by name.
    ///
    /// # Panics
    /// If the name is taken, empty, or has something in it that cannot be typed behind `--policy`.
    #[must_use]
    pub fn with(mut self, entry: Entry) -> Self {
        let name = &*entry.name;
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.' | '+');
        assert!(!name.is_empty() && name.chars().all(is_plain), "`{name}` cannot be the name of a policy");
        assert!(self.entries.iter().all(|known| known.name != name), "there is a policy `{name}` already");
        assert!(stock::PLACES.iter().all(|place| place.name != name), "`{name}` is the name of a placement");
        self.entries.push(entry);
        self
    }

    /// All of them, in the order in which they were added.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.name)
    }

    /// What is used when no policy is named.
    pub fn standard(&self) -> &Entry {
        &self.entries[self.standard]
    }

    /// One by name, with or without a placement: `fifo`, `fifo/spread`.
    pub fn find(&self, name: &str) -> Result<Entry, NotFound> {
        let (policy, place) = match name.split_once('/') {
            Some((policy, place)) => (policy, Some(place)),
            None => (name, None),
        };
        let Some(entry) = self.entries.iter().find(|entry| entry.name == policy) else {
            let is_place = stock::PLACES.iter().any(|placing| placing.name == policy);
            return Err(if is_place {
                NotFound::IsPlacement(policy.into())
            } else {
                NotFound::Policy(policy.into())
            });
        };
        let Some(place) = place else { return Ok(entry.clone()) };
        if !entry.takes_placement() {
            return Err(NotFound::TakesNone { policy: policy.into(), place: place.into() });
        }
        let Some(place) = stock::PLACES.iter().find(|placing| placing.name == place) else {
            return Err(NotFound::Placement(place.into()));
        };
        Ok(Entry { name: Cow::Owned(name.into()), ..entry.placed(place) })
    }
}

/// Why there is no such policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// No policy has this name.
    Policy(String),
    /// No placement has this name.
    Placement(String),
    /// It is the name of a placement.
    IsPlacement(String),
    /// The policy chooses devices itself.
    TakesNone {
        /// Its name.
        policy: String,
        /// What was written behind it.
        place: String,
    },
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotFound::Policy(name) => write!(f, "unknown policy `{name}`"),
            NotFound::Placement(name) => write!(f, "unknown placement `{name}`"),
            NotFound::IsPlacement(name) => write!(f, "`{name}` is a placement, not a policy"),
            NotFound::TakesNone { policy, place } => {
                write!(f, "`{policy}` chooses devices itself and takes no placement such as `{place}`")
            }
        }
    }
}

/// A policy with a name.
#[derive(Clone)]
pub struct Entry {
    /// What people type.
    pub name: Cow<'static, str>,
    /// One line for `consort policies`.
    pub about: Cow<'static, str>,
    make: Make,
}

#[derive(Clone)]
enum Make {
    Pipeline { opinions: Arc<dyn Fn() -> Opinions + Send + Sync>, place: &'static Placing, is_placed: bool },
    Whole(Arc<dyn Fn(u64) -> Arc<dyn Policy> + Send + Sync>),
}

impl Entry {
    /// Any policy, under the name that it gives itself. `make` gets a seed for what it leaves to chance, and must give the
    /// same policy for the same seed.
    pub fn new<P: Policy + 'static>(
        about: impl Into<Cow<'static, str>>,
        make: impl Fn(u64) -> P + Send + Sync + 'static,
    ) -> Self {
        let name = Cow::Owned(make(1).name().to_owned());
        let make = Arc::new(move |seed| Arc::new(make(seed)) as Arc<dyn Policy>);
        Entry { name, about: about.into(), make: Make::Whole(make) }
    }

    /// A pipeline of these opinions, which can be combined with every placement.
    pub fn pipeline(
        name: impl Into<Cow<'static, str>>,
        about: impl Into<Cow<'static, str>>,
        opinions: impl Fn() -> Opinions + Send + Sync + 'static,
    ) -> Self {
        let make =
            Make::Pipeline { opinions: Arc::new(opinions), place: &stock::PLACES[0], is_placed: false };
        Entry { name: name.into(), about: about.into(), make }
    }

    /// Builds it.
    pub fn policy(&self) -> Arc<dyn Policy> {
        self.seeded(1)
    }

    /// Builds it with other dice, where it throws some.
    pub fn seeded(&self, seed: u64) -> Arc<dyn Policy> {
        match &self.make {
            Make::Whole(make) => make(seed),
            Make::Pipeline { opinions, place, .. } => {
                let Opinions { order, size, reclaim } = opinions();
                let (name, place) = (self.name.to_string(), place.place(seed));
                Arc::new(Pipeline { name, order, size, place, reclaim })
            }
        }
    }

    /// The same, placed so, unless its name already says how or it chooses devices itself.
    pub fn placed(&self, place: &'static Placing) -> Entry {
        let mut entry = self.clone();
        if let Make::Pipeline { place: old, is_placed, .. } = &mut entry.make
            && !*is_placed
        {
            (*old, *is_placed) = (place, true);
        }
        entry
    }

    /// Whether it is a pipeline, which can be combined with a placement.
    pub fn takes_placement(&self) -> bool {
        matches!(self.make, Make::Pipeline { .. })
    }
}

/// What a pipeline is made of, but for the placement.
pub struct Opinions {
    order: Arc<dyn Order>,
    size: Box<dyn Size>,
    reclaim: Vec<Box<dyn Reclaim>>,
}

impl Opinions {
    /// In this order, as wide as fits; nothing is preempted.
    pub fn by(order: impl Order + 'static) -> Self {
        Opinions { order: Arc::new(order), size: Box::new(size::Widest), reclaim: vec![] }
    }

    /// With other widths.
    #[must_use]
    pub fn sized(self, size: impl Size + 'static) -> Self {
        Opinions { size: Box::new(size), ..self }
    }

    /// With one more rule by which an ask may preempt another.
    #[must_use]
    pub fn reclaiming(mut self, rule: impl Reclaim + 'static) -> Self {
        self.reclaim.push(Box::new(rule));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Draft;
    use crate::policy::order::Fifo;

    struct Idle;

    impl Policy for Idle {
        fn name(&self) -> &str {
            "idle"
        }
        fn fill(&self, _draft: &mut Draft<'_>) {}
    }

    fn idle() -> Entry {
        Entry::new("starts nothing", |_seed| Idle)
    }

    #[test]
    fn an_entry_of_ones_own_is_found_beside_the_stock_ones() {
        let registry =
            Registry::stock().with(idle()).with(Entry::pipeline("mine", "fifo again", || Opinions::by(Fifo)));
        assert_eq!(registry.find("idle").map(|entry| entry.policy().name().to_owned()), Ok("idle".into()));
        assert_eq!(
            registry.find("mine/spread").map(|entry| entry.policy().name().to_owned()),
            Ok("mine/spread".into())
        );
        assert_eq!(registry.standard().name, "priority");
        assert_eq!(Registry::only(idle()).standard().name, "idle");
    }

    #[test]
    fn what_is_not_found_says_why() {
        let registry = Registry::stock().with(idle());
        let why = |name: &str| registry.find(name).err().map(|why| why.to_string()).unwrap_or_default();
        assert_eq!(
            why("idle/spread"),
            "`idle` chooses devices itself and takes no placement such as `spread`"
        );
        assert_eq!(why("fifo/moon"), "unknown placement `moon`");
        assert_eq!(why("moon/spread"), "unknown policy `moon`");
        assert_eq!(why("spread"), "`spread` is a placement, not a policy");
    }

    #[test]
    fn a_placement_is_said_once() {
        let spread = stock::PLACES.iter().find(|place| place.name == "spread").unwrap();
        let registry = Registry::stock().with(idle());
        for (name, place) in [("fifo", "spread"), ("fifo/fgd", "fgd")] {
            let Make::Pipeline { place: found, .. } = registry.find(name).unwrap().placed(spread).make else {
                panic!()
            };
            assert_eq!(found.name, place);
        }
        assert!(!registry.find("idle").unwrap().placed(spread).takes_placement());
    }

    #[test]
    #[should_panic(expected = "there is a policy `fifo` already")]
    fn a_name_is_given_once() {
        let _ = Registry::stock().with(Entry::pipeline("fifo", "another", || Opinions::by(Fifo)));
    }

    #[test]
    #[should_panic(expected = "cannot be the name of a policy")]
    fn a_name_can_be_typed() {
        let _ = Registry::stock().with(Entry::pipeline("fifo/spread", "another", || Opinions::by(Fifo)));
    }
}
