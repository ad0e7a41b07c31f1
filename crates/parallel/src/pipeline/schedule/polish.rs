//! An order made better by small moves along what makes it long.
//!
//! As in local search for job shops: the critical path is a chain of actions without slack from the start to the end. A
//! move takes one action of that chain and puts it elsewhere in the list of its device. It stays if the makespan is not
//! longer and the device holds no more than it may. Which action goes where is rolled with seeded dice, and the effort is
//! counted in actions played, so that the same order comes out everywhere.
//!
//! Does badly where a better order is several worse moves away.

use super::played::Whole;
use super::{Action, Pipe, Refusal, Work};
use crate::dice::Dice;

/// How many actions are played at most, over all moves.
const EFFORT: usize = 4_000_000;

/// After so many moves without a shorter makespan it stops: what is found is found early.
const STALE: usize = 1_500;

/// How far an action is moved at most.
const FAR: usize = 8;

/// Orders with their makespan.
pub struct Polished {
    pub orders: Vec<Vec<Action>>,
    pub makespan_s: f64,
    pub tried: u64,
}

/// Moves actions while that does no harm. The limits are how many activations each device may hold; at the bound it
/// stops.
pub fn polish(
    orders: Vec<Vec<Action>>,
    pipe: &Pipe,
    limits: &[usize],
    bound_s: f64,
) -> Result<Polished, Refusal> {
    let actions: usize = orders.iter().map(Vec::len).sum();
    let moves = EFFORT / actions.max(1);
    let mut search = Search::new(orders, pipe)?;
    let mut dice = Dice::new(1);
    let (mut chain, mut tried, mut since) = (search.chain(), 0, 0);
    while tried < moves && since < STALE && search.makespan_s > bound_s && !chain.is_empty() {
        (tried, since) = (tried + 1, since + 1);
        let before_s = search.makespan_s;
        let (device, from) = chain[dice.below(chain.len())];
        let to = search.target(&mut dice, device, from);
        search.shift(device, from, to);
        let is_allowed = search.whole.held(&search.orders[device]) <= limits[device];
        if to != from && is_allowed && search.is_no_longer() {
            chain = search.chain();
            since = if search.makespan_s < before_s { 0 } else { since };
        } else {
            search.shift(device, to, from);
        }
    }
    Ok(Polished { orders: search.orders, makespan_s: search.makespan_s, tried: tried as u64 })
}

/// Orders, and when everything in them happens.
struct Search<'a> {
    pipe: &'a Pipe,
    whole: Whole,
    orders: Vec<Vec<Action>>,
    /// By work, part and microbatch: the place in the list of its device.
    places: [Vec<usize>; 3],
    /// By device and place: start and end. And the same while a move is tried.
    spans: Vec<Vec<(f64, f64)>>,
    trial: Vec<Vec<(f64, f64)>>,
    ends_s: Vec<f64>,
    makespan_s: f64,
}

impl<'a> Search<'a> {
    fn new(orders: Vec<Vec<Action>>, pipe: &'a Pipe) -> Result<Self, Refusal> {
        let whole = Whole::read(&orders, pipe)?;
        let none = vec![0; pipe.parts.len() * pipe.microbatches];
        let mut places = [none.clone(), none.clone(), none];
        for (place, &action) in orders.iter().flat_map(|list| list.iter().enumerate()) {
            places[action.work as usize][whole.at(action)] = place;
        }
        let empty = vec![vec![]; orders.len()];
        let (spans, trial) = (empty.clone(), empty);
        let mut search =
            Search { pipe, whole, orders, places, spans, trial, ends_s: vec![], makespan_s: f64::INFINITY };
        search.play()?;
        Ok(search)
    }

    /// Plays the orders as they are, and keeps the times if the makespan is not longer.
    fn play(&mut self) -> Result<bool, Refusal> {
        self.trial.iter_mut().for_each(Vec::clear);
        let trial = &mut self.trial;
        let ends_s = self
            .whole
            .walk(&self.orders, self.pipe, |device, _, from_s, to_s| trial[device].push((from_s, to_s)))?;
        let makespan_s = ends_s.iter().copied().fold(0.0, f64::max);
        let is_kept = makespan_s <= self.makespan_s;
        if is_kept {
            std::mem::swap(&mut self.spans, &mut self.trial);
            (self.ends_s, self.makespan_s) = (ends_s, makespan_s);
        }
        Ok(is_kept)
    }

    /// An order that blocks itself is no better either.
    fn is_no_longer(&mut self) -> bool {
        self.play().unwrap_or(false)
    }

    /// Moves one action within the list of its device.
    fn shift(&mut self, device: usize, from: usize, to: usize) {
        let list = &mut self.orders[device];
        match from < to {
            true => list[from..=to].rotate_left(1),
            false => list[to..=from].rotate_right(1),
        }
        for place in from.min(to)..=from.max(to) {
            let action = self.orders[device][place];
            self.places[action.work as usize][self.whole.at(action)] = place;
        }
    }

    /// Where to put an action: next door as often as not. Further away, gradients of weights go later, since nobody
    /// waits for them, and all else goes earlier.
    fn target(&self, dice: &mut Dice, device: usize, from: usize) -> usize {
        let (action, last) = (self.orders[device][from], self.orders[device].len() - 1);
        let is_later = match dice.below(4) {
            0 => true,
            1 => false,
            _ => action.work == Work::Weight,
        };
        let far = if dice.below(2) == 0 { 1 } else { 1 + dice.below(FAR) };
        if is_later { (from + far).min(last) } else { from.saturating_sub(far) }
    }

    /// A chain without slack from the start to the end, by device and place.
    fn chain(&self) -> Vec<(usize, usize)> {
        let last = (0..self.orders.len()).find(|&device| self.ends_s[device] == self.makespan_s);
        let mut chain = vec![];
        let mut at = last.map(|device| (device, self.orders[device].len() - 1));
        while let Some((device, place)) = at {
            chain.push((device, place));
            let (from_s, _) = self.spans[device][place];
            let is_free_before = place == 0 || self.spans[device][place - 1].1 < from_s;
            at = match is_free_before {
                false => Some((device, place - 1)),
                true => self.needed(self.orders[device][place]),
            };
        }
        chain
    }

    /// What an action needs from another device.
    fn needed(&self, action: Action) -> Option<(usize, usize)> {
        let part = match action.work {
            Work::Forward => action.part.checked_sub(1)?,
            Work::Backward => Some(action.part + 1).filter(|&part| part < self.pipe.parts.len())?,
            Work::Weight => return None,
        };
        let place = self.places[action.work as usize][self.whole.at(Action { part, ..action })];
        Some((self.whole.device_of[part], place))
    }
}
