//! The plan as people and scripts get it.

use super::problem::Problem;
use super::solve::Solved;
use super::work::Work;
use serde::Serialize;

/// Which task runs where and when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// In the order of their starts.
    pub tasks: Vec<Placed>,
    /// In the order of the file.
    pub devices: Vec<Used>,
    /// Data that goes from one device to another, in the order in which it sets out.
    pub transfers: Vec<Transfer>,
    /// Who found it: `heft`, `peft`, `one device`, `search`, ...
    pub found_by: &'static str,
    /// What HEFT would need; `None` where it finds no plan.
    pub heft_s: Option<f64>,
    /// What PEFT would need; `None` where it finds no plan.
    pub peft_s: Option<f64>,
    /// The best device alone; `None` where none can do everything.
    pub one_device: Option<OneDevice>,
}

/// One task in the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placed {
    /// Its name.
    pub task: String,
    /// The device's name.
    pub device: String,
    /// When it starts.
    pub start_s: f64,
    /// When it ends.
    pub end_s: f64,
}

/// One device in the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Used {
    /// Its name.
    pub device: String,
    /// How many tasks it runs.
    pub tasks: usize,
    /// How long it is busy.
    pub busy_s: f64,
}

/// Data on its way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfer {
    /// The task that made it.
    pub from: String,
    /// The task that reads it.
    pub to: String,
    /// How much.
    pub bytes: f64,
    /// When it sets out.
    pub start_s: f64,
    /// When it is there.
    pub end_s: f64,
}

/// Everything on one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneDevice {
    /// Its name.
    pub device: String,
    /// How long it needs.
    pub seconds: f64,
}

impl Plan {
    /// Names in the place of indices.
    pub fn new(work: &Work, problem: &Problem, solved: &Solved) -> Self {
        let made = &solved.schedule;
        let device = |index: usize| work.devices[index].name.clone();
        let placed = |task: usize| Placed {
            task: work.tasks[task].name.clone(),
            device: device(made.place[task] as usize),
            start_s: made.start[task],
            end_s: made.end[task],
        };
        let mut used: Vec<Used> =
            (0..problem.devices).map(|index| Used { device: device(index), tasks: 0, busy_s: 0.0 }).collect();
        for task in 0..problem.tasks {
            let used = &mut used[made.place[task] as usize];
            used.tasks += 1;
            used.busy_s += made.end[task] - made.start[task];
        }
        Self {
            tasks: made.order(problem).into_iter().map(|task| placed(task as usize)).collect(),
            devices: used,
            transfers: transfers(work, problem, solved),
            found_by: solved.by,
            heft_s: solved.heft,
            peft_s: solved.peft,
            one_device: solved.single.map(|(index, seconds)| OneDevice { device: device(index), seconds }),
        }
    }
}

fn transfers(work: &Work, problem: &Problem, solved: &Solved) -> Vec<Transfer> {
    let made = &solved.schedule;
    let mut found = vec![];
    for from in 0..problem.tasks {
        for &(to, bytes) in problem.after.of(from) {
            let to = to as usize;
            let (here, there) = (made.place[from] as usize, made.place[to] as usize);
            if here != there {
                let start_s = made.end[from];
                let end_s = start_s + problem.transfer(bytes, here, there);
                let name = |task: usize| work.tasks[task].name.clone();
                found.push(Transfer { from: name(from), to: name(to), bytes, start_s, end_s });
            }
        }
    }
    found.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    found
}
