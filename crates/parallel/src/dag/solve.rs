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
    let mut solved = Solved {
        schedule: Schedule::default(),
        by: "",
        heft: heft.as_ref().ok().map(|made| made.length),
        peft: peft.as_ref().ok().map(|made| made.length),
        single: single.as_ref().map(|(device, made)| (*device, made.length)),
        bound: bound.value,
        bound_by: bound.by,
        tried: 1,
    };
    match policy {
        Policy::Heft => (solved.schedule, solved.by) = (heft?, "heft"),
        Policy::Peft => (solved.schedule, solved.by) = (peft?, "peft"),
        Policy::Best => {
            let left_over = heft.as_ref().err().copied().unwrap_or(0);
            let mut starts: Vec<(Schedule, &'static str)> = vec![];
            starts.extend(heft.ok().map(|made| (made, "heft")));
            starts.extend(peft.ok().map(|made| (made, "peft")));
            starts.extend(single.map(|(_, made)| (made, "one device")));
            starts.extend(others(problem, &means, &order));
            starts.sort_by(|one, other| one.0.length.total_cmp(&other.0.length));
            improve(problem, &bound, starts, patience, &mut solved).ok_or(left_over)?;
        }
    }
    // Sums in another order may differ in the last digit.
    solved.bound = solved.bound.min(solved.schedule.length);
    Ok(solved)
}

/// The best that searching finds: first for a short while, then completely where that is possible, then for longer.
fn improve(
    problem: &Problem,
    bound: &Bound,
    starts: Vec<(Schedule, &'static str)>,
    patience: f64,
    solved: &mut Solved,
) -> Option<()> {
    solved.tried = starts.len() as u64;
    let (mut starts, names): (Vec<Schedule>, Vec<&'static str>) = starts.into_iter().unzip();
    solved.schedule.length = f64::INFINITY;
    if let Some(first) = starts.first() {
        (solved.schedule, solved.by) = (first.clone(), names[0]);
    }
    let whole = candidates(problem, patience);
    let is_small = problem.tasks <= exhaust::TASKS;
    let parts: &[u64] = if is_small { &[1, 7] } else { &[8] };
    for (round, part) in parts.iter().enumerate() {
        if is_proven(solved.schedule.length, solved.bound) {
            break;
        }
        if !starts.is_empty() {
            let candidates = whole * part / 8;
            let effort =
                Effort { candidates, rounds: (candidates / EACH_ROUND).clamp(1, ROUNDS), seed: round as u64 };
            let (found, tried) = search::search(problem, bound, &starts, effort);
            solved.tried += tried;
            if found.length < solved.schedule.length {
                (solved.schedule, solved.by) = (found, "search");
                starts.insert(0, solved.schedule.clone());
            }
        }
        if round == 0 && is_small && !is_proven(solved.schedule.length, solved.bound) {
            let outcome = exhaust::exhaust(problem, bound, solved.schedule.length, nodes(problem, patience));
            solved.tried += outcome.nodes;
            if let Some(found) = outcome.found {
                (solved.schedule, solved.by) = (found, "exhaustive search");
                starts.insert(0, solved.schedule.clone());
            }
            if outcome.is_complete {
                (solved.bound, solved.bound_by) = (solved.schedule.length, "search was exhaustive");
            }
        }
    }
    solved.schedule.length.is_finite().then_some(())
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

/// Tasks and edges decoded by the search, at most: of work that is searched completely beside, and of other work.
const DECODED_SMALL: f64 = 4e6;
const DECODED: f64 = 7e6;
/// The size in tasks and edges up to which that holds; larger work gets less.
const LARGE: f64 = 1_500.0;

/// Candidates in one round of the search, and most rounds.
const EACH_ROUND: u64 = 400;
const ROUNDS: u64 = 24;

fn candidates(problem: &Problem, patience: f64) -> u64 {
    let size = (problem.tasks + problem.before.count()) as f64;
    let shrink = if size > LARGE { libm::pow(LARGE / size, 1.5) } else { 1.0 };
    let decoded = if problem.tasks <= exhaust::TASKS { DECODED_SMALL } else { DECODED };
    (patience * shrink * decoded / (size + 40.0)) as u64
}

/// Nodes of the exhaustive search: each costs about as much as all edges and pairs of devices.
fn nodes(problem: &Problem, patience: f64) -> u64 {
    let each = (problem.tasks + problem.before.count() * problem.devices) * problem.devices;
    (patience * 1.5e7 / (each as f64 + 200.0)) as u64
}
