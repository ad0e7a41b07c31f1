//! A task graph on unlike devices: which task runs where and when, so that the last one ends soonest.
//!
//! A device runs one task at a time and finishes what it began. What a task hands to another costs `latency + bytes /
//! bandwidth` between two devices and nothing on one; transfers do not stand in each other's way. Promises: never
//! longer than HEFT, PEFT or the best single device; a bound that no plan can beat; the same plan on every machine.
//!
//! | read | for |
//! |---|---|
//! | [`work`], [`check`], [`refusal`] | what is planned, when it is believed, and what is refused |
//! | [`problem`], [`locality`], [`quantile`], [`places`] | the same in tables: where a task may run, and for how long |
//! | [`draft`] | tasks put into gaps |
//! | [`rank`], [`heft`], [`peft`], [`lookahead`], [`single`], [`packed`] | opinions, one in each file |
//! | [`search`], [`exhaust`] | better plans, and for small work the proof |
//! | [`bound`] | what no plan can beat |
//! | [`solve`] | all of them in turn |
//! | [`tidy`], [`replan`] | before planning, and when things have happened |
//! | [`read`], [`write`] | files of others and of ours; a job file of the plan |
//!
//! **Memory.** A task runs only where its need fits by itself. Memory that is held stays taken from the beginning to the
//! end of the plan: on every device, what is held and the largest need of the others fit together.
//!
//! It does badly where links are shared: two large transfers at once are planned as if each had the link to itself.

pub mod bound;
pub mod check;
pub mod draft;
pub mod exhaust;
pub mod heft;
pub mod locality;
pub mod lookahead;
pub mod packed;
pub mod peft;
pub mod places;
pub mod plan;
pub mod problem;
pub mod quantile;
pub mod rank;
pub mod read;
pub mod refusal;
pub mod replan;
pub mod search;
pub mod single;
pub mod solve;
#[cfg(test)]
mod tests;
pub mod tidy;
pub mod work;
pub mod write;

pub use plan::Plan;
pub use refusal::Refusal;
pub use solve::Policy;
pub use work::{Data, Device, Edge, Task, Work};

use crate::answer::Answer;
use problem::Problem;

/// What is wanted of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Whose plan.
    pub policy: Policy,
    /// Times are planned so that each is kept in this part of all cases; `None` plans with the times as given.
    pub quantile: Option<f64>,
    /// Only what these tasks need is planned; empty means everything.
    pub want: Vec<String>,
    /// How long to search, beside the usual.
    pub patience: f64,
}

impl Default for Ask {
    fn default() -> Self {
        Self { policy: Policy::Best, quantile: None, want: vec![], patience: 1.0 }
    }
}

/// Plans it.
pub fn plan(work: &Work, ask: &Ask) -> Result<Answer<Plan>, Refusal> {
    check::check(work)?;
    let pruned = tidy::pruned(work, &ask.want)?;
    let (work, left_out) = pruned.as_ref().map_or((work, &[][..]), |(kept, left_out)| (kept, left_out));
    let deviations = ask.quantile.map_or(Ok(0.0), quantile::deviations)?;
    let mut problem = Problem::new(work, deviations)?;
    places::shut_out(work, &mut problem)?;
    let solved = solve::solve(&problem, ask.policy, ask.patience)
        .map_err(|task| no_placement(work, &problem, task))?;
    let plan = Plan::new(work, &problem, &solved);
    Ok(Answer {
        plan,
        objective: solved.schedule.length,
        unit: "s",
        bound: solved.bound,
        bound_by: solved.bound_by.into(),
        assumed: assumed(work, ask, left_out, &solved),
        tried: solved.tried,
    })
}

fn no_placement(work: &Work, problem: &Problem, task: usize) -> Refusal {
    let devices = problem.devices;
    let apart = (0..devices * devices).find(|&pair| problem.pairs[pair].0.is_infinite());
    let name = |device: usize| work.devices[device].name.clone();
    Refusal::NoPlacement {
        task: work.tasks[task].name.clone(),
        apart: apart.map(|pair| (name(pair / devices), name(pair % devices))),
    }
}

fn assumed(work: &Work, ask: &Ask, left_out: &[String], solved: &solve::Solved) -> Vec<String> {
    let mut said =
        vec!["a device runs one task at a time, and transfers do not slow each other down".to_string()];
    if let Some(quantile) = ask.quantile {
        said.push(format!(
            "every task takes as long as it does at the quantile {quantile}, times being normally distributed"
        ));
        if work.tasks.iter().all(|task| task.spread_s.iter().all(|&spread| spread == 0.0)) {
            said.push("no task has a spread, so the quantile changes nothing".into());
        }
    }
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().take(5).map(String::as_str).collect();
        let more = if left_out.len() > 5 { ", ..." } else { "" };
        let what = match left_out.len() {
            1 => "1 task that is not needed is".to_string(),
            many => format!("{many} tasks that are not needed are"),
        };
        said.push(format!("{what} left out: {}{more}", names.join(", ")));
    }
    match tidy::parallel_edges(work) {
        0 => (),
        1 => said.push("1 edge beside another between the same tasks is one transfer with it".into()),
        many => {
            said.push(format!("{many} edges beside another between the same tasks are one transfer with it"))
        }
    }
    if solved.by == "chains fused" {
        said.push("tasks in a chain stay on one device: that was the best candidate".into());
    }
    if work.tasks.iter().any(|task| task.is_held && task.memory_bytes > 0) {
        said.push("memory that is held is taken from the beginning to the end of the plan".into());
    }
    if work.tasks.iter().any(|task| !task.reads.is_empty()) {
        said.push("a task that reads data from elsewhere holds its device while it fetches it".into());
    }
    said
}
