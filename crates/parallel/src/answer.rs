//! What every planner returns.

use serde::Serialize;

/// A plan, how good it is, and how good any plan could be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer<P> {
    /// What to do.
    pub plan: P,
    /// What the plan is predicted to achieve.
    pub objective: f64,
    /// What the objective is: `s`, `bytes/s`, `samples/s`.
    pub unit: &'static str,
    /// No plan can do better than this under the same assumptions. Never trivial: never zero where work is to be done.
    pub bound: f64,
    /// The argument behind the bound, in a few words: `critical path`, `work over speed`, `search was exhaustive`.
    pub bound_by: String,
    /// What was taken for granted, each a short sentence for people.
    pub assumed: Vec<String>,
    /// How many candidates were looked at: the effort, in a measure that is the same on every machine.
    pub tried: u64,
}

impl<P> Answer<P> {
    /// How far the plan may be from the best, as a part of the bound. 0 means that it is the best.
    pub fn gap(&self) -> f64 {
        match self.objective == self.bound {
            true => 0.0,
            false => (self.objective - self.bound).abs() / self.bound.abs(),
        }
    }

    /// The same answer about another form of the plan.
    pub fn map<Q>(self, change: impl FnOnce(P) -> Q) -> Answer<Q> {
        let Self { plan, objective, unit, bound, bound_by, assumed, tried } = self;
        Answer { plan: change(plan), objective, unit, bound, bound_by, assumed, tried }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_is_a_part_of_the_bound_whichever_way_is_better() {
        let answer = |objective, bound| Answer {
            plan: (),
            objective,
            unit: "s",
            bound,
            bound_by: String::new(),
            assumed: vec![],
            tried: 0,
        };
        assert_eq!(answer(110.0, 100.0).gap(), 0.1);
        assert_eq!(answer(90.0, 100.0).gap(), 0.1);
        assert_eq!(answer(0.0, 0.0).gap(), 0.0);
    }
}
