//! The recurrences, looked up only where they can matter.
//!
//! Let the value of `(from, to, machines)` be the pace of what lies between two cuts: either one stage on all of the
//! machines, or a pipeline up to a cut in between and one stage from there on, whichever is faster; the slower of the
//! two sets the pace. One level further out, the value on all machines of the level below is what a stage takes to
//! compute.
//!
//! A table of it has an entry for every pair of cuts, and almost none of them are needed. So the question is turned
//! around: can this be done at that pace? `m` machines with a pace of `v` compute at most `m v`, on either side of a
//! cut, hence only cuts in a window around the one that divides the work evenly come into question, and one that will do
//! is enough. Each answer narrows what is kept about an entry, a value that is reached and one that is not undercut,
//! until for the whole network the two meet.
//!
//! The same search finds the least memory with which a pipeline fits: what the fullest stage keeps takes the place of
//! the pace. Nothing is known about halves then, and the window is everything.

mod reach;

use super::bits::Bits;
use super::{Refusal, Request, States};

/// Candidates after which the search is ended; some seconds.
const MOST_TRIED: u64 = 1 << 29;
/// Entries after which the search is ended; some hundred megabytes.
const MOST_ENTRIES: usize = 1 << 25;
/// Where the two sides meet: far closer than anybody asks for, yet wider than rounding.
const SAME: f64 = 1e-13;

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

/// What is known about one level: a row for each first cut, made when it is first needed.
struct Level {
    machines: usize,
    bandwidth: f64,
    /// Machines of the level below, over which the whole of a level spreads its gradients.
    within: f64,
    /// Machines of all levels below, in one of this level.
    inside: f64,
    rows: Vec<Row>,
}

/// Three tables and not one, so that fresh ones cost nothing until they are written.
#[derive(Clone, Default)]
struct Row {
    /// What is not undercut.
    low: Vec<f64>,
    /// What is reached; 0 as long as nothing is.
    high: Vec<f64>,
    /// How: 0 by the whole, 1 with fewer machines, otherwise the cut and the replicas behind it.
    choice: Vec<u32>,
}

/// Bits of a choice that hold the replicas.
const REPLICAS: u32 = 11;

/// Cuts and what lies between them. Cut 0 is before everything, the others are each after one of the states.
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
    entries: usize,
    tried: u64,
}

impl Search {
    /// Ready to look.
    pub fn new(request: &Request, states: &States, aim: Aim) -> Self {
        let mut state_of: Vec<usize> = (0..states.len()).collect();
        // What comes before does not take longer, and the sort is stable: the order stays one of the network.
        state_of.sort_by(|&one, &other| states.compute_s[one].total_cmp(&states.compute_s[other]));
        let column = |figure: &dyn Fn(usize) -> f64| {
            std::iter::once(0.0).chain(state_of.iter().map(|&state| figure(state))).collect::<Vec<f64>>()
        };
        let (mut within, mut inside) = (1.0, 1.0);
        let levels = request.levels.iter().map(|level| {
            let rows = vec![Row::default(); states.len() + 1];
            let made = Level { machines: level.machines, bandwidth: level.bandwidth, within, inside, rows };
            within = level.machines as f64;
            inside *= level.machines as f64;
            made
        });
        Search {
            aim,
            straight: request.straight,
            fewer: request.fewer_machines,
            memory: request.memory_bytes.filter(|_| aim == Aim::Time).unwrap_or(f64::INFINITY),
            ratio: request.activation_ratio.filter(|_| aim == Aim::Time),
            before: before(states, &state_of),
            time: column(&|state| states.compute_s[state]),
            kept: column(&|state| states.activation_bytes[state] + states.parameter_bytes[state]),
            learned: column(&|state| states.parameter_bytes[state]),
            handed: column(&|state| states.handed_bytes[state]),
            levels: levels.collect(),
            state_of,
            entries: 0,
            tried: 0,
        }
    }

    /// The value of the whole network on all machines, at least `low`; infinite where there is none.
    pub fn solve(&mut self, low: f64) -> Result<f64, Refusal> {
        let top = self.levels.len() - 1;
        let (last, machines) = (self.last(), self.levels[top].machines);
        let (mut low, mut high) = (low, f64::INFINITY);
        // From below, since what cannot be reached is found out soon: every window is narrow.
        let mut margin = 0.01;
        while high - low > SAME * high || high.is_infinite() {
            let asked = match high.is_infinite() {
                true if margin < 1000.0 && low > 0.0 => low * (1.0 + margin),
                true => f64::INFINITY,
                false => low + (high - low) / 2.0,
            };
            margin *= 2.0;
            match self.reach(top, 0, last, machines, asked) {
                Ok(value) => high = value,
                Err(value) if value.is_infinite() => break,
                Err(value) => low = value,
            }
            if self.is_spent() {
                return Err(Refusal::TooLong { tried: self.tried });
            }
        }
        Ok(high)
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

    /// How a value came about that was reached.
    pub fn choice(&self, level: usize, from: usize, to: usize, machines: usize) -> Choice {
        let shape = &self.levels[level];
        match shape.rows[from].choice.get(place(shape.machines, from, to, machines)) {
            None | Some(0) => Choice::Whole,
            Some(1) => Choice::Fewer,
            Some(&packed) => {
                Choice::Cut((packed >> REPLICAS) as usize, (packed & ((1 << REPLICAS) - 1)) as usize)
            }
        }
    }

    fn is_spent(&self) -> bool {
        self.tried > MOST_TRIED || self.entries > MOST_ENTRIES
    }
}

/// Which cuts come before each.
fn before(states: &States, state_of: &[usize]) -> Bits {
    let mut before = Bits::new(state_of.len() + 1, state_of.len() + 1);
    for (later, &second) in state_of.iter().enumerate() {
        for (earlier, &first) in state_of[..later].iter().enumerate() {
            if states.is_before(first, second) {
                before.insert(later + 1, earlier + 1);
            }
        }
    }
    before
}

/// Where an entry is kept in its row.
fn place(most: usize, from: usize, to: usize, machines: usize) -> usize {
    (to - from - 1) * most + machines - 1
}
