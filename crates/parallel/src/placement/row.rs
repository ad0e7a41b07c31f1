//! The best plan whose devices follow each other: dynamic programming over ideals.
//!
//! best(I, a, p): the least largest load when the ideal I is spread over a accelerators and p processors. The last
//! device holds I without some smaller ideal I', so every pair of ideals is one candidate (Tarnawski and others, 2020).
//! Exact over the ideals it is given: all of them, or those along one order. In training, only the forward half is in a
//! row; backward operators go with their twins. Pairs are walked by adding one block at a time, and a walk ends when
//! work or memory alone is too much to beat what is known already. A state is left out when what remains is more than
//! the remaining devices could carry. Does badly: where dozens of branches run side by side there are too many pairs.

use super::ideals::Ideals;
use super::seating::Room;

/// What the search found.
#[derive(Debug)]
pub(super) struct Found {
    /// The largest load, and the device of each block, where there is something better than what was known.
    pub best: Option<(f64, Vec<usize>)>,
    /// Nothing better was left out.
    pub is_complete: bool,
    /// Pairs looked at.
    pub pairs: u64,
}

/// A plan better than `below`, looking at no more than `most` pairs. Blocks are numbered so that who comes first has
/// the lower number.
pub(super) fn best(room: Room<'_>, ideals: &Ideals, below: f64, most: u64) -> Found {
    let mut walk = Walk::new(room, ideals, below, most);
    for ideal in 0..ideals.len() {
        walk.from(ideal);
        if walk.pairs > most {
            return Found { best: None, is_complete: false, pairs: walk.pairs };
        }
    }
    Found { best: walk.answer(), is_complete: true, pairs: walk.pairs }
}

/// How a state was reached: from which ideal, and whether the last device is an accelerator.
#[derive(Clone, Copy)]
struct Link {
    from: u32,
    is_accelerator: bool,
}

struct Walk<'a> {
    room: Room<'a>,
    ideals: &'a Ideals,
    /// What a plan has to beat.
    below: f64,
    most: u64,
    pairs: u64,
    states: usize,
    value: Vec<f64>,
    link: Vec<Link>,
    /// Accelerator work not in the ideal.
    remaining: Vec<f64>,
    /// Work that the devices not yet used by a state can still take.
    spare: Vec<f64>,
    /// How many ends of each tensor are in the difference walked.
    ends_in: Vec<u32>,
    /// States of the ideal being walked from that are worth it: which, and how good.
    live: Vec<(usize, f64)>,
}

#[derive(Clone, Copy)]
struct Sum {
    accelerator: f64,
    transfer: f64,
    processor: f64,
    memory: f64,
}

impl<'a> Walk<'a> {
    fn new(room: Room<'a>, ideals: &'a Ideals, below: f64, most: u64) -> Self {
        let states = (room.accelerators + 1) * (room.processors + 1);
        let mut walk = Walk {
            room,
            ideals,
            below,
            most,
            pairs: 0,
            states,
            value: vec![f64::INFINITY; states * ideals.len()],
            link: vec![Link { from: 0, is_accelerator: false }; states * ideals.len()],
            remaining: vec![f64::NAN; ideals.len()],
            spare: vec![],
            ends_in: vec![0; room.pieces.cost.len()],
            live: vec![],
        };
        walk.value[0] = 0.0;
        walk.remaining[0] = room.pieces.accelerator.iter().filter(|work| work.is_finite()).sum();
        for ideal in 0..ideals.len() {
            for &(block, next) in ideals.grow(ideal) {
                let work = room.pieces.accelerator[block as usize];
                let taken = if work.is_finite() { work } else { 0.0 };
                walk.remaining[next as usize] = walk.remaining[ideal] - taken;
            }
        }
        walk.make_spare();
        walk
    }

    fn make_spare(&mut self) {
        if self.below.is_infinite() {
            self.spare = vec![f64::INFINITY; self.states];
            return;
        }
        let pieces = self.room.pieces;
        let times = || pieces.accelerator.iter().zip(&pieces.processor).filter(|(work, _)| work.is_finite());
        let ratio =
            times().filter(|(_, time)| **time > 0.0).map(|(work, time)| work / time).fold(0.0, f64::max);
        let free: f64 = times().filter(|(_, time)| **time == 0.0).map(|(work, _)| work).sum();
        let (width, below, total) = (self.room.processors + 1, self.below, self.remaining[0]);
        let spare = (0..self.states).map(|state| {
            let accelerators = (self.room.accelerators - state / width) as f64;
            let processors = (self.room.processors - state % width) as f64;
            // The little more makes up for sums that round.
            let free = if processors > 0.0 { free } else { 0.0 };
            (accelerators * below + processors * below * ratio + free + total) * (1.0 + 1e-9) - total
        });
        self.spare = spare.collect();
    }

    fn from(&mut self, ideal: usize) {
        let row = ideal * self.states;
        self.live.clear();
        for state in 0..self.states {
            let value = self.value[row + state];
            if value < self.below && self.remaining[ideal] <= self.spare[state] {
                self.live.push((state, value));
            }
        }
        if !self.live.is_empty() {
            let nothing = Sum { accelerator: 0.0, transfer: 0.0, processor: 0.0, memory: 0.0 };
            self.extend(ideal, ideal, 0, nothing);
        }
    }

    fn extend(&mut self, origin: usize, ideal: usize, lowest: u32, sum: Sum) {
        let ideals = self.ideals;
        for &(block, next) in ideals.grow(ideal) {
            if block < lowest {
                continue;
            }
            if self.pairs > self.most {
                return;
            }
            let (at, pieces) = (block as usize, self.room.pieces);
            let mut larger = Sum {
                accelerator: sum.accelerator + pieces.accelerator[at],
                transfer: sum.transfer,
                processor: sum.processor + pieces.processor[at],
                memory: sum.memory + pieces.memory[at],
            };
            let on_accelerator = larger.accelerator < self.below && larger.memory <= self.room.memory;
            if !on_accelerator && (self.room.processors == 0 || larger.processor >= self.below) {
                continue;
            }
            for &tensor in &pieces.at[at] {
                let (all, inside) = (pieces.ends[tensor].len() as u32, self.ends_in[tensor] + 1);
                self.ends_in[tensor] = inside;
                larger.transfer += match inside {
                    1 => pieces.cost[tensor],
                    _ if inside == all => -pieces.cost[tensor],
                    _ => 0.0,
                };
            }
            self.pairs += 1;
            if on_accelerator {
                self.reach(origin, next as usize, larger.accelerator + larger.transfer, true);
            }
            self.reach(origin, next as usize, larger.processor, false);
            self.extend(origin, next as usize, block + 1, larger);
            pieces.at[at].iter().for_each(|&tensor| self.ends_in[tensor] -= 1);
        }
    }

    /// Puts one more device behind every live state.
    fn reach(&mut self, origin: usize, ideal: usize, load: f64, is_accelerator: bool) {
        if load >= self.below {
            return;
        }
        let width = self.room.processors + 1;
        let is_whole = ideal + 1 == self.ideals.len();
        for at in 0..self.live.len() {
            let (state, value) = self.live[at];
            let (used, limit, more) = match is_accelerator {
                true => (state / width, self.room.accelerators, width),
                false => (state % width, self.room.processors, 1),
            };
            let reached = state + more;
            let value = value.max(load);
            if used == limit || value >= self.below || self.remaining[ideal] > self.spare[reached] {
                continue;
            }
            let slot = ideal * self.states + reached;
            if value < self.value[slot] {
                self.value[slot] = value;
                self.link[slot] = Link { from: origin as u32, is_accelerator };
                if is_whole {
                    self.below = value;
                }
            }
        }
    }

    fn answer(&self) -> Option<(f64, Vec<usize>)> {
        let last = self.ideals.len() - 1;
        let row = &self.value[last * self.states..];
        let mut state = (0..self.states).min_by(|&a, &b| row[a].total_cmp(&row[b]))?;
        let value = row[state];
        if !value.is_finite() {
            return None;
        }
        let width = self.room.processors + 1;
        let mut device = vec![usize::MAX; self.room.pieces.len()];
        let mut ideal = last;
        while ideal != 0 {
            let link = self.link[ideal * self.states + state];
            let number = match link.is_accelerator {
                true => state / width - 1,
                false => self.room.accelerators + state % width - 1,
            };
            let (inside, whole) = (self.blocks(link.from as usize), self.blocks(ideal));
            let added = whole.iter().filter(|block| inside.binary_search(block).is_err());
            added.for_each(|&block| device[block as usize] = number);
            state -= if link.is_accelerator { width } else { 1 };
            ideal = link.from as usize;
        }
        Some((value, device))
    }

    /// The blocks of an ideal, ascending: walked back by the ways it grew.
    fn blocks(&self, ideal: usize) -> Vec<u32> {
        let mut blocks = vec![];
        let mut wanted = ideal as u32;
        for at in (0..ideal).rev() {
            if let Some(way) = self.ideals.grow(at).iter().find(|way| way.1 == wanted) {
                blocks.push(way.0);
                wanted = at as u32;
            }
        }
        blocks.sort_unstable();
        blocks
    }
}
