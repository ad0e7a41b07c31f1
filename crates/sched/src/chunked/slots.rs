//! Slots that are filled in order and emptied in any order.

use super::CHUNK;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

type Slot<T> = Option<Arc<T>>;

/// A queue of slots. Empty ones at the front fall off.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    /// All but the last are full.
    chunks: VecDeque<Arc<Vec<Slot<T>>>>,
    /// Slots of the first chunk that fell off. They are empty.
    fallen: usize,
    len: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { chunks: VecDeque::new(), fallen: 0, len: 0 }
    }
}

impl<T> Slots<T> {
    /// Slots that did not fall off, empty ones too.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        let at = index + self.fallen;
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)?.as_deref()
    }

    /// What is in the slots, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).filter_map(|slot| slot.as_deref())
    }

    fn slots(&self) -> impl Iterator<Item = &Slot<T>> {
        let first = self.chunks.front().map_or(&[][..], |first| &first[self.fallen..]);
        first.iter().chain(self.chunks.iter().skip(1).flat_map(|chunk| chunk.iter()))
    }

    pub fn push(&mut self, value: T) {
        self.push_slot(Some(Arc::new(value)));
    }

    fn push_slot(&mut self, slot: Slot<T>) {
        self.len += 1;
        match self.chunks.back_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => Arc::make_mut(last).push(slot),
            None => self.chunks.push_back(Arc::new(vec![slot])),
        }
    }

    /// Empties a slot. Returns what was in it and how many slots fell off at the front.
    pub fn take(&mut self, index: usize) -> (Slot<T>, usize) {
        let at = index + self.fallen;
        let taken = self
            .chunks
            .get_mut(at / CHUNK)
            .and_then(|chunk| Arc::make_mut(chunk).get_mut(at % CHUNK)?.take());
        (taken, self.fall())
    }

    fn fall(&mut self) -> usize {
        let before = self.len;
        while self.len > 0 && self.chunks[0][self.fallen].is_none() {
            (self.fallen, self.len) = (self.fallen + 1, self.len - 1);
            if self.fallen == self.chunks[0].len() {
                self.chunks.pop_front();
                self.fallen = 0;
            }
        }
        before - self.len
    }
}

impl<T: Clone> Slots<T> {
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let at = index + self.fallen;
        let chunk = Arc::make_mut(self.chunks.get_mut(at / CHUNK)?);
        chunk.get_mut(at % CHUNK)?.as_mut().map(Arc::make_mut)
    }
}

impl<T: Hash> Hash for Slots<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len);
        self.slots().for_each(|slot| slot.hash(state));
    }
}

impl<T: Serialize> Serialize for Slots<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        let mut list = serializer.serialize_seq(Some(self.len))?;
        self.slots().try_for_each(|slot| list.serialize_element(slot))?;
        list.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Slots<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut slots = Self::default();
        Vec::deserialize(deserializer)?.into_iter().for_each(|slot| slots.push_slot(slot));
        Ok(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_types::Digest;

    fn agree(slots: &Slots<u64>, model: &VecDeque<Slot<u64>>) {
        assert_eq!(slots.len(), model.len());
        assert!(slots.iter().eq(model.iter().flatten().map(|value| &**value)));
        assert!(slots.iter().rev().eq(model.iter().rev().flatten().map(|value| &**value)));
        let got = (0..model.len() + 3).map(|index| slots.get(index));
        assert!(got.eq((0..model.len() + 3).map(|index| model.get(index)?.as_deref())));
        assert_eq!(Digest::of(slots), Digest::of(model));
        let text = serde_json::to_string(slots).unwrap();
        assert_eq!(text, serde_json::to_string(model).unwrap());
        let read: Slots<u64> = serde_json::from_str(&text).unwrap();
        assert_eq!(Digest::of(&read), Digest::of(model));
    }

    #[test]
    fn they_hold_what_a_standard_queue_holds() {
        let (mut slots, mut model) = (Slots::default(), VecDeque::new());
        for turn in 0..3_000u64 {
            slots.push(turn);
            model.push_back(Some(Arc::new(turn)));
            // About as many are taken as pushed, most of them near the front.
            let index = (Digest::of(&turn) % (model.len() as u64).min(300)) as usize;
            let (taken, mut fell) = slots.take(index);
            assert_eq!(taken, model[index].take());
            while model.front().is_some_and(Option::is_none) {
                model.pop_front();
                fell -= 1;
            }
            assert_eq!(fell, 0);
            if let Some(value) = slots.get_mut(5) {
                *value += 1;
                *Arc::make_mut(model[5].as_mut().unwrap()) += 1;
            }
            if turn % 100 == 0 {
                agree(&slots, &model);
            }
        }
        for index in (0..slots.len()).rev() {
            slots.take(index);
        }
        agree(&slots, &VecDeque::new());
    }

    #[test]
    fn a_copy_keeps_what_it_has_and_shares_the_rest() {
        let mut slots = Slots::default();
        (0..5_000).for_each(|value| slots.push(value));
        let copy = slots.clone();
        *slots.get_mut(700).unwrap() = 1;
        slots.take(900);
        slots.push(5_000);
        assert!(copy.iter().copied().eq(0..5_000));
        let shared = slots.chunks.iter().filter(|chunk| Arc::strong_count(chunk) == 2).count();
        assert_eq!(shared, slots.chunks.len() - 3);
    }
}
