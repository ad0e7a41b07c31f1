//! A part of a schedule: what is put, when devices are free, and when data is where.

use super::tables::Tables;
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
    /// Start, end and position breadth first of what was put last: what follows comes later. The end counts because what
    /// takes no time may start together with what does, before it.
    pub last: (f64, f64, usize),
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
            last: (0.0, 0.0, 0),
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

    /// When a task would start; `None` where it cannot be put, not as the next one, or not within the limit.
    pub fn start(
        &self,
        problem: &Problem,
        tables: &Tables<'_>,
        task: usize,
        device: usize,
        limit: f64,
    ) -> Option<f64> {
        let index = task * problem.devices + device;
        let start = later(self.free[device], self.ready[index]);
        let end = start + problem.time[index];
        let is_next = self.put.is_empty() || (start, end, tables.position[task]) > self.last;
        let least = end + tables.bound.tail[index];
        (is_next && least < limit && self.fits(problem, task, device)).then_some(start)
    }

    /// The same with one task more.
    pub fn with(
        &self,
        problem: &Problem,
        tables: &Tables<'_>,
        task: usize,
        device: usize,
        start: f64,
    ) -> Self {
        let end = start + problem.time(task, device);
        let mut next = self.clone();
        next.done |= 1 << task;
        next.free[device] = end;
        next.last = (start, end, tables.position[task]);
        next.length = later(self.length, end);
        next.put.push((task as u8, device as u8, start));
        for (fed, transfer) in &tables.after[task] {
            let row = &mut next.ready[fed * problem.devices..][..problem.devices];
            for (ready, transfer) in row.iter_mut().zip(&transfer[device * problem.devices..]) {
                *ready = later(*ready, end + transfer);
            }
        }
        if let Some(room) = &problem.room {
            match room.is_held[task] {
                true => next.held[device] += room.need[task],
                false => next.largest[device] = next.largest[device].max(room.need[task]),
            }
        }
        next
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

    /// What no plan that goes on from here can beat. `end` is room for the earliest ends of what is not put yet.
    pub fn least(&self, problem: &Problem, tables: &Tables<'_>, end: &mut [f64]) -> f64 {
        let (devices, bound) = (problem.devices, tables.bound);
        let mut least = self.length;
        let mut free: Vec<(f64, f64)> = self
            .free
            .iter()
            .zip(&bound.weight)
            .map(|(&free, &weight)| (later(free, self.last.0), weight))
            .collect();
        free.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let mut work = 0.0;
        // Whatever has much behind it must be done that much before the end.
        for &(task, tail) in tables.by_tail.iter().filter(|(task, _)| !self.has(*task)) {
            work += tables.share[task];
            least = later(least, level(&free, work) + tail);
        }
        for &task in problem.order.iter().filter(|&&task| !self.has(task)) {
            let mut through = f64::INFINITY;
            for device in 0..devices {
                let index = task * devices + device;
                let mut start = later(self.ready[index], later(self.free[device], self.last.0));
                for (other, transfer) in tables.before[task].iter().filter(|before| !self.has(before.0)) {
                    let ends = &end[other * devices..][..devices];
                    let mut soonest = f64::INFINITY;
                    for (end, transfer) in ends.iter().zip(&transfer[device * devices..]) {
                        let arrival = end + transfer;
                        soonest = if arrival < soonest { arrival } else { soonest };
                    }
                    start = later(start, soonest);
                }
                end[index] = start + problem.time[index];
                let here = end[index] + bound.tail[index];
                through = if here < through { here } else { through };
            }
            least = later(least, through);
        }
        least
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

/// When devices with these weights that are free from these times on, the soonest first, can have done so much work.
/// A device that is free too late does nothing.
fn level(free: &[(f64, f64)], work: f64) -> f64 {
    // What weighs nothing may be done by a device that weighs nothing.
    if work <= 0.0 {
        return free[0].0;
    }
    let (mut weight, mut taken, mut level) = (0.0, 0.0, f64::INFINITY);
    for &(time, each) in free {
        if time >= level {
            break;
        }
        weight += each;
        taken += each * time;
        if weight > 0.0 {
            level = (work + taken) / weight;
        }
    }
    level
}
