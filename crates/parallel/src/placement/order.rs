//! Orders of blocks that respect who comes first: what a plan in a row is cut from.
//!
//! One order keeps the numbering, one goes deep, one takes next what leaves the fewest seconds of tensors open, so
//! that cuts are cheap everywhere. More are drawn with dice around the last. Does badly: no order is good for every
//! cut, which is why all ideals are better where they can be counted.

use super::pieces::Pieces;
use crate::dice::Dice;

/// How the next block is chosen among those whose turn it could be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Taste {
    /// The lowest number.
    Numbered,
    /// What became possible last.
    Deep,
    /// What leaves the fewest tensors open.
    Narrow,
    /// The same, blurred by dice.
    Blurred,
}

/// The position of each block.
pub(super) fn positions(blocks: &Pieces, taste: Taste, dice: &mut Dice) -> Vec<usize> {
    let count = blocks.len();
    let (mut after, mut waits) = (vec![vec![]; count], vec![0usize; count]);
    for &(first, second) in &blocks.before {
        after[first].push(second);
        waits[second] += 1;
    }
    let mut seen = vec![0usize; blocks.cost.len()];
    let mut ready: Vec<usize> = (0..count).filter(|&block| waits[block] == 0).collect();
    let mut position = vec![0; count];
    for turn in 0..count {
        let chosen = choose(blocks, &ready, &seen, taste, dice);
        let block = ready.remove(chosen);
        position[block] = turn;
        blocks.at[block].iter().for_each(|&tensor| seen[tensor] += 1);
        for &next in &after[block] {
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.push(next);
            }
        }
    }
    position
}

fn choose(blocks: &Pieces, ready: &[usize], seen: &[usize], taste: Taste, dice: &mut Dice) -> usize {
    let opens = |block: usize| -> f64 {
        let change = blocks.at[block].iter().map(|&tensor| {
            let (all, cost) = (blocks.ends[tensor].len(), blocks.cost[tensor]);
            match seen[tensor] {
                0 => cost,
                seen if seen + 1 == all => -cost,
                _ => 0.0,
            }
        });
        change.sum()
    };
    let least = |weigh: &mut dyn FnMut(usize) -> f64| {
        let mut best = (f64::INFINITY, 0);
        for at in (0..ready.len()).rev() {
            let weight = weigh(ready[at]);
            if weight < best.0 {
                best = (weight, at);
            }
        }
        best.1
    };
    match taste {
        Taste::Numbered => least(&mut |block| block as f64),
        Taste::Deep => ready.len() - 1,
        Taste::Narrow => least(&mut |block| opens(block)),
        Taste::Blurred => least(&mut |block| {
            let (opens, blur) = (opens(block), 0.5 + dice.unit());
            if opens > 0.0 { opens * blur } else { opens / blur }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_taste_respects_who_comes_first() {
        let before = vec![(0, 3), (1, 3), (1, 4), (3, 5), (4, 5), (2, 5)];
        let zero = vec![0.0; 6];
        let blocks = Pieces {
            accelerator: zero.clone(),
            processor: zero.clone(),
            memory: zero,
            at: vec![vec![]; 6],
            before: before.clone(),
            ..Pieces::default()
        };
        for taste in [Taste::Numbered, Taste::Deep, Taste::Narrow, Taste::Blurred] {
            let position = positions(&blocks, taste, &mut Dice::new(1));
            assert!(before.iter().all(|&(first, second)| position[first] < position[second]), "{taste:?}");
        }
    }
}
