//! A set of small numbers with constant-time insert and remove and a fast "lowest member".
//!
//! Two levels of bits: one bit for each member, one bit for each word that is not empty. For ten thousand nodes
//! that is 1.2 KiB, which also makes cloning an index cheap.

/// The set.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeSet {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl NodeSet {
    pub fn insert(&mut self, member: u32) {
        let word = member as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
            self.summary.resize(word / 64 + 1, 0);
        }
        self.words[word] |= 1 << (member % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    pub fn remove(&mut self, member: u32) {
        let word = member as usize / 64;
        if let Some(bits) = self.words.get_mut(word) {
            *bits &= !(1 << (member % 64));
            if *bits == 0 {
                self.summary[word / 64] &= !(1 << (word % 64));
            }
        }
    }

    pub fn contains(&self, member: u32) -> bool {
        self.words.get(member as usize / 64).is_some_and(|bits| bits & (1 << (member % 64)) != 0)
    }

    /// Leaves only what the other has too.
    pub fn keep(&mut self, other: &NodeSet) {
        for (word, bits) in self.words.iter_mut().enumerate() {
            *bits &= other.words.get(word).copied().unwrap_or(0);
            if *bits == 0 {
                self.summary[word / 64] &= !(1 << (word % 64));
            }
        }
    }

    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    pub fn is_empty(&self) -> bool {
        self.summary.iter().all(|&bits| bits == 0)
    }

    /// Members, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let words = ones(&self.summary).map(|word| word as usize);
        words.flat_map(move |word| {
            ones(std::slice::from_ref(&self.words[word])).map(move |bit| word as u32 * 64 + bit)
        })
    }
}

/// Positions of the set bits.
fn ones(words: &[u64]) -> impl Iterator<Item = u32> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(index as u32 * 64 + bit)
        })
    })
}

/// Equal when they have the same members, whatever room they have grown.
impl PartialEq for NodeSet {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for NodeSet {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_both_have() {
        let of = |members: &[u32]| {
            let mut set = NodeSet::default();
            members.iter().for_each(|&member| set.insert(member));
            set
        };
        let mut set = of(&[1, 63, 64, 5_000, 9_000]);
        set.keep(&of(&[1, 64, 65, 5_001]));
        assert_eq!(set, of(&[1, 64]));
        assert!(set.contains(64) && !set.contains(63) && !set.contains(100_000));
        set.keep(&NodeSet::default());
        assert!(set.is_empty());
    }

    #[test]
    fn behaves_like_an_ordered_set() {
        let mut set = NodeSet::default();
        let mut model = std::collections::BTreeSet::new();
        let mut x = 7u32;
        for _ in 0..5_000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let member = (x >> 8) % 9_000;
            if x.is_multiple_of(3) {
                set.remove(member);
                model.remove(&member);
            } else {
                set.insert(member);
                model.insert(member);
            }
            assert_eq!(set.first(), model.first().copied());
        }
        assert!(set.iter().eq(model.iter().copied()));
        assert!(!set.is_empty());
        for member in model {
            set.remove(member);
        }
        assert!(set.is_empty());
        assert_eq!(set, NodeSet::default());
    }
}
