//! Why we will not do what was asked: a rule, a subject, a remedy. Calm, and always with a way on.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A polite no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which rule said no.
    pub rule: Rule,
    /// What was refused, and the fact that the rule found.
    pub subject: String,
    /// What would pass.
    pub remedy: String,
}

impl Refusal {
    /// Writes one.
    pub fn new(rule: Rule, subject: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { rule, subject: subject.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.subject, self.remedy)
    }
}

impl std::error::Error for Refusal {}

/// The rules by which `accept` refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A name that was never declared.
    UnknownName,
    /// A job, node or allocation that is not (or no longer) there.
    NotThere,
    /// News about an attempt that is over, or a thing that was already said.
    Stale,
    /// A request that contradicts itself.
    Malformed,
    /// A number outside what makes sense.
    OutOfRange,
    /// More than this cluster could ever give.
    NeverFits,
    /// More than the tenant's ceiling allows, ever.
    AboveCeiling,
    /// A tenant that may not use this queue.
    NotAllowed,
    /// A change that would pull the ground from under running work.
    InUse,
    /// Not in this state.
    WrongState,
}
