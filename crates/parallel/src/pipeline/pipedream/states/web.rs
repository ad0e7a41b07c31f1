//! A network without what costs nothing: who comes before and behind whom.

use crate::pipeline::layers::Layers;
use crate::pipeline::pipedream::Refusal;
use crate::pipeline::pipedream::bits::{Bits, numbers};

/// Most layers: sets of them are kept for each.
const MOST_LAYERS: usize = 8192;

/// Layers that are kept, and what comes before and after each.
pub struct Web {
    /// Whether each is kept.
    pub is_kept: Vec<bool>,
    /// The others, and what each is put beside.
    pub left_out: Vec<(usize, Option<usize>)>,
    /// The first that nothing feeds.
    pub first: usize,
    /// What each feeds.
    pub feeds: Vec<Vec<usize>>,
    /// So that what feeds comes before what is fed.
    pub order: Vec<usize>,
    /// All before each.
    pub earlier: Bits,
    /// All behind each.
    pub later: Bits,
    /// For each layer, those before it that also feed what is neither before it nor itself.
    pub open: Bits,
}

impl Web {
    /// Refuses what is no network.
    pub fn new(layers: &Layers) -> Result<Self, Refusal> {
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
