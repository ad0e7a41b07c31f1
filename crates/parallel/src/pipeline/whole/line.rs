//! A network put in line: cleaned of what costs nothing, and in an order in which everything comes after what feeds it.
//!
//! A plan cuts the line; a cut carries every tensor that is made before it and used behind it, once, also those that
//! are only passed through. Inputs (sources that learn nothing and take no time, or whose name begins with `Input`) are
//! left out: every device can load them itself, and what a profile says of their time is that of loading. So are ends
//! that cost nothing and feed nobody. Layers that take no time stay with the layer that feeds them unless they hand on
//! more than they get. For a network with branches the order follows one branch to its end before the next. That is a
//! simplification: cuts across branches in another proportion exist only where another line is asked for
//! ([`Line::along`]).

use super::refusal::Refusal;
use crate::pipeline::layers::Layers;

/// A cleaned network in line, with sums along it.
#[derive(Clone, Debug)]
pub struct Line {
    /// Layers by index in the order of the line.
    pub order: Vec<usize>,
    /// Places where a cut may be, as positions in `order`; from 0 to its length.
    pub places: Vec<usize>,
    /// Bytes that cross a cut at a place, for one minibatch.
    pub crossing: Vec<f64>,
    /// By kind and place: time of everything before it, of one minibatch.
    pub sums: Vec<Vec<Sums>>,
    /// By place: what everything before it keeps from forward to backward.
    pub activations: Vec<f64>,
    /// By place: what everything before it learns.
    pub parameters: Vec<f64>,
    /// By place: what layers that learn hand on, which is what tensor parallelism has to add up.
    pub shared: Vec<f64>,
    /// By place: how many layers before it learn.
    pub learning: Vec<f64>,
}

/// Times of one minibatch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Forward.
    pub forward_s: f64,
    /// Gradients of what came in.
    pub backward_s: f64,
    /// Gradients of what is learned.
    pub weight_s: f64,
}

/// What is left of a network after cleaning.
#[derive(Clone, Debug)]
pub struct Clean {
    /// By layer: whether it stays.
    pub stays: Vec<bool>,
    /// Edges between those that stay: by layer, whom it feeds, in order.
    pub feeds: Vec<Vec<usize>>,
    /// By layer: what feeds it, in order.
    pub fed: Vec<Vec<usize>>,
    /// In words, what was left out.
    pub told: Vec<String>,
}

/// Checks a network and leaves out what costs nothing.
pub fn clean(layers: &Layers) -> Result<Clean, Refusal> {
    let count = layers.layers.len();
    if count == 0 {
        return Err(Refusal::NoLayers);
    }
    for layer in &layers.layers {
        let figures = [
            ("forward time", layer.forward_s),
            ("backward time", layer.backward_s),
            ("activation size", layer.activation_bytes),
            ("parameter size", layer.parameter_bytes),
        ];
        if let Some((what, _)) = figures.iter().find(|(_, figure)| !(figure.is_finite() && *figure >= 0.0)) {
            return Err(Refusal::Figure { layer: layer.id.clone(), what });
        }
    }
    if layers.layers.iter().all(|layer| layer.forward_s + layer.backward_s <= 0.0) {
        return Err(Refusal::NoWork);
    }
    let mut clean = Clean {
        stays: vec![true; count],
        feeds: vec![vec![]; count],
        fed: vec![vec![]; count],
        told: vec![],
    };
    for (number, &(from, to)) in layers.edges.iter().enumerate() {
        if from >= count || to >= count {
            return Err(Refusal::Edge(number));
        }
        clean.feeds[from].push(to);
        clean.fed[to].push(from);
    }
    for list in clean.feeds.iter_mut().chain(clean.fed.iter_mut()) {
        list.sort_unstable();
        list.dedup();
    }
    circle(layers, &clean)?;
    clean.leave_out_ends(layers);
    Ok(clean)
}

/// Names a circle where there is one.
fn circle(layers: &Layers, clean: &Clean) -> Result<(), Refusal> {
    let order = topological(clean, |_| 0);
    if order.len() == layers.layers.len() {
        return Ok(());
    }
    // Whoever is not in the order has a feeder that is not: walking back comes around.
    let mut placed = vec![false; layers.layers.len()];
    order.iter().for_each(|&layer| placed[layer] = true);
    let mut seen = vec![usize::MAX; placed.len()];
    let mut walk = vec![];
    let mut at = placed.iter().position(|placed| !placed).unwrap_or(0);
    while seen[at] == usize::MAX {
        seen[at] = walk.len();
        walk.push(at);
        let Some(&back) = clean.fed[at].iter().find(|&&back| !placed[back]) else { break };
        at = back;
    }
    let mut names: Vec<String> =
        walk[seen[at]..].iter().rev().map(|&layer| layers.layers[layer].id.clone()).collect();
    names.insert(0, layers.layers[at].id.clone());
    Err(Refusal::Cycle(names))
}

impl Clean {
    fn leave_out_ends(&mut self, layers: &Layers) {
        let free = |index: usize| {
            let layer = &layers.layers[index];
            layer.forward_s + layer.backward_s <= 0.0 && layer.parameter_bytes <= 0.0
        };
        let (mut inputs, mut dead) = (vec![], vec![]);
        for _ in 0..layers.layers.len() {
            let is_input = |layer: usize| free(layer) || layers.layers[layer].name.starts_with("Input");
            let input = (0..self.stays.len())
                .find(|&layer| self.stays[layer] && self.fed[layer].is_empty() && is_input(layer));
            let ends: Vec<usize> = (0..self.stays.len())
                .filter(|&layer| self.stays[layer] && self.feeds[layer].is_empty())
                .collect();
            let end = ends.iter().copied().find(|&layer| ends.len() > 1 && free(layer));
            match (input, end) {
                (Some(layer), _) => {
                    inputs.push(layer);
                    self.remove(layer);
                }
                (None, Some(layer)) => {
                    dead.push(layer);
                    self.remove(layer);
                }
                (None, None) => break,
            }
        }
        let names = |list: &[usize]| {
            let names: Vec<&str> =
                list.iter().take(3).map(|&layer| layers.layers[layer].id.as_str()).collect();
            names.join(", ") + if list.len() > 3 { ", ..." } else { "" }
        };
        if !inputs.is_empty() {
            self.told.push(format!("inputs are loaded where they are needed: {}", names(&inputs)));
        }
        if !dead.is_empty() {
            self.told.push(format!("layers without consumers and cost are left out: {}", names(&dead)));
        }
    }

    /// Whether what stays hangs together.
    pub fn is_joined(&self) -> bool {
        let Some(first) = self.stays.iter().position(|stays| *stays) else { return true };
        let mut seen = vec![false; self.stays.len()];
        let mut stack = vec![first];
        while let Some(layer) = stack.pop() {
            if !std::mem::replace(&mut seen[layer], true) {
                stack.extend(self.feeds[layer].iter().chain(&self.fed[layer]));
            }
        }
        seen.iter().zip(&self.stays).all(|(seen, stays)| seen == stays)
    }

    fn remove(&mut self, layer: usize) {
        self.stays[layer] = false;
        for next in std::mem::take(&mut self.feeds[layer]) {
            self.fed[next].retain(|&other| other != layer);
        }
        for before in std::mem::take(&mut self.fed[layer]) {
            self.feeds[before].retain(|&other| other != layer);
        }
    }
}

/// Everything after what feeds it; among those that may come next, the lowest `rank`, then the one that became ready
/// last, so that branches are followed to their end.
fn topological(clean: &Clean, rank: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut waits: Vec<usize> = clean.fed.iter().map(Vec::len).collect();
    let mut ready: std::collections::BTreeSet<(usize, std::cmp::Reverse<usize>, usize)> =
        std::collections::BTreeSet::new();
    let mut turn = 0;
    for layer in (0..clean.stays.len()).rev().filter(|&layer| clean.stays[layer] && waits[layer] == 0) {
        ready.insert((rank(layer), std::cmp::Reverse(turn), layer));
        turn += 1;
    }
    let mut order = vec![];
    while let Some((_, _, layer)) = ready.pop_first() {
        order.push(layer);
        for &next in clean.feeds[layer].iter().rev() {
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.insert((rank(next), std::cmp::Reverse(turn), next));
                turn += 1;
            }
        }
    }
    order
}

impl Line {
    /// One branch after the other; layers that take no time stay with what feeds them. `factors` has the speed of
    /// every kind at every layer, `kept` what each layer keeps, where that is not what it hands on.
    pub fn of(layers: &Layers, clean: &Clean, factors: &[Vec<f64>], kept: &[f64]) -> Self {
        let order = topological(clean, |_| 0);
        let stuck = |position: usize| {
            let layer = &layers.layers[order[position]];
            let free = layer.forward_s + layer.backward_s <= 0.0 && layer.parameter_bytes <= 0.0;
            let before = &layers.layers[order[position - 1]];
            let only = clean.fed[order[position]] == [order[position - 1]]
                && clean.feeds[order[position - 1]] == [order[position]];
            free && only && layer.activation_bytes <= before.activation_bytes
        };
        let places = (0..=order.len()).filter(|&at| at == 0 || at == order.len() || !stuck(at)).collect();
        Self::with(layers, clean, factors, kept, (order, places))
    }

    /// In stages that somebody else chose: every layer of one stage before every layer of the next. `stage` is given by
    /// layer; what it says of layers that were left out means nothing. `None` when an edge would run backward.
    pub fn along(
        layers: &Layers,
        clean: &Clean,
        factors: &[Vec<f64>],
        kept: &[f64],
        stage: &[usize],
    ) -> Option<Self> {
        let order = topological(clean, |layer| stage[layer]);
        let is_sorted = order.windows(2).all(|pair| stage[pair[0]] <= stage[pair[1]]);
        let places = (0..=order.len()).collect();
        is_sorted.then(|| Self::with(layers, clean, factors, kept, (order, places)))
    }

    fn with(
        layers: &Layers,
        clean: &Clean,
        factors: &[Vec<f64>],
        kept: &[f64],
        (order, places): (Vec<usize>, Vec<usize>),
    ) -> Self {
        let mut position = vec![0; layers.layers.len()];
        order.iter().enumerate().for_each(|(at, &layer)| position[layer] = at);
        // A tensor is under way from behind its layer to its last user.
        let mut change = vec![0.0; order.len() + 1];
        for (at, &layer) in order.iter().enumerate() {
            if let Some(last) = clean.feeds[layer].iter().map(|&next| position[next]).max() {
                change[at + 1] += layers.layers[layer].activation_bytes;
                change[last + 1] -= layers.layers[layer].activation_bytes;
            }
        }
        let along = |figure: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let mut sum = 0.0;
            let mut sums = vec![0.0];
            sums.extend(order.iter().map(|&layer| {
                sum += figure(layer);
                sum
            }));
            places.iter().map(|&place| sums[place]).collect()
        };
        let layer = |index: usize| &layers.layers[index];
        let learns = |index: usize| layer(index).parameter_bytes > 0.0;
        let of_kind = |factors: &Vec<f64>| {
            let forward = along(&|index| layer(index).forward_s / factors[index]);
            // Half of the backward time of a layer that learns goes to what it learns.
            let part = |index: usize| if learns(index) { 0.5 } else { 0.0 };
            let backward = along(&|index| layer(index).backward_s * (1.0 - part(index)) / factors[index]);
            let weight = along(&|index| layer(index).backward_s * part(index) / factors[index]);
            let sums = forward.into_iter().zip(backward).zip(weight);
            sums.map(|((forward_s, backward_s), weight_s)| Sums { forward_s, backward_s, weight_s }).collect()
        };
        let mut under_way = 0.0;
        let crossings: Vec<f64> = change
            .iter()
            .map(|change| {
                under_way += change;
                f64::max(under_way, 0.0)
            })
            .collect();
        Line {
            crossing: places.iter().map(|&place| crossings[place]).collect(),
            sums: factors.iter().map(of_kind).collect(),
            activations: along(&|index| kept.get(index).copied().unwrap_or(layer(index).activation_bytes)),
            parameters: along(&|index| layer(index).parameter_bytes),
            shared: along(&|index| if learns(index) { layer(index).activation_bytes } else { 0.0 }),
            learning: along(&|index| if learns(index) { 1.0 } else { 0.0 }),
            order,
            places,
        }
    }

    /// How many pieces there are between places.
    pub fn pieces(&self) -> usize {
        self.places.len() - 1
    }

    /// Times between two places on a kind.
    pub fn times(&self, kind: usize, from: usize, to: usize) -> Sums {
        let (low, high) = (self.sums[kind][from], self.sums[kind][to]);
        Sums {
            forward_s: high.forward_s - low.forward_s,
            backward_s: high.backward_s - low.backward_s,
            weight_s: high.weight_s - low.weight_s,
        }
    }
}

impl Sums {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.forward_s + self.backward_s + self.weight_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::layers::Layer;

    fn network(times: &[f64], edges: &[(usize, usize)]) -> Layers {
        let layer = |(index, &time): (usize, &f64)| Layer {
            id: format!("l{index}"),
            name: String::new(),
            forward_s: time,
            backward_s: 2.0 * time,
            activation_bytes: 10.0,
            parameter_bytes: if time > 0.0 { 100.0 } else { 0.0 },
        };
        Layers { layers: times.iter().enumerate().map(layer).collect(), edges: edges.into() }
    }

    #[test]
    fn a_cut_carries_each_tensor_once_also_past_a_stage() {
        let layers = network(&[1.0, 1.0, 1.0, 1.0], &[(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)]);
        let line = Line::of(&layers, &clean(&layers).unwrap(), &[vec![1.0; 4]], &[]);
        assert_eq!(line.crossing, [0.0, 10.0, 20.0, 20.0, 0.0]);
        assert_eq!(line.times(0, 1, 3), Sums { forward_s: 2.0, backward_s: 2.0, weight_s: 2.0 });
    }

    #[test]
    fn what_costs_nothing_is_left_out_or_stays_with_what_feeds_it() {
        // An input, a layer, a free one behind it, a layer, and a dead end.
        let layers = network(&[0.0, 1.0, 0.0, 1.0, 0.0], &[(0, 1), (1, 2), (2, 3), (1, 4)]);
        let clean = clean(&layers).unwrap();
        assert_eq!(clean.stays, [false, true, true, true, false]);
        assert_eq!(clean.told.len(), 2);
        let line = Line::of(&layers, &clean, &[vec![1.0; 5]], &[]);
        assert_eq!((line.order, line.places), (vec![1, 2, 3], vec![0, 2, 3]));
    }

    #[test]
    fn branches_are_followed_to_their_end() {
        let layers = network(&[1.0; 6], &[(0, 1), (0, 3), (1, 2), (3, 4), (2, 5), (4, 5)]);
        let cleaned = clean(&layers).unwrap();
        assert_eq!(Line::of(&layers, &cleaned, &[vec![1.0; 6]], &[]).order, [0, 1, 2, 3, 4, 5]);
        let by_level = Line::along(&layers, &cleaned, &[vec![1.0; 6]], &[], &[0, 0, 1, 0, 1, 1]).unwrap();
        assert_eq!(by_level.order, [0, 1, 3, 4, 2, 5]);
        assert!(Line::along(&layers, &cleaned, &[vec![1.0; 6]], &[], &[1, 0, 0, 0, 0, 0]).is_none());
    }

    #[test]
    fn a_circle_is_named() {
        let layers = network(&[1.0; 4], &[(0, 1), (1, 2), (2, 1), (2, 3)]);
        let said = clean(&layers).unwrap_err().to_string();
        assert_eq!(said, "the layers l1, l2, l1 form a cycle; break it");
    }
}
