//! Changes to a candidate, each of which can be taken back.

use crate::dag::draft::{Draft, FREE};
use crate::dag::problem::Problem;
use crate::dice::Dice;

/// An order and a device for every task.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Nobody comes before those it waits for.
    pub order: Vec<u32>,
    /// By task.
    pub place: Vec<u32>,
}

/// Makes changes and takes them back.
pub struct Moves<'a> {
    problem: &'a Problem,
    /// The chance behind all choices.
    pub dice: Dice,
    /// Where each task is in the order.
    position: Vec<u32>,
    /// Tasks that the length depends on.
    critical: Vec<u32>,
    /// Tasks and where they were.
    moved: Vec<(u32, u32)>,
    /// A piece of the order turned by one: from, to.
    shifted: Option<(usize, usize)>,
}

/// Most tasks that change their device together.
const TOGETHER: usize = 12;

impl<'a> Moves<'a> {
    /// Knows nothing yet: `begin` and `learn` come first.
    pub fn new(problem: &'a Problem, dice: Dice) -> Self {
        let position = vec![0; problem.tasks];
        Self { problem, dice, position, critical: vec![], moved: vec![], shifted: None }
    }

    /// Where tasks are in the order.
    pub fn begin(&mut self, here: &Candidate) {
        for (position, &task) in here.order.iter().enumerate() {
            self.position[task as usize] = position as u32;
        }
    }

    /// What the accepted candidate turned out to be: which tasks its length depends on.
    pub fn learn(&mut self, draft: &Draft<'_>) {
        let (problem, made) = (self.problem, &draft.made);
        self.critical.clear();
        let mut next = (0..problem.tasks).max_by(|&one, &other| made.end[one].total_cmp(&made.end[other]));
        // Back from the end: to whoever delivered last, or to whoever had the device until then.
        while let Some(task) = next.filter(|_| self.critical.len() < problem.tasks) {
            self.critical.push(task as u32);
            let (place, start) = (made.place[task] as usize, made.start[task]);
            let fed = problem.before.of(task).iter().map(|&(other, bytes)| (other as usize, bytes));
            let mut late = fed.filter(|&(other, bytes)| {
                made.end[other] + problem.transfer(bytes, made.place[other] as usize, place) >= start
            });
            next = late.next().map(|late| late.0).or_else(|| draft.previous(task));
        }
    }

    /// Changes the candidate.
    pub fn change(&mut self, here: &mut Candidate) {
        self.moved.clear();
        self.shifted = None;
        let task = self.pick();
        match self.dice.below(20) {
            0..6 => self.send(here, task),
            6..11 => self.shift(here, task),
            11..13 => {
                self.send(here, task);
                self.shift(here, task);
            }
            13 => self.swap(here, task),
            14..16 => self.send_with_neighbours(here, task, None),
            16..18 => {
                self.release(here, task);
                self.shift(here, task);
            }
            _ => self.send_with_neighbours(here, task, Some(FREE)),
        }
    }

    /// Takes note of where tasks went that were free.
    pub fn settle(&mut self, here: &mut Candidate, draft: &Draft<'_>) {
        for &(task, _) in &self.moved {
            here.place[task as usize] = draft.made.place[task as usize];
        }
    }

    /// To whichever device is best.
    fn release(&mut self, here: &mut Candidate, task: usize) {
        self.moved.push((task as u32, here.place[task]));
        here.place[task] = FREE;
    }

    /// Takes the last change back.
    pub fn undo(&mut self, here: &mut Candidate) {
        while let Some((task, place)) = self.moved.pop() {
            here.place[task as usize] = place;
        }
        if let Some((from, to)) = self.shifted.take() {
            self.turn(here, to, from);
        }
    }

    fn pick(&mut self) -> usize {
        match self.dice.below(2) {
            0 if !self.critical.is_empty() => self.critical[self.dice.below(self.critical.len())] as usize,
            _ => self.dice.below(self.problem.tasks),
        }
    }

    /// To another device that can run it.
    fn send(&mut self, here: &mut Candidate, task: usize) {
        if self.problem.devices < 2 {
            return;
        }
        // A neighbour's device saves a transfer, so it is tried more often than its share.
        let neighbours = self.problem.before.of(task).len() + self.problem.after.of(task).len();
        let device = match self.dice.below(2) {
            0 if neighbours > 0 => {
                let neighbour = self.neighbour(task, neighbours);
                here.place[neighbour]
            }
            _ => self.dice.below(self.problem.devices) as u32,
        };
        self.place(here, task, device);
    }

    fn neighbour(&mut self, task: usize, neighbours: usize) -> usize {
        let (before, after) = (self.problem.before.of(task), self.problem.after.of(task));
        let index = self.dice.below(neighbours);
        before.get(index).unwrap_or_else(|| &after[index - before.len()]).0 as usize
    }

    fn place(&mut self, here: &mut Candidate, task: usize, device: u32) {
        if self.problem.time(task, device as usize).is_finite() && here.place[task] != device {
            self.moved.push((task as u32, here.place[task]));
            here.place[task] = device;
        }
    }

    /// Two tasks change devices.
    fn swap(&mut self, here: &mut Candidate, task: usize) {
        let other = self.dice.below(self.problem.tasks);
        let (one, two) = (here.place[task], here.place[other]);
        self.place(here, task, two);
        self.place(here, other, one);
    }

    /// A task and those around it that share its device.
    fn send_with_neighbours(&mut self, here: &mut Candidate, task: usize, device: Option<u32>) {
        if self.problem.devices < 2 {
            return;
        }
        let device = device.unwrap_or_else(|| self.dice.below(self.problem.devices) as u32);
        let from = here.place[task];
        let most = 2 + self.dice.below(TOGETHER);
        let mut together = vec![task as u32];
        let mut next = 0;
        while next < together.len() && together.len() < most {
            let at = together[next] as usize;
            let around = self.problem.before.of(at).iter().chain(self.problem.after.of(at));
            for &(other, _) in around {
                let fits = here.place[other as usize] == from && !together.contains(&other);
                if fits && together.len() < most {
                    together.push(other);
                }
            }
            next += 1;
        }
        for task in together {
            match device {
                FREE => self.release(here, task as usize),
                _ => self.place(here, task as usize, device),
            }
        }
    }

    /// To another place in the order.
    fn shift(&mut self, here: &mut Candidate, task: usize) {
        let position = self.position[task] as usize;
        let before = self.problem.before.of(task).iter();
        let first = before.map(|before| self.position[before.0 as usize] as usize + 1).max().unwrap_or(0);
        let after = self.problem.after.of(task).iter();
        let end =
            after.map(|after| self.position[after.0 as usize] as usize).min().unwrap_or(self.problem.tasks);
        if end - first < 2 {
            return;
        }
        let mut to = first + self.dice.below(end - first - 1);
        if to >= position {
            to += 1;
        }
        self.turn(here, position, to);
        self.shifted = Some((position, to));
    }

    fn turn(&mut self, here: &mut Candidate, from: usize, to: usize) {
        match from < to {
            true => here.order[from..=to].rotate_left(1),
            false => here.order[to..=from].rotate_right(1),
        }
        for position in from.min(to)..=from.max(to) {
            self.position[here.order[position] as usize] = position as u32;
        }
    }
}
