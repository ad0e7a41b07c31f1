//! Planning again while the plan runs: what has begun stays where it is, the rest may move, if that is worth it.
//!
//! What has ended and what runs is frozen; a task that runs longer than planned is expected to end now. The rest is
//! planned from here on, beside the old plan carried on: same devices, same order, new tasks where they end soonest. The
//! old plan is kept unless the new one gains more than a change costs. Data for a task that keeps its device is on its
//! way since it was made; for one that moves it sets out now. Simplified: what is on its way to the old device costs
//! nobody anything. It does badly when asked again at every small delay: `cost_s` is there to prevent that.

use super::draft::{Draft, Schedule};
use super::plan::{Placed, Plan};
use super::problem::{Problem, Room, later};
use super::refusal::{PastMistake, Refusal};
use super::solve::{self, Solved};
use super::work::Work;
use super::{Ask, check, no_placement, places, quantile};
use crate::answer::Answer;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What has happened so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// In the seconds of the plan.
    pub now_s: f64,
    /// Tasks that have begun.
    pub began: Vec<Began>,
}

/// A task that runs or has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Began {
    /// Its name.
    pub task: String,
    /// The device's name.
    pub device: String,
    /// When it began.
    pub start_s: f64,
    /// When it ended; `None` while it runs.
    pub end_s: Option<f64>,
}

/// The plan from now on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replan {
    /// Everything, what has begun included.
    pub plan: Plan,
    /// Whether anything is to change.
    pub is_new: bool,
    /// When the old plan would end.
    pub old_s: f64,
    /// When the new plan would end, the cost of changing not included.
    pub new_s: f64,
}

/// Plans what has not begun. `old` is the plan so far, its `tasks`; `cost_s` is what a new plan must gain at least.
pub fn replan(
    work: &Work,
    old: &[Placed],
    past: &Past,
    cost_s: f64,
    ask: &Ask,
) -> Result<Answer<Replan>, Refusal> {
    check::check(work)?;
    let deviations = ask.quantile.map_or(Ok(0.0), quantile::deviations)?;
    let mut whole = Problem::new(work, deviations)?;
    places::shut_out(work, &mut whole)?;
    let frozen = Frozen::new(work, &whole, past)?;
    let part = Part::new(work, &whole, &frozen, old, past.now_s);
    if part.tasks.is_empty() {
        let made = frozen.made;
        let length = made.length;
        let solved = plain(made, "old plan", length);
        let replan =
            Replan { plan: Plan::new(work, &whole, &solved), is_new: false, old_s: length, new_s: length };
        return Ok(answer(replan, &solved, cost_s));
    }
    let lost = |task: usize| no_placement(work, &whole, part.tasks[task]);
    let kept = part.carried_on();
    let mut solved = solve::solve(&part.problem, ask.policy, ask.patience).map_err(lost)?;
    let new_s = later(solved.schedule.length, frozen.made.length);
    let old_s = kept.as_ref().map_or(f64::INFINITY, |kept| later(kept.length, frozen.made.length));
    let is_new = old_s - new_s > cost_s;
    if !is_new && let Some(kept) = kept {
        (solved.schedule, solved.by) = (kept, "old plan");
    }
    solved.schedule = part.joined(frozen.made, &solved.schedule);
    solved.bound = later(solved.bound, past.now_s).min(solved.schedule.length);
    let replan = Replan { plan: Plan::new(work, &whole, &solved), is_new, old_s, new_s };
    Ok(answer(replan, &solved, cost_s))
}

fn answer(replan: Replan, solved: &Solved, cost_s: f64) -> Answer<Replan> {
    Answer {
        objective: solved.schedule.length,
        unit: "s",
        bound: solved.bound,
        bound_by: solved.bound_by.into(),
        assumed: vec![
            "what has begun stays where it is, and what should have ended by now ends now".into(),
            format!("a new plan must gain more than {cost_s} s"),
        ],
        tried: solved.tried,
        plan: replan,
    }
}

fn plain(schedule: Schedule, by: &'static str, bound: f64) -> Solved {
    Solved {
        schedule,
        by,
        heft: None,
        peft: None,
        single: None,
        bound,
        bound_by: "what runs already",
        tried: 0,
    }
}

/// What has begun.
struct Frozen {
    /// By task.
    is_frozen: Vec<bool>,
    /// Only what is frozen has a place.
    made: Schedule,
}

impl Frozen {
    fn new(work: &Work, whole: &Problem, past: &Past) -> Result<Self, Refusal> {
        let tasks: BTreeMap<&str, usize> =
            work.tasks.iter().enumerate().map(|(at, task)| (&*task.name, at)).collect();
        let count = whole.tasks;
        let mut made = Draft::new(whole).made;
        let (mut is_frozen, mut has_ended) = (vec![false; count], vec![false; count]);
        for began in &past.began {
            let mistake = |why| Refusal::BadPast { task: began.task.clone(), why };
            let unknown = |what, name: &str| {
                let by = "what is reported".to_string();
                Refusal::Unknown { what, name: name.into(), by }
            };
            let task = *tasks.get(&*began.task).ok_or_else(|| unknown("task", &began.task))?;
            let device = work.devices.iter().position(|device| device.name == began.device);
            let device = device.ok_or_else(|| unknown("device", &began.device))?;
            if std::mem::replace(&mut is_frozen[task], true) {
                return Err(mistake(PastMistake::Twice));
            }
            has_ended[task] = began.end_s.is_some();
            // A device that no longer may run it ran it all the same.
            let time = Some(whole.time(task, device)).filter(|time| time.is_finite()).unwrap_or(0.0);
            let end = began.end_s.unwrap_or(later(began.start_s + time, past.now_s));
            let in_order = 0.0 <= began.start_s && began.start_s <= past.now_s && began.start_s <= end;
            if !in_order || !past.now_s.is_finite() || (has_ended[task] && end > past.now_s) {
                return Err(mistake(PastMistake::TimesDoNotFit));
            }
            (made.place[task], made.start[task], made.end[task]) = (device as u32, began.start_s, end);
            made.length = later(made.length, end);
        }
        for task in (0..count).filter(|&task| is_frozen[task]) {
            let early = whole.before.of(task).iter().find(|before| !has_ended[before.0 as usize]);
            if let Some(&(other, _)) = early {
                let why = PastMistake::BeganTooEarly(work.tasks[other as usize].name.clone());
                return Err(Refusal::BadPast { task: work.tasks[task].name.clone(), why });
            }
        }
        Ok(Self { is_frozen, made })
    }
}

/// What has not begun.
struct Part {
    /// Index in the whole, by index in the part.
    tasks: Vec<usize>,
    problem: Problem,
    /// By index in the part: device and start in the old plan.
    old: Vec<Option<(usize, f64)>>,
}

impl Part {
    fn new(work: &Work, whole: &Problem, frozen: &Frozen, old: &[Placed], now_s: f64) -> Self {
        let devices = whole.devices;
        let tasks: Vec<usize> = (0..whole.tasks).filter(|&task| !frozen.is_frozen[task]).collect();
        let mut index = vec![usize::MAX; whole.tasks];
        tasks.iter().enumerate().for_each(|(at, &task)| index[task] = at);
        let by_name: BTreeMap<&str, &Placed> = old.iter().map(|placed| (&*placed.task, placed)).collect();
        let in_old = |&task: &usize| {
            let placed = by_name.get(&*work.tasks[task].name)?;
            let device = work.devices.iter().position(|device| device.name == placed.device)?;
            whole.time(task, device).is_finite().then_some((device, placed.start_s))
        };
        let old: Vec<Option<(usize, f64)>> = tasks.iter().map(in_old).collect();
        let time = tasks.iter().flat_map(|&task| whole.times(task).iter().copied()).collect();
        let mut edges = vec![];
        for &task in &tasks {
            edges.extend(
                whole.after.of(task).iter().map(|&(next, bytes)| (index[task], index[next as usize], bytes)),
            );
        }
        let mut problem = Problem::of_parts(tasks.len(), devices, time, &edges, whole.pairs.clone());
        for (at, &task) in tasks.iter().enumerate() {
            for device in 0..devices {
                let mut ready = now_s;
                for &(other, bytes) in
                    whole.before.of(task).iter().filter(|before| frozen.is_frozen[before.0 as usize])
                {
                    let (end, from) =
                        (frozen.made.end[other as usize], frozen.made.place[other as usize] as usize);
                    let is_under_way = old[at].is_some_and(|old| old.0 == device);
                    let sent = if is_under_way { end } else { later(end, now_s) };
                    ready = later(ready, sent + whole.transfer(bytes, from, device));
                }
                problem.release[at * devices + device] = ready;
            }
        }
        problem.free.fill(now_s);
        for task in (0..whole.tasks).filter(|&task| frozen.is_frozen[task]) {
            let free = &mut problem.free[frozen.made.place[task] as usize];
            *free = later(*free, frozen.made.end[task]);
        }
        problem.room = whole.room.as_ref().map(|room| left(room, &tasks, frozen));
        Self { tasks, problem, old }
    }

    /// The old plan carried on: same devices, same order; what it does not know where it ends soonest.
    fn carried_on(&self) -> Option<Schedule> {
        let problem = &self.problem;
        let mut priority: Vec<usize> = problem.order.clone();
        let start = |task: usize| self.old[task].map_or(f64::INFINITY, |old| old.1);
        priority.sort_by(|&one, &other| start(one).total_cmp(&start(other)));
        let mut turn = vec![0; problem.tasks];
        priority.iter().enumerate().for_each(|(at, &task)| turn[task] = at);
        let mut waits_for: Vec<usize> =
            (0..problem.tasks).map(|task| problem.before.of(task).len()).collect();
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..problem.tasks).filter(|&task| waits_for[task] == 0).map(|task| Reverse(turn[task])).collect();
        let mut draft = Draft::new(problem);
        while let Some(Reverse(at)) = ready.pop() {
            let task = priority[at];
            match self.old[task] {
                Some((device, _)) => {
                    let (start, end) = draft.offer(task, device)?;
                    draft.put(task, device, start, end);
                }
                None if draft.put_best(task, |_, end| end) => (),
                None => return None,
            }
            for &(next, _) in problem.after.of(task) {
                waits_for[next as usize] -= 1;
                if waits_for[next as usize] == 0 {
                    ready.push(Reverse(turn[next as usize]));
                }
            }
        }
        Some(draft.made)
    }

    fn joined(&self, mut whole: Schedule, part: &Schedule) -> Schedule {
        for (at, &task) in self.tasks.iter().enumerate() {
            whole.place[task] = part.place[at];
            whole.start[task] = part.start[at];
            whole.end[task] = part.end[at];
        }
        whole.length = later(whole.length, part.length);
        whole
    }
}

/// The room that what is frozen leaves.
fn left(room: &Room, tasks: &[usize], frozen: &Frozen) -> Room {
    let mut size = room.size.clone();
    for task in (0..room.need.len()).filter(|&task| frozen.is_frozen[task] && room.is_held[task]) {
        let size = &mut size[frozen.made.place[task] as usize];
        *size = if *size == u64::MAX { u64::MAX } else { size.saturating_sub(room.need[task]) };
    }
    Room {
        size,
        need: tasks.iter().map(|&task| room.need[task]).collect(),
        is_held: tasks.iter().map(|&task| room.is_held[task]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::super::tests::work;
    use super::*;

    fn began(task: &str, device: &str, start_s: f64, end_s: Option<f64>) -> Began {
        Began { task: task.into(), device: device.into(), start_s, end_s }
    }

    /// Two tasks for each of two devices; the first on d0 turns out to be slow.
    fn late() -> (Work, Vec<Placed>, Past) {
        let work = work(&[&[10.0, 10.0], &[10.0, 10.0], &[10.0, 10.0], &[10.0, 10.0]], &[]);
        let placed = |task: &str, device: &str, start_s: f64| {
            let (task, device) = (task.into(), device.into());
            Placed { task, device, start_s, end_s: start_s + 10.0 }
        };
        let old = vec![
            placed("t0", "d0", 0.0),
            placed("t1", "d1", 0.0),
            placed("t2", "d0", 10.0),
            placed("t3", "d1", 10.0),
        ];
        let past = Past {
            now_s: 40.0,
            began: vec![began("t0", "d0", 0.0, None), began("t1", "d1", 0.0, Some(10.0))],
        };
        (work, old, past)
    }

    #[test]
    fn a_plan_is_kept_unless_the_gain_exceeds_the_cost() {
        let (mut work, old, past) = late();
        // t0 needs 40 s more: both others should go to d1.
        work.tasks[0].time_s = vec![Some(80.0), Some(80.0)];
        let found = replan(&work, &old, &past, 5.0, &Ask::default()).unwrap();
        assert!(found.plan.is_new);
        assert_eq!((found.plan.old_s, found.plan.new_s, found.objective), (90.0, 80.0, 80.0));
        let found = replan(&work, &old, &past, 15.0, &Ask::default()).unwrap();
        assert!(!found.plan.is_new);
        assert_eq!((found.objective, found.plan.plan.found_by), (90.0, "old plan"));
    }

    #[test]
    fn nothing_starts_before_now_and_what_has_begun_stays() {
        let (work, old, past) = late();
        let found = replan(&work, &old, &past, 0.0, &Ask::default()).unwrap();
        for placed in &found.plan.plan.tasks {
            match &*placed.task {
                "t0" => assert_eq!((placed.start_s, placed.end_s), (0.0, 40.0)),
                "t1" => assert_eq!((placed.start_s, placed.end_s), (0.0, 10.0)),
                _ => assert!(placed.start_s >= 40.0),
            }
        }
        assert_eq!(found.objective, 50.0);
    }

    #[test]
    fn a_lost_device_is_planned_around() {
        let (mut work, old, past) = late();
        (2..4).for_each(|task| work.tasks[task].time_s[0] = None);
        let found = replan(&work, &old, &past, 1000.0, &Ask::default()).unwrap();
        let moved = found.plan.plan.tasks.iter().find(|placed| placed.task == "t2").unwrap();
        assert_eq!(moved.device, "d1");
        assert_eq!(found.objective, 60.0);
    }

    #[test]
    fn a_past_that_cannot_be_is_refused() {
        let mut work = work(&[&[1.0], &[1.0]], &[(0, 1, 0.0)]);
        let old = plan(&work, &Ask::default()).unwrap().plan.tasks;
        let said = |began: Vec<Began>| {
            replan(&work, &old, &Past { now_s: 5.0, began }, 0.0, &Ask::default()).unwrap_err().to_string()
        };
        assert!(
            said(vec![began("t1", "d0", 1.0, None)])
                .contains("t1 is reported as started, but t0 has not ended")
        );
        assert!(said(vec![began("t0", "d0", 6.0, None)]).contains("contradict each other"));
        assert!(said(vec![began("t0", "d0", 0.0, Some(6.0))]).contains("contradict each other"));
        assert!(said(vec![began("t0", "d9", 0.0, None)]).contains("d9"));
        let twice = vec![began("t0", "d0", 0.0, Some(1.0)), began("t0", "d0", 0.0, Some(1.0))];
        assert!(said(twice).contains("twice"));
        let all = vec![began("t0", "d0", 0.0, Some(1.0)), began("t1", "d0", 1.0, None)];
        work.tasks[1].time_s = vec![Some(7.0)];
        let past = Past { now_s: 5.0, began: all };
        assert_eq!(replan(&work, &old, &past, 0.0, &Ask::default()).unwrap().objective, 8.0);
    }
}
