//! All opinions in turn: list schedulers, the guard of one device, the search, and for small work the proof.
//!
//! Whatever is found, the shortest counts, so the answer is never worse than HEFT, PEFT or one device. The effort is a
//! number of tasks and edges decoded, not of seconds, so that the same work gives the same plan everywhere.

use super::bound::{self, Bound};
use super::draft::Schedule;
use super::exhaust;
use super::heft;
use super::lookahead;
use super::packed;
use super::peft;
use super::problem::Problem;
use super::rank::{self, Means};
use super::search::{self, Effort, is_proven};
use super::single;
use super::tidy;

/// The best plan and what it was compared with.
pub struct Solved {
    /// The best, or what the policy asks for.
    pub schedule: Schedule,
    /// By whom.
    pub by: &'static str,
    /// Length of HEFT's; `None` where it finds none.
    pub heft: Option<f64>,
    /// Length of PEFT's; `None` where it finds none.
    pub peft: Option<f64>,
    /// The best single device and its length; `None` where no device can do everything.
    pub single: Option<(usize, f64)>,
    /// What no plan can beat.
    pub bound: f64,
    /// The argument.
    pub bound_by: &'static str,
    /// Candidates and nodes looked at.
    pub tried: u64,
}

/// Whose plan is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// HEFT's, whatever it is worth.
    Heft,
    /// PEFT's, whatever it is worth.
    Peft,
    /// The best that is found.
    #[default]
    Best,
}

/// Solves it, or names the task for which no device was left.
pub fn solve(problem: &Problem, policy: Policy, patience: f64) -> Result<Solved, usize> {
    let means = Means::new(problem);
    let order = rank::by_urgency(problem, &rank::upward(problem, &means));
    let (heft, peft) = (heft::in_order(problem, &order), peft::peft(problem, &means));
    let single = single::single(problem);
    let bound = bound::bound(problem);
    let lengths = (heft.as_ref().ok().map(|made| made.length), peft.as_ref().ok().map(|made| made.length));
    let alone = single.as_ref().map(|(device, made)| (*device, made.length));
    let done = |schedule: Schedule, by, bound: f64, bound_by, tried| Solved {
        // Sums in another order may differ in the last digit.
        bound: bound.min(schedule.length),
        schedule,
        by,
        heft: lengths.0,
        peft: lengths.1,
        single: alone,
        bound_by,
        tried,
    };
    match policy {
        Policy::Heft => return heft.map(|made| done(made, "heft", bound.value, bound.by, 1)),
        Policy::Peft => return peft.map(|made| done(made, "peft", bound.value, bound.by, 1)),
        Policy::Best => (),
    }
    let left_over = heft.as_ref().err().copied();
    let mut starts: Vec<(Schedule, &'static str)> = vec![];
    starts.extend(heft.ok().map(|made| (made, "heft")));
    starts.extend(peft.ok().map(|made| (made, "peft")));
    starts.extend(single.map(|(_, made)| (made, "one device")));
    starts.extend(others(problem, &means, &order));
    starts.sort_by(|one, other| one.0.length.total_cmp(&other.0.length));
    let (mut best, mut by, mut tried) = match starts.first() {
        Some((made, by)) => (Some(made.clone()), *by, starts.len() as u64),
        None => (None, "search", 0),
    };
    if let Some(first) = &best
        && !is_proven(first.length, bound.value)
    {
        let starts: Vec<Schedule> = starts.into_iter().map(|start| start.0).collect();
        let (found, candidates) = search::search(problem, &bound, &starts, effort(problem, patience));
        tried += candidates;
        if found.length < first.length {
            (best, by) = (Some(found), "search");
        }
    }
    let known = best.as_ref().map_or(f64::INFINITY, |best| best.length);
    let (mut value, mut argument) = (bound.value, bound.by);
    if !is_proven(known, bound.value) && problem.tasks <= exhaust::TASKS {
        let outcome = exhaust::exhaust(problem, &bound, known, nodes(problem, patience));
        tried += outcome.nodes;
        if let Some(found) = outcome.found {
            (best, by) = (Some(found), "exhaustive search");
        }
        if outcome.is_complete
            && let Some(best) = &best
        {
            (value, argument) = (best.length, "search was exhaustive");
        }
    }
    let best = best.ok_or(left_over.unwrap_or(0))?;
    Ok(done(best, by, value, argument, tried))
}

/// Starts beside the well-known ones.
fn others(problem: &Problem, means: &Means, order: &[usize]) -> Vec<(Schedule, &'static str)> {
    let mut found = vec![];
    let devices = problem.devices;
    if problem.before.count().saturating_mul(devices * devices) <= LOOKAHEAD {
        found.extend(lookahead::lookahead(problem, order).ok().map(|made| (made, "look-ahead")));
    }
    if problem.before.count() <= FUSED {
        found.extend(tidy::fused(problem).map(|made| (made, "chains fused")));
    }
    if !problem.is_joined() {
        found.extend(single::in_groups(problem, means).ok().map(|made| (made, "devices that can talk")));
    }
    found.extend(packed::packed(problem, order).ok().map(|made| (made, "memory first")));
    found
}

/// Most edges times pairs of devices for which HEFT looks ahead.
const LOOKAHEAD: usize = 60_000;
/// Most edges for which chains are fused.
const FUSED: usize = 4_000;

/// Tasks and edges decoded by the search, at most, for small and for large work.
const SMALL: f64 = 2.4e6;
const LARGE: f64 = 1.0e6;

fn effort(problem: &Problem, patience: f64) -> Effort {
    let size = (problem.tasks + problem.before.count()) as f64;
    let units = if size < 500.0 { SMALL } else { LARGE };
    let candidates = (patience * units / (size + 10.0)) as u64;
    Effort { candidates, rounds: (candidates / 400).clamp(1, 8) }
}

/// Nodes of the exhaustive search: each costs about as much as all edges and pairs of devices.
fn nodes(problem: &Problem, patience: f64) -> u64 {
    let each = (problem.tasks + problem.before.count() * problem.devices) * problem.devices;
    (patience * 4e6 / (each as f64 + 100.0)) as u64
}

/// The bound of a solved problem, for those that only want to know it.
pub fn bound_of(problem: &Problem) -> Bound {
    bound::bound(problem)
}
