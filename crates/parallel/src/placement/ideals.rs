//! Sets of blocks that are closed under "comes first": every prefix of a plan whose devices follow each other.
//!
//! Such a set is called an ideal. A device of a contiguous plan holds the difference of two ideals, so the ideals are
//! all that a search for the best contiguous plan has to know (Tarnawski and others, 2020). Blocks are numbered in an
//! order that respects who comes first; then every larger ideal is reached from a smaller one by adding blocks in
//! ascending order, in one way only. Does badly: their number grows with two to the power of parallel branches, so
//! counting stops at a limit.

use super::pieces::Pieces;

/// Ideals, smaller ones first, and how each grows by one block.
#[derive(Debug)]
pub(super) struct Ideals {
    /// Where the ways to grow begin for each; one more at the end.
    start: Vec<usize>,
    /// Block to add and ideal reached, ascending by block.
    grow: Vec<(u32, u32)>,
}

impl Ideals {
    pub fn len(&self) -> usize {
        self.start.len() - 1
    }

    /// Blocks that may be added to an ideal, and what it becomes.
    pub fn grow(&self, ideal: usize) -> &[(u32, u32)] {
        &self.grow[self.start[ideal]..self.start[ideal + 1]]
    }

    /// Only the prefixes of the numbering.
    pub fn chain(count: usize) -> Ideals {
        let grow = (0..count as u32).map(|at| (at, at + 1)).collect();
        Ideals { start: (0..=count).chain([count]).collect(), grow }
    }

    /// All ideals, or `None` where there are more than `most`. Blocks are numbered so that who comes first has the
    /// lower number.
    pub fn all(blocks: &Pieces, most: usize) -> Option<Ideals> {
        let count = blocks.len();
        let words = count.div_ceil(64).max(1);
        let (mut before, mut after) = (vec![vec![]; count], vec![vec![]; count]);
        for &(first, second) in &blocks.before {
            before[second].push(first);
            after[first].push(second);
        }
        let mut sets = Sets::new(words);
        let (empty, _) = sets.find_or_add(&vec![0; words]);
        let mut ready: Vec<Vec<u32>> =
            vec![(0..count as u32).filter(|&block| before[block as usize].is_empty()).collect()];
        let (mut start, mut grow, mut at) = (vec![0], vec![], empty);
        while at < sets.len() {
            let mut set = sets.get(at).to_vec();
            let waiting = std::mem::take(&mut ready[at]);
            for &block in &waiting {
                let (word, bit) = (block as usize / 64, 1u64 << (block % 64));
                set[word] |= bit;
                let (reached, is_new) = sets.find_or_add(&set);
                if is_new {
                    if sets.len() > most {
                        return None;
                    }
                    let has = |&other: &usize| set[other / 64] >> (other % 64) & 1 == 1;
                    let freed = after[block as usize].iter().filter(|&&next| before[next].iter().all(has));
                    let mut next: Vec<u32> =
                        waiting.iter().copied().filter(|&other| other != block).collect();
                    next.extend(freed.map(|&next| next as u32));
                    next.sort_unstable();
                    ready.push(next);
                }
                grow.push((block, reached as u32));
                set[word] &= !bit;
            }
            start.push(grow.len());
            at += 1;
        }
        Some(Ideals { start, grow })
    }
}

/// Bit sets numbered in the order in which they came. A table of our own, because its order of probing is fixed.
struct Sets {
    words: usize,
    bits: Vec<u64>,
    slots: Vec<u32>,
    count: usize,
}

impl Sets {
    fn new(words: usize) -> Self {
        Sets { words, bits: vec![], slots: vec![u32::MAX; 1024], count: 0 }
    }

    fn len(&self) -> usize {
        self.count
    }

    fn get(&self, at: usize) -> &[u64] {
        &self.bits[at * self.words..(at + 1) * self.words]
    }

    /// Its number, and whether it is new.
    fn find_or_add(&mut self, set: &[u64]) -> (usize, bool) {
        if self.count * 2 >= self.slots.len() {
            let larger = vec![u32::MAX; self.slots.len() * 2];
            self.slots = larger;
            for at in 0..self.count {
                let slot = self.slot(self.get(at));
                self.slots[slot] = at as u32;
            }
        }
        let slot = self.slot(set);
        if self.slots[slot] != u32::MAX {
            return (self.slots[slot] as usize, false);
        }
        self.slots[slot] = self.count as u32;
        self.bits.extend_from_slice(set);
        self.count += 1;
        (self.count - 1, true)
    }

    /// Where it is, or where it would go.
    fn slot(&self, set: &[u64]) -> usize {
        let mix = |hash: u64, &word: &u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let mask = self.slots.len() - 1;
        let hash = set.iter().fold(0x51_7c_c1_b7, mix);
        let mut slot = (hash ^ (hash >> 32)) as usize & mask;
        while self.slots[slot] != u32::MAX && self.get(self.slots[slot] as usize) != set {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poset(count: usize, before: &[(usize, usize)]) -> Pieces {
        let zero = vec![0.0; count];
        Pieces {
            accelerator: zero.clone(),
            processor: zero.clone(),
            memory: zero,
            before: before.to_vec(),
            ..Pieces::default()
        }
    }

    #[test]
    fn counts_what_can_be_counted_by_hand() {
        let count = |blocks: &Pieces| Ideals::all(blocks, 5000).map(|ideals| ideals.len());
        assert_eq!(count(&poset(4, &[])), Some(16));
        assert_eq!(count(&poset(4, &[(0, 1), (1, 2), (2, 3)])), Some(5));
        assert_eq!(count(&poset(4, &[(0, 1), (0, 2), (1, 3), (2, 3)])), Some(6));
        assert_eq!(count(&poset(12, &[])), Some(4096));
        assert_eq!(count(&poset(13, &[])), None);
    }

    #[test]
    fn a_chain_grows_in_one_way() {
        let chain = Ideals::chain(3);
        assert_eq!((chain.len(), chain.grow(0), chain.grow(3)), (4, &[(0, 1)][..], &[][..]));
    }
}
