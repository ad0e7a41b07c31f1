//! Where one can stand in a network: everything up to a front of layers is done, the rest is not.
//!
//! A front is a set of layers of which none feeds another. The first holds the first layer; the next ones replace a
//! layer that still feeds something by what it feeds. Stages begin and end at fronts. In a chain there are as many as
//! layers; branches side by side multiply, hence the limit.
//!
//! Conventions of PipeDream's optimizer are kept: sources whose name begins with `Input` are left out, and so are layers
//! called `__getitem__` that feed nothing; what a front hands on is all of its layers plus those before it that have a
//! branch which is not done as seen from one of them. Where that optimizer takes the order of a hash table, the order of
//! the file is taken.

use super::Refusal;
use super::bits::{Bits, has, meet, numbers};
use crate::pipeline::layers::Layers;
use std::collections::BTreeMap;

/// Most layers: sets of them are kept for each.
const MOST_LAYERS: usize = 8192;
/// Most states: sets of them are kept for each.
const MOST_STATES: usize = 8192;

/// Where one can stand in a network, so that whatever comes before is numbered lower.
#[derive(Clone, Debug)]
pub struct States {
    /// Forward and backward of all that is done, one minibatch.
    pub compute_s: Vec<f64>,
    /// Activations of all that is done.
    pub activation_bytes: Vec<f64>,
    /// Parameters of all that is done.
    pub parameter_bytes: Vec<f64>,
    /// What is handed on to the rest.
    pub handed_bytes: Vec<f64>,
    /// Layers that are no part of it and cost nothing, by what they are put beside: none for inputs.
    pub left_out: Vec<(usize, Option<usize>)>,
    before: Bits,
    done: Bits,
}

impl States {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.compute_s.len()
    }

    /// Never: a network without layers is refused.
    pub fn is_empty(&self) -> bool {
        self.compute_s.is_empty()
    }

    /// Whether one can get from the first to the second.
    pub fn is_before(&self, first: usize, second: usize) -> bool {
        self.before.has(second, first)
    }

    /// How many states can follow each other.
    pub fn longest(&self) -> usize {
        let mut longest: Vec<usize> = vec![];
        for state in 0..self.len() {
            let before = numbers(self.before.row(state)).map(|earlier| longest[earlier]).max();
            longest.push(before.unwrap_or(0) + 1);
        }
        longest.last().copied().unwrap_or(0)
    }

    /// Whether a layer is done in a state.
    pub fn has_done(&self, state: usize, layer: usize) -> bool {
        self.done.has(state, layer)
    }

    /// The layers that are done in a state, ascending.
    pub fn done(&self, state: usize) -> impl Iterator<Item = usize> + '_ {
        numbers(self.done.row(state))
    }
}

/// The states of a network.
pub fn states(layers: &Layers) -> Result<States, Refusal> {
    let web = Web::new(layers)?;
    let fronts = Fronts::find(&web)?;
    let order = fronts.sorted();
    let mut position = vec![0; order.len()];
    order.iter().enumerate().for_each(|(index, &front)| position[front] = index);

    let count = order.len();
    let sum = |set: &[u64], figure: &dyn Fn(usize) -> f64| numbers(set).map(figure).sum::<f64>();
    let layer = |index: usize| &layers.layers[index];
    let (mut done, mut before) = (Bits::new(count, layers.layers.len()), Bits::new(count, count));
    for (index, &front) in order.iter().enumerate() {
        for &member in &fronts.bare[front] {
            done.join_with(index, web.earlier.row(member));
            done.insert(index, member);
        }
        for next in fronts.next[front].iter().map(|&next| position[next]) {
            before.join(next, index);
            before.insert(next, index);
        }
    }
    let last = done.row(count - 1);
    if let Some(apart) = (0..layers.layers.len()).find(|&index| web.is_kept[index] && !has(last, index)) {
        return Err(Refusal::Apart { layer: layer(apart).id.clone(), first: layer(web.first).id.clone() });
    }
    let total =
        |figure: &dyn Fn(usize) -> f64| (0..count).map(|index| sum(done.row(index), figure)).collect();
    Ok(States {
        compute_s: total(&|index| layer(index).forward_s + layer(index).backward_s),
        activation_bytes: total(&|index| layer(index).activation_bytes),
        parameter_bytes: total(&|index| layer(index).parameter_bytes),
        handed_bytes: order
            .iter()
            .map(|&front| sum(fronts.whole.row(front), &|index| layer(index).activation_bytes))
            .collect(),
        left_out: web.left_out,
        before,
        done,
    })
}

/// Layers that are kept, and what comes before and after each.
pub(super) struct Web {
    pub(super) is_kept: Vec<bool>,
    left_out: Vec<(usize, Option<usize>)>,
    first: usize,
    pub(super) feeds: Vec<Vec<usize>>,
    /// So that what feeds comes before what is fed.
    pub(super) order: Vec<usize>,
    earlier: Bits,
    later: Bits,
    /// For each layer, those before it that also feed what is neither before it nor itself.
    open: Bits,
}

impl Web {
    pub(super) fn new(layers: &Layers) -> Result<Self, Refusal> {
        let count = layers.layers.len();
        if count > MOST_LAYERS {
            return Err(Refusal::TooManyLayers { layers: count, most: MOST_LAYERS });
        }
        if let Some(&edge) = layers.edges.iter().find(|(from, to)| *from.max(to) >= count) {
            return Err(Refusal::Edge { edge, layers: count });
        }
        let is_fine = |figure: f64| figure.is_finite() && figure >= 0.0;
        if let Some(odd) = layers.layers.iter().find(|layer| {
            !(is_fine(layer.forward_s + layer.backward_s)
                && is_fine(layer.forward_s.min(layer.backward_s))
                && is_fine(layer.activation_bytes)
                && is_fine(layer.parameter_bytes))
        }) {
            return Err(Refusal::Figure { layer: odd.id.clone() });
        }
        let (is_kept, left_out) = keep(layers);
        let mut feeds = vec![vec![]; count];
        let mut fed_by = vec![vec![]; count];
        for &(from, to) in layers.edges.iter().filter(|(from, to)| is_kept[*from] && is_kept[*to]) {
            feeds[from].push(to);
            fed_by[to].push(from);
        }
        let order = sort(layers, &feeds, &fed_by)?;
        let Some(first) = (0..count).find(|&index| is_kept[index] && fed_by[index].is_empty()) else {
            return Err(Refusal::Empty);
        };
        let (mut earlier, mut later) = (Bits::new(count, count), Bits::new(count, count));
        for &index in &order {
            for &from in &fed_by[index] {
                earlier.join(index, from);
                earlier.insert(index, from);
            }
        }
        for &index in order.iter().rev() {
            for &to in &feeds[index] {
                later.join(index, to);
                later.insert(index, to);
            }
        }
        let mut open = Bits::new(count, count);
        for index in 0..count {
            for from in numbers(earlier.row(index)) {
                if feeds[from].iter().any(|&to| to != index && !earlier.has(index, to)) {
                    open.insert(index, from);
                }
            }
        }
        Ok(Web { is_kept, left_out, first, feeds, order, earlier, later, open })
    }
}

/// Which layers are kept; inputs and what nobody uses are not.
fn keep(layers: &Layers) -> (Vec<bool>, Vec<(usize, Option<usize>)>) {
    let mut is_kept = vec![true; layers.layers.len()];
    let mut left_out = vec![];
    let is_fed: Vec<bool> = marked(layers, |&(_, to)| to);
    let feeds: Vec<bool> = marked(layers, |&(from, _)| from);
    for (index, layer) in layers.layers.iter().enumerate() {
        if layer.name.starts_with("Input") && !is_fed[index] {
            is_kept[index] = false;
            left_out.push((index, None));
        } else if layer.name.starts_with("__getitem__") && !feeds[index] {
            is_kept[index] = false;
            let beside = layers.edges.iter().find(|(_, to)| *to == index).map(|(from, _)| *from);
            left_out.push((index, beside));
        }
    }
    (is_kept, left_out)
}

fn marked(layers: &Layers, end: impl Fn(&(usize, usize)) -> usize) -> Vec<bool> {
    let mut marks = vec![false; layers.layers.len()];
    layers.edges.iter().for_each(|edge| marks[end(edge)] = true);
    marks
}

/// Layers so that what feeds comes before what is fed.
fn sort(layers: &Layers, feeds: &[Vec<usize>], fed_by: &[Vec<usize>]) -> Result<Vec<usize>, Refusal> {
    let mut waits: Vec<usize> = fed_by.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..waits.len()).filter(|&index| waits[index] == 0).collect();
    let mut at = 0;
    while at < order.len() {
        for &to in &feeds[order[at]] {
            waits[to] -= 1;
            if waits[to] == 0 {
                order.push(to);
            }
        }
        at += 1;
    }
    let Some(stuck) = waits.iter().position(|&wait| wait > 0) else {
        return Ok(order);
    };
    // Whatever still waits is fed by something that still waits: going back leads around a circle.
    let mut path = vec![stuck];
    loop {
        let from = fed_by[path[path.len() - 1]].iter().copied().find(|&from| waits[from] > 0);
        let from = from.unwrap_or(stuck);
        if let Some(begin) = path.iter().position(|&index| index == from) {
            path.push(from);
            let circle = path[begin..].iter().rev().map(|&index| layers.layers[index].id.clone());
            return Err(Refusal::Cycle { layers: circle.collect() });
        }
        path.push(from);
    }
}

/// All fronts, in the order in which they are found.
struct Fronts {
    bare: Vec<Vec<usize>>,
    /// With the layers before it that still feed something.
    whole: Bits,
    next: Vec<Vec<usize>>,
}

impl Fronts {
    fn find(web: &Web) -> Result<Self, Refusal> {
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
    fn sorted(&self) -> Vec<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::layers::Layer;

    fn network(names: &[&str], edges: &[(usize, usize)]) -> Layers {
        let layer = |(index, name): (usize, &&str)| Layer {
            id: format!("n{index}"),
            name: name.to_string(),
            forward_s: 1.0,
            backward_s: 2.0,
            activation_bytes: 10.0,
            parameter_bytes: 100.0,
        };
        Layers { layers: names.iter().enumerate().map(layer).collect(), edges: edges.to_vec() }
    }

    #[test]
    fn two_branches_can_be_done_one_by_one_or_both() {
        let layers = network(&["a", "b", "c", "d"], &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        let states = states(&layers).unwrap();
        assert_eq!(states.compute_s, [3.0, 6.0, 6.0, 9.0, 12.0]);
        // As long as one branch is open, what it begins from is handed on too; as coded, also when both are done.
        assert_eq!(states.handed_bytes, [10.0, 20.0, 20.0, 30.0, 10.0]);
        assert!(states.is_before(0, 3) && states.is_before(1, 4) && !states.is_before(1, 2));
    }

    #[test]
    fn inputs_and_what_nobody_uses_are_left_out() {
        let layers = network(&["Input0", "a", "__getitem__(1)", "b"], &[(0, 1), (1, 2), (1, 3)]);
        let states = states(&layers).unwrap();
        assert_eq!(states.compute_s, [3.0, 6.0]);
        assert_eq!(states.left_out, [(0, None), (2, Some(1))]);
    }

    #[test]
    fn refusals_name_what_is_wrong() {
        let said = |names: &[&str], edges: &[(usize, usize)]| {
            states(&network(names, edges)).unwrap_err().to_string()
        };
        let circle = said(&["a", "b", "c", "d"], &[(0, 1), (1, 2), (2, 1), (2, 3)]);
        assert_eq!(circle, "the layers n1, n2, n1 feed each other; break the circle");
        assert!(said(&["a", "b"], &[(0, 0)]).contains("n0, n0"));
        assert!(said(&["a", "b"], &[(0, 7)]).contains("leaves the network"));
        assert!(said(&["a", "b"], &[]).contains("layer n1 has no connection with layer n0"));
        assert!(said(&["Input0"], &[]).contains("no layers but inputs"));
        assert!(said(&[], &[]).contains("no layers but inputs"));
    }

    #[test]
    fn branches_without_end_are_refused_not_counted() {
        let names = vec!["x"; 42];
        let edges: Vec<(usize, usize)> = (1..41).flat_map(|middle| [(0, middle), (middle, 41)]).collect();
        let refused = states(&network(&names, &edges)).unwrap_err();
        assert!(refused.to_string().contains("group the layers"), "{refused}");
    }
}
