//! The recurrences, looked up only where they can matter.
//!
//! Let `value(i, j, m)` be the pace of what lies between cuts `i` and `j` on `m` machines: either one stage on all of
//! them, or a pipeline up to a cut `k` and one stage from there on, whichever is faster; the slower of the two sets the
//! pace. One level further out, the value on all machines of the level below is what a stage takes to compute.
//!
//! A table of it has an entry for every pair of cuts. Almost none of them are needed: `m` machines with a pace of `v`
//! compute at most `m v`, on either side of the cut. So once a pace is known, only cuts in a window around the one that
//! would divide the work evenly can improve on it, and the better the pace, the narrower the window. Values are found
//! on demand, from the cut in the middle of the window outwards, and kept.
//!
//! The same search finds the least memory with which a pipeline fits: the largest amount kept by a stage takes the place
//! of the pace. Nothing is known about halves then, and the window is everything.

use super::{Refusal, Request, States};
use crate::pipeline::pipedream::bits::Bits;

/// Candidates after which the search is ended; some seconds.
const MOST_TRIED: u64 = 1 << 31;

/// What is to be small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// Seconds per minibatch.
    Time,
    /// Bytes kept by the stage that keeps most.
    Memory,
}

/// How a value came about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// One stage on all machines.
    Whole,
    /// As with one machine less.
    Fewer,
    /// A pipeline up to a cut, and one stage on so many machines from there on.
    Cut(usize, usize),
}

/// Values of one level: a row for each first cut, made when it is first needed.
struct Level {
    machines: usize,
    bandwidth: f64,
    /// Machines of the level below, over which the whole of a level spreads its gradients.
    within: f64,
    /// Machines of all levels below, in one of this level.
    inside: f64,
    rows: Vec<Row>,
}

#[derive(Clone, Default)]
struct Row {
    /// Negated, so that 0, which a fresh table is full of at no cost, means unknown.
    values: Vec<f64>,
    choices: Vec<u32>,
}

/// Cuts and what lies between them. Cut 0 is before everything, cut `c` after one of the states.
pub struct Search {
    aim: Aim,
    straight: bool,
    fewer: bool,
    memory: f64,
    ratio: Option<f64>,
    /// Cuts before each cut, 0 left out.
    before: Bits,
    /// The state of each cut but 0, in order of time so that windows are ranges.
    state_of: Vec<usize>,
    time: Vec<f64>,
    kept: Vec<f64>,
    learned: Vec<f64>,
    handed: Vec<f64>,
    levels: Vec<Level>,
    tried: u64,
}

impl Search {
    /// Ready to look.
    pub fn new(request: &Request, states: &States, aim: Aim) -> Self {
        let mut state_of: Vec<usize> = (0..states.len()).collect();
        // What comes before does not take longer, and the sort is stable: the order stays one of the network.
        state_of.sort_by(|&one, &other| states.compute_s[one].total_cmp(&states.compute_s[other]));
        let cuts = states.len() + 1;
        let mut before = Bits::new(cuts, cuts);
        for (later, &second) in state_of.iter().enumerate() {
            for (earlier, &first) in state_of[..later].iter().enumerate() {
                if states.is_before(first, second) {
                    before.insert(later + 1, earlier + 1);
                }
            }
        }
        let column = |figure: &dyn Fn(usize) -> f64| {
            std::iter::once(0.0).chain(state_of.iter().map(|&state| figure(state))).collect::<Vec<f64>>()
        };
        let (mut within, mut inside) = (1.0, 1.0);
        let levels = request.levels.iter().map(|level| {
            let rows = vec![Row::default(); cuts];
            let made = Level { machines: level.machines, bandwidth: level.bandwidth, within, inside, rows };
            within = level.machines as f64;
            inside *= level.machines as f64;
            made
        });
        Search {
            aim,
            straight: request.straight,
            fewer: request.fewer_machines && aim == Aim::Time,
            memory: if aim == Aim::Time {
                request.memory_bytes.unwrap_or(f64::INFINITY)
            } else {
                f64::INFINITY
            },
            ratio: request.activation_ratio.filter(|_| aim == Aim::Time),
            before,
            time: column(&|state| states.compute_s[state]),
            kept: column(&|state| states.activation_bytes[state] + states.parameter_bytes[state]),
            learned: column(&|state| states.parameter_bytes[state]),
            handed: column(&|state| states.handed_bytes[state]),
            levels: levels.collect(),
            state_of,
            tried: 0,
        }
    }

    /// The value of the whole network on all machines; infinite where there is none.
    pub fn solve(&mut self) -> Result<f64, Refusal> {
        let top = self.levels.len() - 1;
        let value = self.value(top, 0, self.last(), self.levels[top].machines);
        match self.tried > MOST_TRIED {
            true => Err(Refusal::TooLong { tried: self.tried }),
            false => Ok(value),
        }
    }

    /// How many candidates were looked at.
    pub fn tried(&self) -> u64 {
        self.tried
    }

    /// The last cut.
    pub fn last(&self) -> usize {
        self.state_of.len()
    }

    /// The state of a cut that is not 0.
    pub fn state(&self, cut: usize) -> usize {
        self.state_of[cut - 1]
    }

    /// How a value came about that was found before.
    pub fn choice(&self, level: usize, from: usize, to: usize, machines: usize) -> Choice {
        let shape = &self.levels[level];
        match shape.rows[from].choices.get(place(shape.machines, from, to, machines)) {
            Some(&packed) if packed > 1 => {
                Choice::Cut(packed as usize >> 11, packed as usize & ((1 << 11) - 1))
            }
            Some(1) => Choice::Fewer,
            _ => Choice::Whole,
        }
    }

    /// The pace between two cuts on some machines of a level, or what is kept.
    fn value(&mut self, level: usize, from: usize, to: usize, machines: usize) -> f64 {
        let most = self.levels[level].machines;
        let place = place(most, from, to, machines);
        let size = (self.last() - from) * most;
        let row = &mut self.levels[level].rows[from];
        if row.values.is_empty() {
            row.values = vec![0.0; size];
            row.choices = vec![0; size];
        }
        // Values are kept negated, so that 0, which a fresh table is full of at no cost, means unknown.
        let known = row.values[place];
        if known != 0.0 {
            return -known;
        }
        let (value, choice) = self.find(level, from, to, machines);
        let row = &mut self.levels[level].rows[from];
        row.values[place] = -value.max(f64::MIN_POSITIVE);
        row.choices[place] = match choice {
            Choice::Whole => 0,
            Choice::Fewer => 1,
            Choice::Cut(cut, replicas) => (cut << 11 | replicas) as u32,
        };
        value
    }

    fn find(&mut self, level: usize, from: usize, to: usize, machines: usize) -> (f64, Choice) {
        let mut best = (self.whole(level, from, to, machines), Choice::Whole);
        if self.fewer && machines > 1 {
            let value = self.value(level, from, to, machines - 1);
            if value < best.0 {
                best = (value, Choice::Fewer);
            }
        }
        let most_replicas = if self.straight { 1 } else { machines - 1 };
        for replicas in 1..=most_replicas.min(machines - 1) {
            if self.handing(level, to, replicas) < best.0 {
                self.cut(level, (from, to), machines, replicas, &mut best);
            }
        }
        best
    }

    /// One stage on all of the machines.
    fn whole(&mut self, level: usize, from: usize, to: usize, machines: usize) -> f64 {
        if self.straight && machines > 1 {
            return f64::INFINITY;
        }
        let shape = &self.levels[level];
        let copies = (shape.machines - machines).div_ceil(machines);
        let kept = copies as f64 * (self.kept[to] - self.kept[from]);
        if kept > self.memory {
            return f64::INFINITY;
        }
        let sync = self.sync(level, from, to, machines) / shape.within;
        let inner = self.inner(level, from, to);
        match self.aim {
            Aim::Time => (inner + sync) / machines as f64,
            Aim::Memory => kept.max(inner),
        }
    }

    /// What a stage takes on one machine of this level.
    fn inner(&mut self, level: usize, from: usize, to: usize) -> f64 {
        match (level, self.aim) {
            (0, Aim::Time) => self.time[to] - self.time[from],
            (0, Aim::Memory) => 0.0,
            _ => self.value(level - 1, from, to, self.levels[level - 1].machines),
        }
    }

    /// Exchanging gradients.
    fn sync(&self, level: usize, from: usize, to: usize, replicas: usize) -> f64 {
        let learned = self.learned[to] - self.learned[from];
        4.0 * (replicas - 1) as f64 * learned / (self.levels[level].bandwidth * replicas as f64)
    }

    /// Handing on what is ready at a cut, 0 where that is taken to cost nothing.
    fn handing(&self, level: usize, cut: usize, replicas: usize) -> f64 {
        match self.ratio {
            Some(ratio) if cut < self.last() => {
                2.0 * self.handed[cut] / (self.levels[level].bandwidth * replicas as f64) / ratio
            }
            _ => 0.0,
        }
    }

    /// Tries all cuts that can improve on the best so far, with so many replicas of the stage behind them.
    fn cut(
        &mut self,
        level: usize,
        (from, to): (usize, usize),
        machines: usize,
        replicas: usize,
        best: &mut (f64, Choice),
    ) {
        let (begin, end, inside) = (self.time[from], self.time[to], self.levels[level].inside);
        let rest = machines - replicas;
        let even = begin + (end - begin) * rest as f64 / machines as f64;
        let middle = from + 1 + self.time[from + 1..to].partition_point(|&time| time < even);
        for cut in middle..to {
            if self.aim == Aim::Time && self.time[cut] - begin > best.0 * rest as f64 * inside {
                break;
            }
            self.attempt(level, (from, cut, to), machines, replicas, best);
        }
        for cut in (from + 1..middle).rev() {
            if self.aim == Aim::Time && end - self.time[cut] > best.0 * replicas as f64 * inside {
                break;
            }
            self.attempt(level, (from, cut, to), machines, replicas, best);
        }
    }

    fn attempt(
        &mut self,
        level: usize,
        (from, cut, to): (usize, usize, usize),
        machines: usize,
        replicas: usize,
        best: &mut (f64, Choice),
    ) {
        if !self.before.has(to, cut) || (from > 0 && !self.before.has(cut, from)) {
            return;
        }
        self.tried += 1;
        let shape = &self.levels[level];
        let copies = (shape.machines - machines).div_ceil(replicas);
        let kept = copies as f64 * (self.kept[to] - self.kept[cut]);
        if kept > self.memory || self.tried > MOST_TRIED {
            return;
        }
        let stage = match self.aim {
            Aim::Memory => kept.max(self.inner(level, cut, to)),
            Aim::Time => {
                let sync = self.sync(level, cut, to, replicas);
                let least = (self.time[to] - self.time[cut]) / shape.inside;
                let hands = self.handing(level, cut, replicas).max(self.handing(level, to, replicas));
                if ((least + sync) / replicas as f64).max(hands) >= best.0 {
                    return;
                }
                ((self.inner(level, cut, to) + sync) / replicas as f64).max(hands)
            }
        };
        if stage < best.0 {
            let value = stage.max(self.value(level, from, cut, machines - replicas));
            if value < best.0 {
                *best = (value, Choice::Cut(cut, replicas));
            }
        }
    }
}

/// Where a value is kept in its row.
fn place(most: usize, from: usize, to: usize, machines: usize) -> usize {
    (to - from - 1) * most + machines - 1
}
