//! A sorted set.

use super::CHUNK;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Elements in ascending order, each once.
#[derive(Clone, Debug)]
pub(crate) struct SortedSet<T> {
    /// None is empty, and each ends below where the next begins.
    chunks: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self { chunks: vec![], len: 0 }
    }
}

impl<T> SortedSet<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn first(&self) -> Option<&T> {
        self.chunks.first()?.first()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

impl<T: Copy + Ord> SortedSet<T> {
    /// The first element that is not below this one.
    pub fn at_or_above(&self, bound: &T) -> Option<&T> {
        self.find(|element| element < bound)
    }

    /// The first element above this one.
    pub fn above(&self, bound: &T) -> Option<&T> {
        self.find(|element| element <= bound)
    }

    /// The first element that is not passed over; those that are come before all that are not.
    fn find(&self, is_passed: impl Fn(&T) -> bool) -> Option<&T> {
        let chunk =
            self.chunks.get(self.chunks.partition_point(|chunk| is_passed(&chunk[chunk.len() - 1])))?;
        chunk.get(chunk.partition_point(is_passed))
    }

    /// Whether it is new.
    pub fn insert(&mut self, element: T) -> bool {
        // The chunk it belongs into: the last one that does not begin above it.
        let Some(index) = self.chunks.partition_point(|chunk| chunk[0] <= element).checked_sub(1) else {
            match self.chunks.first_mut().filter(|first| first.len() < CHUNK) {
                Some(first) => Arc::make_mut(first).insert(0, element),
                None => self.chunks.insert(0, Arc::new(vec![element])),
            }
            self.len += 1;
            return true;
        };
        let Err(at) = self.chunks[index].binary_search(&element) else { return false };
        self.len += 1;
        let chunk = Arc::make_mut(&mut self.chunks[index]);
        if chunk.len() < CHUNK {
            chunk.insert(at, element);
        } else if at == CHUNK {
            // What arrives in order fills its chunks.
            self.chunks.insert(index + 1, Arc::new(vec![element]));
        } else {
            let mut upper = chunk.split_off(CHUNK / 2);
            match at.checked_sub(CHUNK / 2) {
                Some(at) => upper.insert(at, element),
                None => chunk.insert(at, element),
            }
            self.chunks.insert(index + 1, Arc::new(upper));
        }
        true
    }

    /// Whether it was there.
    pub fn remove(&mut self, element: &T) -> bool {
        let below = self.chunks.partition_point(|chunk| chunk[0] <= *element);
        let Some(index) = below.checked_sub(1) else { return false };
        let Ok(at) = self.chunks[index].binary_search(element) else { return false };
        self.len -= 1;
        if self.chunks[index].len() == 1 {
            self.chunks.remove(index);
            return true;
        }
        let chunk = Arc::make_mut(&mut self.chunks[index]);
        chunk.remove(at);
        // Neighbours that have become small are joined, so that there are never many more chunks than needed.
        let len = chunk.len();
        if len < CHUNK / 4 && self.chunks.get(index + 1).is_some_and(|next| len + next.len() <= CHUNK / 2) {
            let next = self.chunks.remove(index + 1);
            Arc::make_mut(&mut self.chunks[index]).extend_from_slice(&next);
        }
        true
    }
}

impl<T: Copy + Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut elements: Vec<T> = elements.into_iter().collect();
        elements.sort_unstable();
        elements.dedup();
        let chunks = elements.chunks(CHUNK).map(|chunk| Arc::new(chunk.to_vec())).collect();
        Self { chunks, len: elements.len() }
    }
}

impl<T: Hash> Hash for SortedSet<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len);
        self.iter().for_each(|element| element.hash(state));
    }
}

struct Exact<I>(I, usize);

impl<I: Iterator> Iterator for Exact<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.1 = self.1.saturating_sub(1);
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.1, Some(self.1))
    }
}

impl<T: Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(Exact(self.iter(), self.len))
    }
}

impl<'de, T: Copy + Ord + Deserialize<'de>> Deserialize<'de> for SortedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from_iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_types::Digest;
    use std::collections::BTreeSet;
    use std::ops::Bound;

    /// Numbers that look drawn, the same ones each time.
    fn numbers(count: u64, below: u64) -> impl Iterator<Item = u64> {
        (0..count).map(move |n| Digest::of(&n) % below)
    }

    fn agree(set: &SortedSet<u64>, model: &BTreeSet<u64>) {
        assert!(set.iter().eq(model.iter()) && set.iter().rev().eq(model.iter().rev()));
        assert_eq!((set.len(), set.first(), set.is_empty()), (model.len(), model.first(), model.is_empty()));
        assert!(set.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK));
        assert_eq!(Digest::of(set), Digest::of(model));
    }

    #[test]
    fn it_holds_what_the_standard_set_holds() {
        let (mut set, mut model) = (SortedSet::default(), BTreeSet::new());
        agree(&set, &model);
        for (turn, number) in numbers(20_000, 3_000).enumerate() {
            // It grows, shrinks and grows again.
            match turn % 10_000 < 6_000 || number % 7 == 0 {
                true => assert_eq!(set.insert(number), model.insert(number)),
                false => assert_eq!(set.remove(&number), model.remove(&number)),
            }
            let above = model.range((Bound::Excluded(number), Bound::Unbounded)).next();
            assert_eq!(set.above(&number), above);
            assert_eq!(set.at_or_above(&number), model.range(number..).next());
            if turn % 500 == 0 {
                agree(&set, &model);
            }
        }
        agree(&set, &model);
        assert!(set.chunks.len() <= 4 * set.len().div_ceil(CHUNK) + 1, "{}", set.chunks.len());
        model.iter().for_each(|number| assert!(set.remove(number)));
        agree(&set, &BTreeSet::new());
    }

    #[test]
    fn a_copy_keeps_what_it_has_and_shares_the_rest() {
        let mut set: SortedSet<u64> = numbers(5_000, 100_000).collect();
        let (copy, model): (_, BTreeSet<u64>) = (set.clone(), set.iter().copied().collect());
        set.insert(100_001);
        set.remove(&model.first().copied().unwrap());
        agree(&copy, &model);
        let shared = set.chunks.iter().filter(|chunk| Arc::strong_count(chunk) == 2).count();
        assert!(shared + 2 >= copy.chunks.len(), "{shared} of {}", copy.chunks.len());
    }

    #[test]
    fn it_is_written_and_read_as_a_list() {
        let set: SortedSet<u64> = numbers(500, 1_000).collect();
        let model: BTreeSet<u64> = set.iter().copied().collect();
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(text, serde_json::to_string(&model).unwrap());
        agree(&serde_json::from_str(&text).unwrap(), &model);
    }
}
