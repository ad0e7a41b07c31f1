//! Why a placement is not planned, in one sentence each.

use std::fmt;

/// Why not.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Neither accelerators nor processors.
    NoDevices,
    /// Nothing to place.
    NoOperators,
    /// More than the planner takes.
    TooMany {
        /// Of what.
        what: &'static str,
        /// The most it takes.
        most: usize,
    },
    /// Memory of an accelerator that is no amount.
    Capacity {
        /// What it is.
        value: f64,
    },
    /// An id used twice.
    Twice {
        /// The id.
        id: i64,
    },
    /// A figure that is no amount.
    Figure {
        /// Whose.
        id: i64,
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// An edge whose end is no operator.
    Dangling {
        /// Counts from 0.
        edge: usize,
    },
    /// Operators that wait for each other.
    Circle {
        /// In the order of the circle.
        ids: Vec<i64>,
    },
    /// An operator for processors only, and there are none.
    NeedsProcessor {
        /// Whose.
        id: i64,
    },
    /// Operators that share a device fit on none.
    FitsNowhere {
        /// One operator, or all of one colour.
        ids: Vec<i64>,
        /// Memory they need together.
        needs: f64,
        /// Memory an accelerator has.
        has: f64,
    },
    /// All memory together is too small.
    Memory {
        /// What all operators need.
        needs: f64,
        /// How many there are.
        accelerators: usize,
        /// What each has.
        has: f64,
    },
    /// Sums would fit, but no way was found to pack the pieces.
    NotPacked {
        /// What all operators need.
        needs: f64,
        /// How many there are.
        accelerators: usize,
        /// What each has.
        has: f64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoDevices => {
                write!(f, "no devices to place on; give at least one accelerator or processor")
            }
            Refusal::NoOperators => write!(f, "no operators to place; give at least one"),
            Refusal::TooMany { what, most } => {
                write!(f, "there are more than {most} {what}; plan by layers or leave some out")
            }
            Refusal::Capacity { value } => {
                write!(f, "the memory of an accelerator is {value}; give bytes, not less than 0")
            }
            Refusal::Twice { id } => write!(f, "duplicate operator {id}; give each a unique id"),
            Refusal::Figure { id, what, value } => {
                write!(f, "the {what} of operator {id} is {value}; give a number that is not negative")
            }
            Refusal::Dangling { edge } => {
                write!(f, "edge {} names an unknown operator; name operators that are listed", edge + 1)
            }
            Refusal::Circle { ids } => {
                let circle: Vec<i64> = ids.iter().chain(ids.first()).copied().collect();
                write!(f, "the operators {} form a cycle; break it", listed(&circle))
            }
            Refusal::NeedsProcessor { id } => {
                write!(
                    f,
                    "operator {id} runs on processors only, and there are none; give at least one processor"
                )
            }
            Refusal::FitsNowhere { ids, needs, has } => {
                let who = match ids.len() {
                    1 => format!("operator {} needs", listed(ids)),
                    _ => format!("the operators {} of one colour need", listed(ids)),
                };
                write!(f, "{who} {needs} bytes on one accelerator and each has {has}; ")?;
                write!(f, "give accelerators of at least {needs} bytes, or a processor")
            }
            Refusal::Memory { needs, accelerators, has } => {
                let each = (needs / *accelerators as f64).ceil();
                write!(
                    f,
                    "the operators need {needs} bytes and {accelerators} accelerators have {has} each; "
                )?;
                write!(f, "give accelerators of at least {each} bytes, or a processor")
            }
            Refusal::NotPacked { needs, accelerators, has } => {
                write!(
                    f,
                    "no way was found to pack operators of {needs} bytes into {accelerators} accelerators "
                )?;
                write!(f, "of {has} bytes; give one accelerator more, or a processor")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// The first few, and how many more.
fn listed(ids: &[i64]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<String> = ids.iter().take(SHOWN).map(i64::to_string).collect();
    match ids.len() > SHOWN {
        true => format!("{} and {} more", shown.join(", "), ids.len() - SHOWN),
        false => shown.join(", "),
    }
}
