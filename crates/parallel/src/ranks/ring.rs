//! A ring of hosts: how good it is, and who looks for it.
//!
//! A ring is as fast as its slowest link, so that link comes first; among rings with the same slowest link the one whose
//! links are fastest in sum is better: the smallest sum of 1/bandwidth, which is the time that a byte takes all the way
//! around. Direction matters where a pair is faster one way than the other.

use super::Refusal;
use super::{bound, exact, search};
use crate::Answer;
use serde::Serialize;

/// Up to so many hosts every ring is looked at. Time and memory double with each further host.
pub const EXHAUSTIVE: usize = 16;

/// A ring of hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ring {
    /// Every host once; the last is followed by the first.
    pub order: Vec<usize>,
    /// The slowest link, in bytes per second.
    pub bottleneck: f64,
    /// One byte all the way around, in seconds: the sum of 1/bandwidth.
    pub around_s: f64,
    /// No ring whose slowest link is as fast gets a byte around sooner.
    pub around_bound_s: f64,
}

/// The slowest link and the time around.
pub fn figures(order: &[usize], speed: impl Fn(usize, usize) -> f64) -> (f64, f64) {
    let next = order.iter().cycle().skip(1);
    let links = order.iter().zip(next).map(|(&from, &to)| speed(from, to));
    links.fold((f64::INFINITY, 0.0), |(slowest, around), link| (link.min(slowest), around + 1.0 / link))
}

/// The best ring through all hosts of a table of speeds: rows from, columns to. What is not above zero is no link; what
/// is on the diagonal means nothing. At least two hosts. `start` is a good order where one is known.
pub fn ring(table: &[Vec<f64>], start: Option<&[usize]>) -> Result<Answer<Ring>, Refusal> {
    let count = table.len();
    if count < 2 || table.iter().any(|row| row.len() != count) {
        return Err(Refusal::Table(count));
    }
    if let Some(host) = (0..count).find(|&host| !has_both(table, host)) {
        return Err(Refusal::DeadEnd(host));
    }
    if count <= EXHAUSTIVE {
        return exact::ring(table);
    }
    let ceiling = bound::bottleneck(table).ok_or(Refusal::NoRing)?;
    let (order, tried) = search::ring(table, ceiling.value, start);
    let (bottleneck, around_s) = figures(&order, |from, to| table[from][to].max(0.0));
    if bottleneck <= 0.0 {
        return Err(Refusal::NoRing);
    }
    let around_bound_s = bound::around(table, bottleneck).min(around_s);
    Ok(Answer {
        plan: Ring { order, bottleneck, around_s, around_bound_s },
        objective: bottleneck,
        unit: "bytes/s",
        bound: ceiling.value.max(bottleneck),
        bound_by: ceiling.by.into(),
        assumed: vec![],
        tried,
    })
}

/// Whether a host can be reached and left.
fn has_both(table: &[Vec<f64>], host: usize) -> bool {
    let others = || (0..table.len()).filter(|&other| other != host);
    others().any(|other| table[host][other] > 0.0) && others().any(|other| table[other][host] > 0.0)
}
