//! The cheapest company of a piece: what a device that holds it carries at least.
//!
//! The load of a set of pieces, work and shared tensors, is submodular, so the cheapest set around a given piece is a
//! minimum cut: work leads to the sink, and a tensor is cut when it has ends on both sides (Lawler's form of a
//! hyperedge). Any flow is a lower bound of any cut, so the figure holds even where rounding ends the search early.
//! The flow is found in Dinic's way. Does badly: it looks at one device alone and not at the room the others need.

use super::pieces::Pieces;

/// A flow network over pieces, tensors and a sink.
pub(super) struct Company<'a> {
    pieces: &'a Pieces,
    /// Where an arc leads; its way back is the number beside it.
    to: Vec<u32>,
    whole: Vec<f64>,
    left: Vec<f64>,
    out: Vec<Vec<u32>>,
    level: Vec<u32>,
    turn: Vec<usize>,
    sink: usize,
}

impl<'a> Company<'a> {
    pub fn new(pieces: &'a Pieces) -> Self {
        let (count, tensors) = (pieces.len(), pieces.cost.len());
        let sink = count + 2 * tensors;
        let mut company = Company {
            pieces,
            to: vec![],
            whole: vec![],
            left: vec![],
            out: vec![vec![]; sink + 1],
            level: vec![0; sink + 1],
            turn: vec![0; sink + 1],
            sink,
        };
        for (piece, &work) in pieces.accelerator.iter().enumerate() {
            company.join(piece, sink, work, 0.0);
        }
        for (tensor, ends) in pieces.ends.iter().enumerate() {
            let cost = pieces.cost[tensor];
            if let &[one, other] = &ends[..] {
                company.join(one, other, cost, cost);
                continue;
            }
            let (enter, leave) = (count + 2 * tensor, count + 2 * tensor + 1);
            company.join(enter, leave, cost, 0.0);
            for &end in ends {
                company.join(end, enter, f64::INFINITY, 0.0);
                company.join(leave, end, f64::INFINITY, 0.0);
            }
        }
        company
    }

    fn join(&mut self, from: usize, to: usize, there: f64, back: f64) {
        let arc = self.to.len() as u32;
        self.to.extend([to as u32, from as u32]);
        self.whole.extend([there, back]);
        self.out[from].push(arc);
        self.out[to].push(arc + 1);
    }

    /// The least load of an accelerator that holds the piece.
    pub fn of(&mut self, piece: usize) -> f64 {
        self.left.clone_from(&self.whole);
        let most = Self::alone(self.pieces, piece);
        let mut flow = 0.0;
        // Phases are bounded by the length of paths; the limit only guards against rounding.
        for _ in 0..self.out.len() {
            if !self.spread(piece) {
                break;
            }
            self.turn.fill(0);
            loop {
                let pushed = self.push(piece);
                flow += pushed;
                if pushed <= 0.0 || flow >= most {
                    break;
                }
            }
        }
        flow.min(most)
    }

    /// What it would be without any company.
    pub fn alone(pieces: &Pieces, piece: usize) -> f64 {
        let transfer: f64 = pieces.at[piece].iter().map(|&tensor| pieces.cost[tensor]).sum();
        pieces.accelerator[piece] + transfer
    }

    /// How far everything is from the piece along arcs with room left; whether the sink is reached.
    fn spread(&mut self, piece: usize) -> bool {
        self.level.fill(u32::MAX);
        self.level[piece] = 0;
        let mut queue = vec![piece];
        let mut at = 0;
        while at < queue.len() {
            let from = queue[at];
            at += 1;
            for &arc in &self.out[from] {
                let to = self.to[arc as usize] as usize;
                if self.left[arc as usize] > 1e-15 && self.level[to] == u32::MAX {
                    self.level[to] = self.level[from] + 1;
                    queue.push(to);
                }
            }
        }
        self.level[self.sink] != u32::MAX
    }

    /// Sends as much as one path takes.
    fn push(&mut self, piece: usize) -> f64 {
        let mut path: Vec<u32> = vec![];
        let mut at = piece;
        while at != self.sink {
            let next = self.out[at][self.turn[at]..].iter().position(|&arc| {
                let to = self.to[arc as usize] as usize;
                self.left[arc as usize] > 1e-15 && self.level[to] == self.level[at] + 1
            });
            match next {
                Some(skipped) => {
                    self.turn[at] += skipped;
                    let arc = self.out[at][self.turn[at]];
                    path.push(arc);
                    at = self.to[arc as usize] as usize;
                }
                None => {
                    self.turn[at] = self.out[at].len();
                    let Some(arc) = path.pop() else { return 0.0 };
                    at = self.to[arc as usize ^ 1] as usize;
                    self.turn[at] += 1;
                }
            }
        }
        let room = path.iter().map(|&arc| self.left[arc as usize]).fold(f64::INFINITY, f64::min);
        for &arc in &path {
            self.left[arc as usize] -= room;
            self.left[arc as usize ^ 1] += room;
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::super::seating::{Room, Seating};
    use super::*;
    use crate::dice::Dice;

    #[test]
    fn no_company_is_cheaper_than_the_cut_says_and_one_is_as_cheap() {
        let mut dice = Dice::new(3);
        for _ in 0..60 {
            let count = 2 + dice.below(6);
            let mut figures =
                |limit: usize| (0..count).map(|_| dice.below(limit) as f64).collect::<Vec<f64>>();
            let mut pieces = Pieces {
                accelerator: figures(6),
                processor: vec![0.0; count],
                memory: vec![0.0; count],
                at: vec![vec![]; count],
                ..Pieces::default()
            };
            for _ in 0..6 {
                let ends: Vec<usize> = (0..count).filter(|_| dice.below(2) == 0).collect();
                if ends.len() > 1 {
                    ends.iter().for_each(|&end| pieces.at[end].push(pieces.cost.len()));
                    pieces.cost.push(1.0 + dice.below(4) as f64);
                    pieces.ends.push(ends);
                }
            }
            let room = Room { pieces: &pieces, accelerators: 2, processors: 0, memory: 0.0 };
            for piece in 0..count {
                let sets = (0..1usize << count).filter(|set| set >> piece & 1 == 1);
                let load = |set: usize| {
                    Seating::new(room, (0..count).map(|at| 1 - (set >> at & 1)).collect()).load[0]
                };
                let least = sets.map(load).fold(f64::INFINITY, f64::min);
                let found = Company::new(&pieces).of(piece);
                assert!((found - least).abs() < 1e-9, "{found} for {least}");
            }
        }
    }
}
