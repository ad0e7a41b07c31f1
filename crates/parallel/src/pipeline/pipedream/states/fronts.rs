//! The fronts of a network, one layer after the other.

use super::Web;
use crate::pipeline::pipedream::Refusal;
use crate::pipeline::pipedream::bits::{Bits, meet, numbers};
use std::collections::BTreeMap;

/// Most states: sets of them are kept for each.
const MOST_STATES: usize = 8192;

/// All fronts, in the order in which they are found.
pub struct Fronts {
    /// The layers of each of which none feeds another.
    pub bare: Vec<Vec<usize>>,
    /// With the layers before it that still feed something.
    pub whole: Bits,
    /// The fronts one layer further than each.
    pub next: Vec<Vec<usize>>,
}

impl Fronts {
    /// Finds them, or more than are counted.
    pub fn find(web: &Web) -> Result<Self, Refusal> {
        let mut found = Fronts { bare: vec![], whole: Bits::new(0, web.feeds.len()), next: vec![] };
        let mut numbers = BTreeMap::new();
        let start = vec![web.first];
        numbers.insert(start.clone(), 0);
        found.add(web, start);
        let mut at = 0;
        while at < found.bare.len() {
            for front in found.after(web, at) {
                let mut key = front.clone();
                key.sort_unstable();
                let fresh = numbers.len();
                let number = *numbers.entry(key).or_insert(fresh);
                if number == fresh {
                    if fresh == MOST_STATES {
                        return Err(Refusal::TooManyStates { most: MOST_STATES });
                    }
                    found.add(web, front);
                }
                found.next[at].push(number);
            }
            at += 1;
        }
        Ok(found)
    }

    fn add(&mut self, web: &Web, front: Vec<usize>) {
        let mut whole = Bits::new(1, web.feeds.len());
        for &member in &front {
            whole.join_with(0, web.open.row(member));
            whole.insert(0, member);
        }
        self.whole.push(whole.row(0));
        self.bare.push(front);
        self.next.push(vec![]);
    }

    /// The fronts one layer further.
    fn after(&self, web: &Web, front: usize) -> Vec<Vec<usize>> {
        let (bare, whole) = (&self.bare[front], self.whole.row(front));
        let members: Vec<usize> =
            numbers(whole).filter(|member| !bare.contains(member)).chain(bare.iter().copied()).collect();
        let mut after = vec![];
        for &member in &members {
            for &to in &web.feeds[member] {
                if !bare.contains(&to) && !meet(web.later.row(to), whole) {
                    after.push(replaced(web, &members, member, to));
                }
            }
        }
        after
    }

    /// So that all edges lead upwards: backwards from the ends, the branch that was found last first.
    pub fn sorted(&self) -> Vec<usize> {
        let mut order = vec![];
        let mut is_seen = vec![false; self.next.len()];
        is_seen[0] = true;
        let mut path = vec![(0, 0)];
        while let Some((front, at)) = path.pop() {
            match self.next[front].get(at) {
                Some(&next) => {
                    path.push((front, at + 1));
                    if !is_seen[next] {
                        is_seen[next] = true;
                        path.push((next, 0));
                    }
                }
                None => order.push(front),
            }
        }
        order.reverse();
        order
    }
}

/// The front in which one member gave way to what it feeds.
fn replaced(web: &Web, members: &[usize], old: usize, new: usize) -> Vec<usize> {
    let mut set = Bits::new(1, web.feeds.len());
    let swapped = || members.iter().map(|&member| if member == old { new } else { member });
    swapped().for_each(|member| set.insert(0, member));
    let mut front = vec![];
    for member in swapped().filter(|&member| !meet(web.later.row(member), set.row(0))) {
        if !front.contains(&member) {
            front.push(member);
        }
    }
    front
}
