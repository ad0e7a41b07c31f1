//! Placements made better move by move: simulated annealing.
//!
//! What is annealed is the sum of a high power of the loads, which sees progress on every device where the largest
//! load alone would see none (Kirkpatrick and others, 1983). A proposal moves one piece, exchanges two, moves a
//! connected cluster from one device to another, or moves a stretch of the order, mostly to a device that a neighbour
//! sits on. Plans need not be contiguous. Promises: the same dice give the same plan, memory is kept, and the best
//! plan met is returned, never worse than the start. Does badly: where only moving several unconnected pieces at once
//! would help; and an easy network takes as long as a hard one.

use super::seating::Seating;
use crate::dice::Dice;

/// How to anneal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cooling {
    /// How many proposals.
    pub proposals: u64,
    /// Temperature at the start, as a part of the starting energy.
    pub hot: f64,
    /// At the end.
    pub cold: f64,
    /// Loads are weighed by two to the power of this.
    pub squarings: u32,
}

/// What stays the same from proposal to proposal.
struct Annealer<'s, 'a> {
    seating: &'s mut Seating<'a>,
    dice: Dice,
    /// Loads are measured in this.
    scale: f64,
    /// Logarithms of chance, drawn beforehand: drawing is most of the work otherwise.
    luck: Vec<f64>,
    moved: Vec<(usize, usize)>,
    stamp: Vec<u64>,
    clock: u64,
    loads: Vec<f64>,
    order: &'s [usize],
    position: Vec<usize>,
    squarings: u32,
}

/// Anneals from the seating given; leaves it at the best plan met.
pub(super) fn anneal(seating: &mut Seating<'_>, order: &[usize], cooling: Cooling, dice: Dice) {
    let count = seating.room.pieces.len();
    let scale = seating.most();
    if seating.room.devices() < 2 || count < 2 || scale <= 0.0 {
        return;
    }
    let luck = (0..4096).map(|at| -libm::log((f64::from(at) + 0.5) / 4096.0)).collect();
    let loads = seating.load.clone();
    let mut position = vec![0; count];
    order.iter().enumerate().for_each(|(at, &piece)| position[piece] = at);
    let mut annealer = Annealer {
        seating,
        dice,
        scale,
        luck,
        moved: vec![],
        stamp: vec![0; count],
        clock: 0,
        loads,
        order,
        position,
        squarings: cooling.squarings,
    };
    annealer.run(cooling);
}

impl Annealer<'_, '_> {
    fn run(&mut self, cooling: Cooling) {
        const BLOCK: u64 = 256;
        let mut best = (self.seating.most(), self.seating.device.clone());
        let blocks = (cooling.proposals / BLOCK).max(1);
        let fall = libm::pow(cooling.cold / cooling.hot, 1.0 / blocks as f64);
        let mut heat = cooling.hot;
        for block in 0..blocks {
            for _ in 0..BLOCK {
                self.propose(heat);
                let most = self.seating.most();
                if most < best.0 * (1.0 - 1e-12) {
                    best.0 = most;
                    best.1.copy_from_slice(&self.seating.device);
                }
            }
            if block % 64 == 63 {
                self.seating.settle();
                self.scale = best.0;
            }
            heat *= fall;
        }
        self.seating.seat(&best.1);
    }

    /// What a load adds to the energy.
    fn weight(&self, load: f64) -> f64 {
        let mut part = load / self.scale;
        for _ in 0..self.squarings {
            part *= part;
        }
        part
    }

    fn propose(&mut self, heat: f64) {
        let piece = self.dice.below(self.seating.room.pieces.len());
        let Some(to) = self.target(piece) else { return };
        match self.dice.below(8) {
            0..4 => self.one(piece, to, heat),
            4..6 => self.exchange(piece, to, heat),
            6 => self.cluster(piece, to, heat),
            _ => self.stretch(piece, to, heat),
        }
    }

    /// Moves a stretch of the order to one device, whoever was there; or only those of one device.
    fn stretch(&mut self, piece: usize, to: usize, heat: f64) {
        let (count, from) = (self.order.len(), self.seating.device[piece]);
        let share = (count / self.seating.room.devices()).clamp(2, 128);
        let size = 2 + self.dice.below(share);
        let is_picky = self.dice.below(2) == 0;
        let start = self.position[piece].saturating_sub(if self.dice.below(2) == 0 { 0 } else { size - 1 });
        self.moved.clear();
        for at in start..(start + size).min(count) {
            let other = self.order[at];
            let device = self.seating.device[other];
            if device != to && (!is_picky || device == from) {
                self.moved.push((other, to));
            }
        }
        self.try_moved(heat);
    }

    /// A device that a neighbour sits on, or now and then any other.
    fn target(&mut self, piece: usize) -> Option<usize> {
        let (pieces, from) = (self.seating.room.pieces, self.seating.device[piece]);
        if !pieces.at[piece].is_empty() && self.dice.below(4) > 0 {
            let tensor = pieces.at[piece][self.dice.below(pieces.at[piece].len())];
            let end = pieces.ends[tensor][self.dice.below(pieces.ends[tensor].len())];
            if self.seating.device[end] != from {
                return Some(self.seating.device[end]);
            }
        }
        let to = self.dice.below(self.seating.room.devices());
        (to != from).then_some(to)
    }

    fn is_welcome(&mut self, change: f64, heat: f64) -> bool {
        change <= 0.0 || {
            let luck = self.luck[self.dice.below(4096)];
            change < heat * luck
        }
    }

    fn one(&mut self, piece: usize, to: usize, heat: f64) {
        if !self.seating.fits(piece, to) {
            return;
        }
        let from = self.seating.device[piece];
        let (left, entered) = self.seating.after(piece, to);
        let before = self.weight(self.seating.load[from]) + self.weight(self.seating.load[to]);
        let change = self.weight(left) + self.weight(entered) - before;
        if self.is_welcome(change, heat) {
            self.seating.shift_to(piece, to, left, entered);
        }
    }

    /// Exchanges the piece with one of the other device.
    fn exchange(&mut self, piece: usize, to: usize, heat: f64) {
        let from = self.seating.device[piece];
        let count = self.seating.room.pieces.len();
        let found = (0..16).map(|_| self.dice.below(count)).find(|&other| self.seating.device[other] == to);
        let Some(other) = found else { return };
        self.moved.clear();
        self.moved.extend([(piece, to), (other, from)]);
        self.try_moved(heat);
    }

    /// Moves a connected part of a device.
    fn cluster(&mut self, piece: usize, to: usize, heat: f64) {
        let (pieces, from) = (self.seating.room.pieces, self.seating.device[piece]);
        let share = (pieces.len() / self.seating.room.devices()).clamp(2, 64);
        let size = 2 + self.dice.below(share);
        self.clock += 1;
        self.moved.clear();
        self.moved.push((piece, to));
        self.stamp[piece] = self.clock;
        let mut at = 0;
        while at < self.moved.len() && self.moved.len() < size {
            let tensors = &pieces.at[self.moved[at].0];
            let turn = self.dice.below(tensors.len().max(1));
            for tensor in tensors.iter().cycle().skip(turn).take(tensors.len()) {
                for &end in pieces.ends[*tensor].iter().take(16) {
                    if self.stamp[end] != self.clock
                        && self.seating.device[end] == from
                        && self.moved.len() < size
                    {
                        self.stamp[end] = self.clock;
                        self.moved.push((end, to));
                    }
                }
            }
            at += 1;
        }
        self.try_moved(heat);
    }

    /// Carries out the moves in mind, and takes them back where they are not welcome.
    fn try_moved(&mut self, heat: f64) {
        let room = self.seating.room;
        self.loads.copy_from_slice(&self.seating.load);
        let mut is_refused = false;
        for at in 0..self.moved.len() {
            let (piece, target) = self.moved[at];
            self.moved[at].1 = self.seating.device[piece];
            if target < room.accelerators && room.pieces.accelerator[piece].is_infinite() {
                self.moved.truncate(at);
                is_refused = true;
                break;
            }
            self.seating.shift(piece, target);
        }
        let mut change = 0.0;
        for device in 0..room.devices() {
            let (before, after) = (self.loads[device], self.seating.load[device]);
            if before != after {
                change += self.weight(after) - self.weight(before);
            }
            is_refused |= device < room.accelerators && self.seating.memory[device] > room.memory;
        }
        if is_refused || !self.is_welcome(change, heat) {
            for at in (0..self.moved.len()).rev() {
                let (piece, source) = self.moved[at];
                self.seating.shift(piece, source);
            }
            self.seating.load.copy_from_slice(&self.loads);
        }
    }
}
