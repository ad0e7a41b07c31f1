//! From values back to stages.

use super::search::{Aim, Choice, Search};
use super::{Partition, Piece, Refusal, Request, Stage, States};

/// A piece between two cuts.
#[derive(Clone, Copy)]
struct Cut {
    from: usize,
    to: usize,
    /// Machines of its level.
    replicas: usize,
    /// Machines over all levels.
    machines: usize,
    /// Minibatches that each keeps.
    copies: usize,
}

/// The plan behind a search that found one.
pub fn read(request: &Request, states: &States, search: &Search) -> Partition {
    let levels = cuts(request, search);
    let stages =
        levels.last().map(|innermost| stages(request, states, search, innermost)).unwrap_or_default();
    let pieces = |level: &Vec<Cut>| level.iter().map(|&cut| piece(states, search, cut)).collect();
    Partition {
        stages,
        levels: levels.iter().map(pieces).collect(),
        single_s: states.compute_s[states.len() - 1],
        data_parallel_s: data_parallel(request, states),
    }
}

/// The pieces of every level, outermost first.
fn cuts(request: &Request, search: &Search) -> Vec<Vec<Cut>> {
    let mut levels: Vec<Vec<Cut>> = vec![];
    let mut pieces = vec![Cut { from: 0, to: search.last(), replicas: 1, machines: 1, copies: 0 }];
    for (level, shape) in request.levels.iter().enumerate().rev() {
        let mut finer = vec![];
        for piece in pieces {
            let begun = finer.len();
            let (mut to, mut machines) = (piece.to, shape.machines);
            loop {
                match search.choice(level, piece.from, to, machines) {
                    Choice::Fewer => machines -= 1,
                    Choice::Cut(from, replicas) => {
                        let copies = (shape.machines - machines).div_ceil(replicas);
                        finer.push(Cut { from, to, replicas, machines: piece.machines * replicas, copies });
                        to = from;
                        machines -= replicas;
                    }
                    Choice::Whole => {
                        let copies = (shape.machines - machines).div_ceil(machines);
                        let all = piece.machines * machines;
                        finer.push(Cut { from: piece.from, to, replicas: machines, machines: all, copies });
                        break;
                    }
                }
            }
            finer[begun..].reverse();
        }
        levels.push(finer.clone());
        pieces = finer;
    }
    levels
}

/// States are numbered as in the network, cuts by time: a piece spans what lies between its ends.
fn piece(states: &States, search: &Search, cut: Cut) -> Piece {
    let begin = if cut.from == 0 { 0 } else { search.state(cut.from) + 1 };
    let done = if cut.from == 0 { 0.0 } else { states.compute_s[search.state(cut.from)] };
    let end = search.state(cut.to);
    Piece { states: begin..end + 1, compute_s: states.compute_s[end] - done, replicas: cut.replicas }
}

fn stages(request: &Request, states: &States, search: &Search, cuts: &[Cut]) -> Vec<Stage> {
    let mut stage_of = vec![None; request.layers.layers.len()];
    for (index, cut) in cuts.iter().enumerate() {
        for layer in states.done(search.state(cut.to)) {
            stage_of[layer].get_or_insert(index);
        }
    }
    for &(layer, beside) in &states.left_out {
        stage_of[layer] = beside.and_then(|beside| stage_of[beside]).or(Some(0));
    }
    let stage = |(index, &cut): (usize, &Cut)| {
        let Piece { states, compute_s, .. } = piece(states, search, cut);
        let layers = (0..stage_of.len()).filter(|&layer| stage_of[layer] == Some(index)).collect();
        Stage { states, layers, compute_s, replicas: cut.machines }
    };
    cuts.iter().enumerate().map(stage).collect()
}

/// The whole network on every machine.
fn data_parallel(request: &Request, states: &States) -> f64 {
    let last = states.len() - 1;
    let (mut time, mut within) = (states.compute_s[last], 1.0);
    for level in &request.levels {
        let machines = level.machines as f64;
        let sync =
            4.0 * (machines - 1.0) * states.parameter_bytes[last] / (level.bandwidth * machines) / within;
        time = (time + sync) / machines;
        within = machines;
    }
    time
}

/// Nothing fits: the memory with which something would, or that memory is not what is lacking.
pub fn least_memory(request: &Request, states: &States) -> Refusal {
    let mut search = Search::new(request, states, Aim::Memory);
    let least = match search.solve(0.0) {
        Ok(least) if least.is_finite() => least,
        Ok(_) => {
            let machines = request.levels.iter().map(|level| level.machines).product();
            return Refusal::TooFewStates { stages: states.longest(), machines };
        }
        Err(refusal) => return refusal,
    };
    let weight = |layer: usize| {
        let layer = &request.layers.layers[layer];
        layer.activation_bytes + layer.parameter_bytes
    };
    let layers = |cut: &Cut| {
        let begin = (cut.from > 0).then(|| search.state(cut.from));
        let end = states.done(search.state(cut.to));
        end.filter(|&layer| !begin.is_some_and(|begin| states.has_done(begin, layer))).collect::<Vec<_>>()
    };
    let kept = |cut: &Cut| cut.copies as f64 * layers(cut).into_iter().map(weight).sum::<f64>();
    let mut pieces = cuts(request, &search).concat();
    pieces.sort_by(|one, other| kept(other).total_cmp(&kept(one)));
    let mut layers = pieces.first().map(layers).unwrap_or_default();
    layers.sort_by(|&one, &other| weight(other).total_cmp(&weight(one)));
    let layer = layers.first().map(|&layer| request.layers.layers[layer].id.clone()).unwrap_or_default();
    let bytes = request.memory_bytes.unwrap_or_default();
    Refusal::NoRoom { layer, least_bytes: least.ceil(), bytes }
}
