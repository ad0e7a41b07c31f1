//! Local search over rings: segments change places or are turned round, until a count is used up.

use crate::dice::Dice;
use std::collections::VecDeque;

/// How many of the fastest neighbours of a host are considered.
const NEAR: usize = 10;

/// A ring being improved.
pub struct Improver<'a> {
    table: &'a [Vec<f64>],
    threshold: f64,
    /// What a link below the threshold costs more than any ring of others.
    fine: f64,
    order: Vec<usize>,
    place: Vec<usize>,
    /// By place: cost of the way from the first host to here, and of the way back.
    forth: Vec<f64>,
    back: Vec<f64>,
    out: Vec<Vec<usize>>,
    into: Vec<Vec<usize>>,
    /// Hosts whose links may still be worth changing, and whether each is among them.
    waiting: VecDeque<usize>,
    waits: Vec<bool>,
    /// Candidates looked at.
    pub tried: u64,
}

impl<'a> Improver<'a> {
    /// Starts from this order.
    pub fn new(table: &'a [Vec<f64>], threshold: f64, order: &[usize]) -> Self {
        let count = table.len();
        let slowest =
            table.iter().flatten().copied().filter(|&speed| speed > 0.0).fold(f64::INFINITY, f64::min);
        let near = |host: usize, speed: &dyn Fn(usize) -> f64| -> Vec<usize> {
            // Among equals those that follow in the list: so that not all hosts look at the same few.
            let mut others: Vec<usize> = (1..count).map(|ahead| (host + ahead) % count).collect();
            let cut = NEAR.min(others.len() - 1);
            let key = |other: usize| (speed(other), (other + count - host) % count);
            let order = |one: &usize, other: &usize| {
                let (one, other) = (key(*one), key(*other));
                other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
            };
            others.select_nth_unstable_by(cut, order);
            others.truncate(cut + 1);
            others.sort_by(order);
            others
        };
        let out = (0..count).map(|host| near(host, &|to| table[host][to])).collect();
        let into = (0..count).map(|host| near(host, &|from| table[from][host])).collect();
        let fine = 4.0 * count as f64 / slowest;
        let mut improver = Improver {
            table,
            threshold,
            fine,
            order: order.to_vec(),
            place: vec![0; count],
            forth: vec![0.0; count + 1],
            back: vec![0.0; count + 1],
            out,
            into,
            waiting: (0..count).collect(),
            waits: vec![true; count],
            tried: 0,
        };
        improver.refresh();
        improver
    }

    /// The ring as it is.
    pub fn order(&self) -> Vec<usize> {
        self.order.clone()
    }

    fn cost(&self, from: usize, to: usize) -> f64 {
        let speed = self.table[from][to];
        match () {
            () if speed >= self.threshold => 1.0 / speed,
            () if speed > 0.0 => self.fine + 1.0 / speed,
            () => 4.0 * self.fine,
        }
    }

    /// Places and sums after a change.
    fn refresh(&mut self) {
        let count = self.order.len();
        for at in 0..count {
            let (here, next) = (self.order[at], self.order[(at + 1) % count]);
            self.place[here] = at;
            self.forth[at + 1] = self.forth[at] + self.cost(here, next);
            self.back[at + 1] = self.back[at] + self.cost(next, here);
        }
    }

    fn total(&self) -> f64 {
        self.forth[self.order.len()]
    }

    /// Improves, shuffles and improves again. Where `enough`, ends as soon as no link is below the threshold.
    pub fn run(&mut self, patience: u64, enough: bool, dice: &mut Dice) {
        let patience = patience + 400 * self.order.len() as u64;
        self.settle(patience);
        let (mut best, mut least) = (self.order.clone(), self.total());
        while self.tried < patience && !(enough && least < self.fine) {
            self.shuffle(dice);
            self.settle(patience);
            if self.total() < least * (1.0 - 1e-12) {
                (best, least) = (self.order.clone(), self.total());
            } else {
                self.order.clone_from(&best);
                self.refresh();
            }
        }
        self.order = best;
        self.refresh();
    }

    /// Takes every improvement until nobody is left who could have one.
    fn settle(&mut self, patience: u64) {
        while self.tried < patience
            && let Some(host) = self.waiting.pop_front()
        {
            self.waits[host] = false;
            while self.tried < patience && (self.swap_segments(host) || self.turn_segment(host)) {}
        }
    }

    /// The links of these hosts have changed.
    fn wake(&mut self, hosts: &[usize]) {
        for &host in hosts {
            if !self.waits[host] {
                self.waits[host] = true;
                self.waiting.push_back(host);
            }
        }
    }

    /// `a -> x .. b -> y .. c -> z` becomes `a -> y .. c -> x .. b -> z`: two neighbouring segments change places.
    fn swap_segments(&mut self, a: usize) -> bool {
        let count = self.order.len();
        let turn = |place: usize, base: usize| (place + count - base) % count;
        let base = self.place[a];
        let x = self.order[(base + 1) % count];
        let removed = self.cost(a, x);
        for near in 0..self.out[a].len() {
            let y = self.out[a][near];
            let first = removed - self.cost(a, y);
            if first <= 0.0 {
                break;
            }
            let at_y = turn(self.place[y], base);
            if at_y < 2 {
                continue;
            }
            let b = self.order[(base + at_y - 1) % count];
            let second = first + self.cost(b, y);
            for other in 0..self.into[x].len() {
                self.tried += 1;
                let c = self.into[x][other];
                let third = second - self.cost(c, x);
                if third <= 0.0 {
                    break;
                }
                let at_c = turn(self.place[c], base);
                if at_c < at_y {
                    continue;
                }
                let z = self.order[(base + at_c + 1) % count];
                let gain = third + self.cost(c, z) - self.cost(b, z);
                if gain > self.least_gain() {
                    self.order.rotate_left(base);
                    self.order[1..=at_c].rotate_left(at_y - 1);
                    self.refresh();
                    self.wake(&[a, x, b, y, c, z]);
                    return true;
                }
            }
        }
        false
    }

    /// `a -> x .. y -> z` becomes `a -> y .. x -> z`: the segment is turned round.
    fn turn_segment(&mut self, a: usize) -> bool {
        let count = self.order.len();
        let mut base = self.place[a];
        let x = self.order[(base + 1) % count];
        for near in 0..self.out[a].len() {
            self.tried += 1;
            let y = self.out[a][near];
            let at = (self.place[y] + count - base) % count;
            if at < 2 {
                continue;
            }
            let z = self.order[(base + at + 1) % count];
            if z == a {
                continue;
            }
            let old = self.cost(a, x) + self.cost(y, z);
            let new = self.cost(a, y) + self.cost(x, z);
            // The segment's own links, the other way round.
            let (from, to) = ((base + 1) % count, (base + at) % count);
            let along = |sums: &[f64]| match from <= to {
                true => sums[to] - sums[from],
                false => sums[count] - sums[from] + sums[to],
            };
            let change = new - old + along(&self.back) - along(&self.forth);
            if -change > self.least_gain() {
                let before = self.total();
                self.order.rotate_left(base);
                self.order[1..=at].reverse();
                self.refresh();
                if self.total() < before {
                    self.wake(&[a, x, y, z]);
                    return true;
                }
                // The sums were too large to see so small a change.
                self.order[1..=at].reverse();
                self.refresh();
                base = 0;
            }
        }
        false
    }

    /// Less is only rounding.
    fn least_gain(&self) -> f64 {
        1e-12 * self.fine
    }

    /// Two neighbouring short segments change places, whatever it costs.
    fn shuffle(&mut self, dice: &mut Dice) {
        let count = self.order.len();
        let longest = (count / 3).clamp(1, 30);
        let (one, other) = (1 + dice.below(longest), 1 + dice.below(longest));
        let base = self.place[self.worst(dice)];
        self.order.rotate_left(base);
        let ends = [0, 1, one, one + 1, one + other, one + other + 1];
        self.order[1..=one + other].rotate_left(one);
        self.refresh();
        self.wake(&ends.map(|at| self.order[at % count]));
        let after = [other, other + 1];
        self.wake(&after.map(|at| self.order[at]));
        self.tried += 1;
    }

    /// Somebody before a link that is below the threshold, or anybody.
    fn worst(&self, dice: &mut Dice) -> usize {
        let count = self.order.len();
        let start = dice.below(count);
        let bad = |at: &usize| self.forth[at + 1] - self.forth[*at] >= self.fine;
        let found = (0..count).map(|ahead| (start + ahead) % count).find(bad);
        // Near it rather than at it: the way there may have to change first.
        let back = if found.is_some() { dice.below(6.min(count)) } else { 0 };
        self.order[(found.unwrap_or(start) + count - back) % count]
    }
}
