//! Sets of small numbers, one in each row of a table.

/// Rows of bits.
#[derive(Clone, Debug)]
pub struct Bits {
    words: usize,
    rows: Vec<u64>,
}

impl Bits {
    /// Empty sets of numbers below `width`.
    pub fn new(rows: usize, width: usize) -> Self {
        let words = width.div_ceil(64).max(1);
        Bits { words, rows: vec![0; rows * words] }
    }

    /// One set.
    pub fn row(&self, row: usize) -> &[u64] {
        &self.rows[row * self.words..(row + 1) * self.words]
    }

    /// Puts a number into a set.
    pub fn insert(&mut self, row: usize, number: usize) {
        self.rows[row * self.words + number / 64] |= 1 << (number % 64);
    }

    /// Whether a number is in a set.
    pub fn has(&self, row: usize, number: usize) -> bool {
        has(self.row(row), number)
    }

    /// Adds all of set `from` to set `to`.
    pub fn join(&mut self, to: usize, from: usize) {
        for word in 0..self.words {
            self.rows[to * self.words + word] |= self.rows[from * self.words + word];
        }
    }

    /// Adds a set that is not of this table.
    pub fn join_with(&mut self, to: usize, from: &[u64]) {
        for (word, from) in self.rows[to * self.words..].iter_mut().zip(from) {
            *word |= from;
        }
    }

    /// Adds one more set.
    pub fn push(&mut self, set: &[u64]) {
        self.rows.extend_from_slice(set);
    }
}

/// Whether a number is in a set.
pub fn has(set: &[u64], number: usize) -> bool {
    set[number / 64] >> (number % 64) & 1 == 1
}

/// Whether two sets share a number.
pub fn meet(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).any(|(one, other)| one & other != 0)
}

/// The numbers of a set, ascending.
pub fn numbers(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(index, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(index * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_into_them_beyond_one_word_too() {
        let mut bits = Bits::new(2, 130);
        [3, 64, 129].into_iter().for_each(|number| bits.insert(0, number));
        bits.insert(1, 5);
        assert!(!meet(bits.row(0), bits.row(1)));
        bits.join(1, 0);
        assert_eq!(numbers(bits.row(1)).collect::<Vec<_>>(), [3, 5, 64, 129]);
        assert!(bits.has(1, 129) && !bits.has(0, 5));
    }
}
