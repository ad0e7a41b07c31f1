//! Who sits where, and what each device carries: kept up to date move by move.
//!
//! Load of an accelerator: work of its pieces, and every tensor once that it shares with another device. Load of a
//! processor: work only, since main memory is where tensors wait. A move from one device to another changes these two
//! loads and no third: a tensor that a third device shares stays shared. So a move costs as much as its piece has
//! tensors. Sums drift by rounding; [`Seating::settle`] counts afresh.

use super::pieces::Pieces;

/// Pieces, and devices for them: accelerators first, then processors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room<'a> {
    pub pieces: &'a Pieces,
    pub accelerators: usize,
    pub processors: usize,
    pub memory: f64,
}

impl Room<'_> {
    pub fn devices(&self) -> usize {
        self.accelerators + self.processors
    }

    pub fn work(&self, piece: usize, device: usize) -> f64 {
        match device < self.accelerators {
            true => self.pieces.accelerator[piece],
            false => self.pieces.processor[piece],
        }
    }
}

/// A placement with its loads.
#[derive(Clone, Debug)]
pub(super) struct Seating<'a> {
    pub room: Room<'a>,
    pub device: Vec<usize>,
    pub load: Vec<f64>,
    pub memory: Vec<f64>,
    /// How many ends of a tensor sit on a device: tensor by tensor.
    ends_on: Vec<u32>,
}

impl<'a> Seating<'a> {
    pub fn new(room: Room<'a>, device: Vec<usize>) -> Self {
        let devices = room.devices();
        let mut seating = Seating {
            room,
            device,
            load: vec![0.0; devices],
            memory: vec![0.0; devices],
            ends_on: vec![0; devices * room.pieces.cost.len()],
        };
        seating.settle();
        seating
    }

    /// Counts everything afresh.
    pub fn settle(&mut self) {
        let (pieces, devices) = (self.room.pieces, self.room.devices());
        self.load.fill(0.0);
        self.memory.fill(0.0);
        self.ends_on.fill(0);
        for (piece, &device) in self.device.iter().enumerate() {
            self.load[device] += self.room.work(piece, device);
            self.memory[device] += pieces.memory[piece];
        }
        for (tensor, ends) in pieces.ends.iter().enumerate() {
            let row = &mut self.ends_on[tensor * devices..(tensor + 1) * devices];
            ends.iter().for_each(|&end| row[self.device[end]] += 1);
            for (load, &here) in self.load.iter_mut().zip(&*row).take(self.room.accelerators) {
                if here > 0 && (here as usize) < ends.len() {
                    *load += pieces.cost[tensor];
                }
            }
        }
    }

    /// Replaces the placement.
    pub fn seat(&mut self, device: &[usize]) {
        self.device.copy_from_slice(device);
        self.settle();
    }

    /// The largest load.
    pub fn most(&self) -> f64 {
        self.load.iter().copied().fold(0.0, f64::max)
    }

    /// Whether the piece may go there at all.
    pub fn fits(&self, piece: usize, to: usize) -> bool {
        to >= self.room.accelerators
            || (self.memory[to] + self.room.pieces.memory[piece] <= self.room.memory
                && self.room.pieces.accelerator[piece].is_finite())
    }

    /// What the loads of the device it leaves and the device it enters would be.
    #[inline]
    pub fn after(&self, piece: usize, to: usize) -> (f64, f64) {
        let from = self.device[piece];
        let (pieces, devices) = (self.room.pieces, self.room.devices());
        let mut left = self.load[from] - self.room.work(piece, from);
        let mut entered = self.load[to] + self.room.work(piece, to);
        for &tensor in &pieces.at[piece] {
            let (all, cost) = (pieces.ends[tensor].len() as u32, pieces.cost[tensor]);
            let (here, there) = (self.ends_on[tensor * devices + from], self.ends_on[tensor * devices + to]);
            if from < self.room.accelerators {
                left += cost * (f64::from(u8::from(here > 1)) - f64::from(u8::from(here < all)));
            }
            if to < self.room.accelerators {
                entered += cost * (f64::from(u8::from(there + 1 < all)) - f64::from(u8::from(there > 0)));
            }
        }
        (left, entered)
    }

    /// Moves a piece.
    pub fn shift(&mut self, piece: usize, to: usize) {
        let (left, entered) = self.after(piece, to);
        self.shift_to(piece, to, left, entered);
    }

    /// Moves a piece whose loads [`Seating::after`] has told.
    pub fn shift_to(&mut self, piece: usize, to: usize, left: f64, entered: f64) {
        let (from, devices) = (self.device[piece], self.room.devices());
        (self.load[from], self.load[to]) = (left, entered);
        self.memory[from] -= self.room.pieces.memory[piece];
        self.memory[to] += self.room.pieces.memory[piece];
        for &tensor in &self.room.pieces.at[piece] {
            self.ends_on[tensor * devices + from] -= 1;
            self.ends_on[tensor * devices + to] += 1;
        }
        self.device[piece] = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn moves_one_by_one_count_what_counting_afresh_counts() {
        let mut dice = Dice::new(9);
        let count = 12;
        let mut pieces = Pieces {
            accelerator: (0..count).map(|_| dice.unit()).collect(),
            processor: (0..count).map(|_| dice.unit()).collect(),
            memory: vec![1.0; count],
            at: vec![vec![]; count],
            ..Pieces::default()
        };
        for _ in 0..20 {
            let ends: Vec<usize> = (0..count).filter(|_| dice.below(4) == 0).collect();
            if ends.len() > 1 {
                ends.iter().for_each(|&end| pieces.at[end].push(pieces.cost.len()));
                pieces.cost.push(dice.unit());
                pieces.ends.push(ends);
            }
        }
        let room = Room { pieces: &pieces, accelerators: 3, processors: 1, memory: 12.0 };
        let mut seating = Seating::new(room, vec![0; count]);
        for _ in 0..500 {
            let (piece, to) = (dice.below(count), dice.below(4));
            if seating.device[piece] != to {
                seating.shift(piece, to);
            }
            let fresh = Seating::new(room, seating.device.clone());
            let pairs = seating.load.iter().zip(&fresh.load);
            assert!(pairs.clone().all(|(one, other)| (one - other).abs() < 1e-9));
            assert_eq!(seating.memory, fresh.memory);
        }
    }
}
