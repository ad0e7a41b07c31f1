//! Every schedule worth looking at, for small work: branch and bound that proves what is best.
//!
//! Tasks are put in the order of their starts, each behind what its device already has; every schedule in which nothing
//! could start sooner is reached in exactly one way. A branch is cut when its bound ([`state`]) is no better than the
//! best plan known, when another branch has done the same tasks and is nowhere later ([`seen`]), or when it differs from
//! another only in the names of like devices. The effort is counted in nodes; when the budget is spent, what was found
//! is kept and nothing is claimed. It does badly on many short tasks that do not wait for each other: there the order
//! matters little and there are very many orders.

mod alike;
mod seen;
mod state;
mod tables;

use super::bound::Bound;
use super::draft::Schedule;
use super::problem::Problem;
use seen::Seen;
use state::State;
use tables::Tables;

/// Most tasks for which it is tried.
pub const TASKS: usize = 40;
/// Most edges times pairs of devices for which it is tried.
const PAIRS: usize = 100_000;

/// What came out.
pub struct Outcome {
    /// A schedule better than the one known, if there is one.
    pub found: Option<Schedule>,
    /// Whether nothing better than the best can exist.
    pub is_complete: bool,
    /// How many nodes were looked at.
    pub nodes: u64,
}

/// Looks for something shorter than `known`.
pub fn exhaust(problem: &Problem, bound: &Bound, known: f64, budget: u64) -> Outcome {
    if problem.tasks > TASKS || problem.before.count() * problem.devices * problem.devices > PAIRS {
        return Outcome { found: None, is_complete: false, nodes: 0 };
    }
    let mut search = Search {
        problem,
        tables: Tables::new(problem, bound),
        alike: alike::classes(problem),
        seen: Seen::default(),
        best: known,
        found: None,
        nodes: 0,
        budget,
        scratch: vec![0.0; problem.tasks * problem.devices],
    };
    let is_complete = search.open(&State::new(problem));
    Outcome { found: search.found, is_complete, nodes: search.nodes }
}

struct Search<'a> {
    problem: &'a Problem,
    tables: Tables<'a>,
    alike: Vec<usize>,
    seen: Seen,
    best: f64,
    found: Option<Schedule>,
    nodes: u64,
    budget: u64,
    /// Room for one computation.
    scratch: Vec<f64>,
}

/// Differences below this part of the length are rounding.
const ROUNDING: f64 = 1e-12;

impl Search<'_> {
    /// Opens a node; `false` when the budget ended before everything below it was seen.
    fn open(&mut self, state: &State) -> bool {
        if state.is_done(self.problem) {
            self.best = state.length;
            self.found = Some(state.schedule(self.problem));
            return true;
        }
        if self.nodes >= self.budget {
            return false;
        }
        let mut children: Vec<(f64, State)> = vec![];
        for task in state.ready(self.problem) {
            for device in self.problem.places(task) {
                let limit = self.limit();
                if state.is_first_of(device, &self.alike)
                    && let Some(start) = state.start(self.problem, &self.tables, task, device, limit)
                {
                    self.nodes += 1;
                    let child = state.with(self.problem, &self.tables, task, device, start);
                    let least = child.least(self.problem, &self.tables, &mut self.scratch);
                    if least < limit {
                        children.push((least, child));
                    }
                }
            }
        }
        // The most promising first; what promises the same, in the order of tasks and devices.
        children.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (least, child) in children {
            if least >= self.limit() || self.seen.is_dominated(self.problem, &child, &self.alike) {
                continue;
            }
            if !self.open(&child) {
                return false;
            }
        }
        true
    }

    fn limit(&self) -> f64 {
        self.best * (1.0 - ROUNDING)
    }
}
