//! A schedule in the making: tasks are put on devices one after the other, each into the earliest gap that is long
//! enough (insertion, as HEFT has it).
//!
//! Whoever puts a task has put all those it waits for. A gap is used only where the task ends no later than what
//! follows begins, so that nothing that was put is ever moved.

use super::problem::{Problem, later};

/// Where and when every task runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Device by task.
    pub place: Vec<u32>,
    /// By task.
    pub start: Vec<f64>,
    /// By task.
    pub end: Vec<f64>,
    /// When the last one ends.
    pub length: f64,
}

impl Schedule {
    /// Tasks by their start; a task is always behind those it waits for.
    pub fn order(&self, problem: &Problem) -> Vec<u32> {
        // What takes no time may start with whom it feeds: then the place in the graph decides.
        let mut order: Vec<u32> = problem.order.iter().map(|&task| task as u32).collect();
        order.sort_by(|&one, &other| self.start[one as usize].total_cmp(&self.start[other as usize]));
        order
    }
}

/// The schedule in the making.
pub struct Draft<'a> {
    /// What is scheduled.
    pub problem: &'a Problem,
    /// What is decided.
    pub made: Schedule,
    /// By device: start, end and task, in order.
    busy: Vec<Vec<(f64, f64, u32)>>,
    held: Vec<u64>,
    largest: Vec<u64>,
}

impl<'a> Draft<'a> {
    /// Nothing is put yet.
    pub fn new(problem: &'a Problem) -> Self {
        let (tasks, devices) = (problem.tasks, problem.devices);
        let made = Schedule {
            place: vec![u32::MAX; tasks],
            start: vec![0.0; tasks],
            end: vec![0.0; tasks],
            length: 0.0,
        };
        let mut draft = Self {
            problem,
            made,
            busy: vec![vec![]; devices],
            held: vec![0; devices],
            largest: vec![0; devices],
        };
        draft.clear();
        draft
    }

    /// Nothing is put any more.
    pub fn clear(&mut self) {
        for (busy, &free) in self.busy.iter_mut().zip(&self.problem.free) {
            busy.clear();
            if free > 0.0 {
                busy.push((0.0, free, u32::MAX));
            }
        }
        if self.problem.room.is_some() {
            self.held.fill(0);
            self.largest.fill(0);
        }
        self.made.length = 0.0;
    }

    /// When the task would start and end on a device; `None` where it cannot run.
    #[inline]
    pub fn offer(&self, task: usize, device: usize) -> Option<(f64, f64)> {
        let time = self.problem.time(task, device);
        if time == f64::INFINITY || !self.fits(task, device) {
            return None;
        }
        let ready = self.problem.ready(task, device, &self.made.end, &self.made.place);
        if ready == f64::INFINITY {
            return None;
        }
        let start = self.gap(device, ready, time);
        Some((start, start + time))
    }

    /// The start of the earliest gap.
    #[inline]
    pub fn gap(&self, device: usize, ready: f64, time: f64) -> f64 {
        let busy = &self.busy[device];
        match busy.last() {
            None => return ready,
            Some(last) if last.1 <= ready => return ready,
            Some(_) => (),
        }
        let mut start = ready;
        let first = busy.partition_point(|slot| slot.1 <= ready);
        for &(begin, end, _) in &busy[first..] {
            if start + time <= begin {
                return start;
            }
            start = later(start, end);
        }
        start
    }

    /// Decides it.
    #[inline]
    pub fn put(&mut self, task: usize, device: usize, start: f64, end: f64) {
        let busy = &mut self.busy[device];
        let slot = (start, end, task as u32);
        match busy.last() {
            Some(last) if (last.0, last.1) > (start, end) => {
                let position = busy.partition_point(|before| (before.0, before.1) <= (start, end));
                busy.insert(position, slot);
            }
            _ => busy.push(slot),
        }
        self.made.place[task] = device as u32;
        self.made.start[task] = start;
        self.made.end[task] = end;
        self.made.length = later(self.made.length, end);
        if let Some(room) = &self.problem.room {
            match room.is_held[task] {
                true => self.held[device] += room.need[task],
                false => self.largest[device] = self.largest[device].max(room.need[task]),
            }
        }
    }

    /// Takes back the task that was put last.
    pub fn take_back(&mut self, task: usize, length: f64) {
        let position = self.position(task);
        self.busy[self.made.place[task] as usize].remove(position);
        self.made.length = length;
    }

    /// The task that had the device before this one.
    pub fn previous(&self, task: usize) -> Option<usize> {
        let before = self.position(task).checked_sub(1)?;
        let other = self.busy[self.made.place[task] as usize][before].2;
        (other != u32::MAX).then_some(other as usize)
    }

    fn position(&self, task: usize) -> usize {
        let busy = &self.busy[self.made.place[task] as usize];
        let first = busy.partition_point(|before| before.0 < self.made.start[task]);
        // Only what takes no time starts together with something else.
        first + busy[first..].iter().position(|slot| slot.2 == task as u32).unwrap_or(0)
    }

    /// Whether the memory that is held leaves room.
    #[inline]
    fn fits(&self, task: usize, device: usize) -> bool {
        let Some(room) = &self.problem.room else { return true };
        let need = room.need[task];
        let (held, largest) = match room.is_held[task] {
            true => (self.held[device].saturating_add(need), self.largest[device]),
            false => (self.held[device], self.largest[device].max(need)),
        };
        held.saturating_add(largest) <= room.size[device]
    }

    /// Puts a task wherever `choose` gives the least; ties fall to the first device. `false` where it fits nowhere.
    pub fn put_best(&mut self, task: usize, choose: impl Fn(usize, f64) -> f64) -> bool {
        let mut best: Option<(f64, usize, f64, f64)> = None;
        for device in 0..self.problem.devices {
            let Some((start, end)) = self.offer(task, device) else { continue };
            let value = choose(device, end);
            if best.is_none_or(|best| value < best.0) {
                best = Some((value, device, start, end));
            }
        }
        best.is_some_and(|(_, device, start, end)| {
            self.put(task, device, start, end);
            true
        })
    }

    /// Puts all tasks in this order on these devices, those that are [`FREE`] where they and what must follow end
    /// soonest. Gives up, with `None`, as soon as the length is bound to exceed `limit`: `tail` says for every task and
    /// device what must come after it.
    pub fn replay(&mut self, order: &[u32], place: &[u32], tail: &[f64], limit: f64) -> Option<f64> {
        self.clear();
        let devices = self.problem.devices;
        for &task in order {
            let (task, device) = (task as usize, place[task as usize]);
            if device == FREE {
                let tail = &tail[task * devices..][..devices];
                if !self.put_best(task, |device, end| end + tail[device]) {
                    return None;
                }
                let device = self.made.place[task] as usize;
                if self.made.end[task] + tail[device] > limit {
                    return None;
                }
                continue;
            }
            let (start, end) = self.offer(task, device as usize)?;
            if end + tail[task * devices + device as usize] > limit {
                return None;
            }
            self.put(task, device as usize, start, end);
        }
        Some(self.made.length)
    }
}

/// In the place of a device: whichever is best.
pub const FREE: u32 = u32::MAX;
