//! A part of a schedule: what is put, when devices are free, and when data is where.

use crate::dag::bound::{Bound, load};
use crate::dag::draft::Schedule;
use crate::dag::problem::{Problem, later};

/// One node of the search.
#[derive(Clone)]
pub struct State {
    /// Tasks that are put, as bits.
    pub done: u64,
    /// When each device is free.
    pub free: Vec<f64>,
    /// By task and device: when what is known to be needed is there.
    pub ready: Vec<f64>,
    /// Start, and position breadth first, of what was put last: what follows comes later.
    pub last: (f64, usize),
    /// When the last one ends.
    pub length: f64,
    /// Task, device, start, in the order in which they were put.
    put: Vec<(u8, u8, f64)>,
    held: Vec<u64>,
    largest: Vec<u64>,
}

impl State {
    /// Nothing is put.
    pub fn new(problem: &Problem) -> Self {
        Self {
            done: 0,
            free: problem.free.clone(),
            ready: problem.release.clone(),
            last: (0.0, 0),
            length: problem.free.iter().copied().fold(0.0, later),
            put: vec![],
            held: problem.room.as_ref().map_or(vec![], |room| vec![0; room.size.len()]),
            largest: problem.room.as_ref().map_or(vec![], |room| vec![0; room.size.len()]),
        }
    }

    /// Whether everything is put.
    pub fn is_done(&self, problem: &Problem) -> bool {
        self.put.len() == problem.tasks
    }

    /// Whether a task is put.
    #[inline]
    pub fn has(&self, task: usize) -> bool {
        self.done >> task & 1 == 1
    }

    /// Tasks that wait for nobody any more.
    pub fn ready<'a>(&'a self, problem: &'a Problem) -> impl Iterator<Item = usize> + 'a {
        (0..problem.tasks).filter(|&task| {
            !self.has(task) && problem.before.of(task).iter().all(|&(other, _)| self.has(other as usize))
        })
    }

    /// Of devices that are alike and unused only the first is tried.
    pub fn is_first_of(&self, device: usize, alike: &[usize]) -> bool {
        let is_used = |device: usize| self.put.iter().any(|put| put.1 as usize == device);
        is_used(device)
            || !(alike[device]..device).any(|other| alike[other] == alike[device] && !is_used(other))
    }

    /// The same with one task more; `None` where it cannot be put, or not as the next one.
    pub fn with(&self, problem: &Problem, task: usize, device: usize) -> Option<Self> {
        let start = later(self.free[device], self.ready[task * problem.devices + device]);
        let position = problem.order.iter().position(|&other| other == task)?;
        let is_next = self.put.is_empty() || (start, position) > self.last;
        if start == f64::INFINITY || !is_next || !self.fits(problem, task, device) {
            return None;
        }
        let end = start + problem.time(task, device);
        let mut next = self.clone();
        next.done |= 1 << task;
        next.free[device] = end;
        next.last = (start, position);
        next.length = later(self.length, end);
        next.put.push((task as u8, device as u8, start));
        for &(fed, bytes) in problem.after.of(task) {
            let row = &mut next.ready[fed as usize * problem.devices..][..problem.devices];
            for (to, ready) in row.iter_mut().enumerate() {
                *ready = later(*ready, end + problem.transfer(bytes, device, to));
            }
        }
        if let Some(room) = &problem.room {
            match room.is_held[task] {
                true => next.held[device] += room.need[task],
                false => next.largest[device] = next.largest[device].max(room.need[task]),
            }
        }
        Some(next)
    }

    fn fits(&self, problem: &Problem, task: usize, device: usize) -> bool {
        let Some(room) = &problem.room else { return true };
        let need = room.need[task];
        let (held, largest) = match room.is_held[task] {
            true => (self.held[device].saturating_add(need), self.largest[device]),
            false => (self.held[device], self.largest[device].max(need)),
        };
        held.saturating_add(largest) <= room.size[device]
    }

    /// What no plan that goes on from here can beat. `task` on `device` was put last.
    pub fn least(&self, problem: &Problem, bound: &Bound, task: usize, device: usize) -> f64 {
        let devices = problem.devices;
        let mut least = later(self.length, self.free[device] + bound.tail[task * devices + device]);
        let mut work: f64 = self
            .free
            .iter()
            .zip(&bound.weight)
            .map(|(&free, weight)| later(free, self.last.0) * weight)
            .sum();
        // Earliest ends of what is not put yet, by task and device.
        let mut end = vec![0.0; problem.tasks * devices];
        for &task in problem.order.iter().filter(|&&task| !self.has(task)) {
            work += load::least(problem.times(task), &bound.weight);
            let mut through = f64::INFINITY;
            for device in 0..devices {
                let index = task * devices + device;
                let mut start = later(self.ready[index], later(self.free[device], self.last.0));
                for &(other, bytes) in problem.before.of(task) {
                    if !self.has(other as usize) {
                        let ends = &end[other as usize * devices..][..devices];
                        let arrivals = ends.iter().enumerate();
                        let arrivals =
                            arrivals.map(|(from, end)| end + problem.transfer(bytes, from, device));
                        start = later(start, arrivals.fold(f64::INFINITY, f64::min));
                    }
                }
                end[index] = start + problem.time[index];
                through = through.min(end[index] + bound.tail[index]);
            }
            least = later(least, through);
        }
        later(least, work)
    }

    /// The whole schedule.
    pub fn schedule(&self, problem: &Problem) -> Schedule {
        let mut made = Schedule {
            place: vec![0; problem.tasks],
            start: vec![0.0; problem.tasks],
            end: vec![0.0; problem.tasks],
            length: self.length,
        };
        for &(task, device, start) in &self.put {
            let (task, device) = (task as usize, device as usize);
            made.place[task] = device as u32;
            made.start[task] = start;
            made.end[task] = start + problem.time(task, device);
        }
        made
    }
}
