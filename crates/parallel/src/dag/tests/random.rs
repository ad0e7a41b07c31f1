//! Small random work beside every plan there is.

use super::work;
use crate::dag::bound;
use crate::dag::check::check;
use crate::dag::draft::Schedule;
use crate::dag::exhaust;
use crate::dag::heft;
use crate::dag::lookahead;
use crate::dag::peft;
use crate::dag::places;
use crate::dag::problem::Problem;
use crate::dag::rank::{self, Means};
use crate::dag::single;
use crate::dag::solve::{self, Policy};
use crate::dag::work::Work;
use crate::dag::{Ask, plan};
use crate::dice::Dice;

/// Work of a few tasks, with whole times of which some are nothing.
fn random(dice: &mut Dice, tasks: usize, devices: usize) -> Work {
    let alike = dice.below(3) == 0;
    let times: Vec<Vec<f64>> = (0..tasks)
        .map(|_| {
            let first = dice.below(9) as f64;
            (0..devices).map(|_| if alike { first } else { dice.below(9) as f64 }).collect()
        })
        .collect();
    let rows: Vec<&[f64]> = times.iter().map(Vec::as_slice).collect();
    let mut edges = vec![];
    for to in 0..tasks {
        for from in 0..to {
            if dice.below(5) < 2 {
                edges.push((from, to, dice.below(6) as f64));
            }
        }
    }
    let mut work = work(&rows, &edges);
    for from in 0..devices {
        for to in 0..devices {
            let link = work.links[from][to].as_mut().unwrap();
            link.latency_s = dice.below(2) as f64;
            link.bandwidth = 1.0 + dice.below(2) as f64;
        }
    }
    work
}

/// Takes away a few links, places and much memory.
fn harden(dice: &mut Dice, work: &mut Work) {
    let devices = work.devices.len();
    for from in 0..devices {
        for to in 0..devices {
            if dice.below(4) == 0 {
                work.links[from][to] = None;
            }
        }
    }
    work.devices.iter_mut().for_each(|device| device.memory_bytes = Some(6 + dice.below(6) as u64));
    for task in &mut work.tasks {
        task.memory_bytes = dice.below(6) as u64;
        task.is_held = dice.below(2) == 0;
        if dice.below(4) == 0 {
            task.time_s[dice.below(devices)] = None;
        }
    }
}

/// The best of all orders and all devices, each task behind what its device already has; endless when there is none.
fn brute(problem: &Problem) -> f64 {
    let mut state = Brute {
        problem,
        place: vec![u32::MAX; problem.tasks],
        end: vec![0.0; problem.tasks],
        free: vec![0.0; problem.devices],
        best: f64::INFINITY,
    };
    state.go(0, 0.0);
    state.best
}

struct Brute<'a> {
    problem: &'a Problem,
    place: Vec<u32>,
    end: Vec<f64>,
    free: Vec<f64>,
    best: f64,
}

impl Brute<'_> {
    fn go(&mut self, done: usize, length: f64) {
        if length >= self.best {
            return;
        }
        if done == self.problem.tasks {
            if has_room(self.problem, &self.place) {
                self.best = length;
            }
            return;
        }
        for task in 0..self.problem.tasks {
            let waits = |&(other, _): &(u32, f64)| self.place[other as usize] == u32::MAX;
            if self.place[task] != u32::MAX || self.problem.before.of(task).iter().any(waits) {
                continue;
            }
            for device in 0..self.problem.devices {
                let free = self.free[device];
                let start = self.problem.ready(task, device, &self.end, &self.place).max(free);
                let end = start + self.problem.time(task, device);
                if end.is_finite() {
                    (self.place[task], self.end[task], self.free[device]) = (device as u32, end, end);
                    self.go(done + 1, length.max(end));
                    (self.place[task], self.free[device]) = (u32::MAX, free);
                }
            }
        }
    }
}

fn has_room(problem: &Problem, place: &[u32]) -> bool {
    let Some(room) = &problem.room else { return true };
    (0..problem.devices).all(|device| {
        let here = || (0..problem.tasks).filter(|&task| place[task] as usize == device);
        let held: u64 = here().filter(|&task| room.is_held[task]).map(|task| room.need[task]).sum();
        let largest =
            here().filter(|&task| !room.is_held[task]).map(|task| room.need[task]).max().unwrap_or(0);
        held + largest <= room.size[device]
    })
}

/// Everything that makes a schedule one.
fn assert_sound(problem: &Problem, made: &Schedule) {
    for task in 0..problem.tasks {
        let device = made.place[task] as usize;
        let (start, end) = (made.start[task], made.end[task]);
        assert!(end == start + problem.time(task, device) && end.is_finite());
        assert!(start >= problem.ready(task, device, &made.end, &made.place));
        for other in 0..problem.tasks {
            let apart = made.end[other] <= start || end <= made.start[other];
            assert!(other == task || made.place[other] as usize != device || apart);
        }
    }
    assert_eq!(made.length, made.end.iter().copied().fold(0.0, f64::max));
    assert!(has_room(problem, &made.place));
}

#[test]
fn the_proof_finds_what_trying_everything_finds() {
    let mut dice = Dice::new(11);
    for round in 0..1000 {
        let (tasks, devices) = (1 + dice.below(6), 1 + dice.below(3));
        let mut work = random(&mut dice, tasks, devices);
        if round % 2 == 1 {
            harden(&mut dice, &mut work);
        }
        let Ok(mut problem) = check(&work).and_then(|()| Problem::new(&work, 0.0)) else { continue };
        let Ok(()) = places::shut_out(&work, &mut problem) else {
            assert_eq!(brute(&Problem::new(&work, 0.0).unwrap()), f64::INFINITY, "round {round}");
            continue;
        };
        let best = brute(&problem);
        let bound = bound::bound(&problem);
        assert!(
            bound.value <= best * (1.0 + 1e-12),
            "round {round}: {} by {}, best {best}",
            bound.value,
            bound.by
        );
        let outcome = exhaust::exhaust(&problem, &bound, f64::INFINITY, u64::MAX);
        assert!(outcome.is_complete);
        match outcome.found {
            Some(found) => {
                assert_sound(&problem, &found);
                assert!((found.length - best).abs() < 1e-9, "round {round}: {} beside {best}", found.length);
            }
            None => assert_eq!(best, f64::INFINITY, "round {round}"),
        }
        match solve::solve(&problem, Policy::Best, 0.2) {
            Ok(solved) => {
                assert_sound(&problem, &solved.schedule);
                assert!((solved.schedule.length - best).abs() < 1e-9, "round {round}");
                assert!(solved.bound <= best * (1.0 + 1e-12), "round {round}");
            }
            Err(_) => assert_eq!(best, f64::INFINITY, "round {round}"),
        }
    }
}

#[test]
fn every_opinion_is_a_schedule_and_no_bound_lies() {
    let mut dice = Dice::new(12);
    for round in 0..60 {
        let (tasks, devices) = (5 + dice.below(40), 1 + dice.below(6));
        let mut work = random(&mut dice, tasks, devices);
        if round % 3 == 2 {
            harden(&mut dice, &mut work);
            work.devices.iter_mut().for_each(|device| device.memory_bytes = Some(40));
        }
        let Ok(mut problem) = Problem::new(&work, 0.0) else { continue };
        let Ok(()) = places::shut_out(&work, &mut problem) else { continue };
        let means = Means::new(&problem);
        let order = rank::by_urgency(&problem, &rank::upward(&problem, &means));
        let found = [
            heft::heft(&problem, &means),
            peft::peft(&problem, &means),
            lookahead::lookahead(&problem, &order),
        ];
        let mut shortest = f64::INFINITY;
        for made in found.into_iter().flatten().chain(single::single(&problem).map(|single| single.1)) {
            assert_sound(&problem, &made);
            shortest = shortest.min(made.length);
        }
        if let Ok(solved) = solve::solve(&problem, Policy::Best, 0.1) {
            assert_sound(&problem, &solved.schedule);
            assert!(solved.schedule.length <= shortest && solved.bound <= solved.schedule.length);
        }
    }
}

#[test]
fn the_same_work_gives_the_same_bytes() {
    let work = random(&mut Dice::new(13), 30, 4);
    let told = || serde_json::to_string(&plan(&work, &Ask::default()).unwrap()).unwrap();
    assert_eq!(told(), told());
}
