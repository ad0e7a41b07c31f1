//! A network made smaller before it is planned: operators that must share a device become one piece.
//!
//! A device pays for a tensor once when it holds some but not all of the pieces that make or need it. Who of them makes
//! it does not matter, so a tensor is kept as the set of pieces at its ends, tensors with the same ends become one, and
//! tensors inside one piece go. All of that is exact: every placement of pieces costs what the placement of its
//! operators costs.
//!
//! [`blocks`] makes pieces smaller once more, for plans whose devices follow each other (see [`super::ideals`]):
//! pieces that wait for each other in a circle once colours are fused, and pieces without any work that hang on a
//! single other one. The first is forced by the rule, the second never costs anything as long as memory cannot run
//! short. Does badly: long chains are kept as they are, even where cutting inside them cannot help.

use super::network::Network;
use std::collections::{BTreeMap, BTreeSet};

/// The network by pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    /// Time on an accelerator; infinite where none can run it.
    pub accelerator: Vec<f64>,
    /// Time on a processor.
    pub processor: Vec<f64>,
    /// Bytes on an accelerator.
    pub memory: Vec<f64>,
    /// Indices below: operators for pieces, pieces for blocks.
    pub members: Vec<Vec<usize>>,
    /// What a device pays for each tensor that it shares with others.
    pub cost: Vec<f64>,
    /// Pieces at the ends of each tensor: at least two, ascending.
    pub ends: Vec<Vec<usize>>,
    /// Tensors at each piece, ascending.
    pub at: Vec<Vec<usize>>,
    /// Who has to come first where devices follow each other: pairs of pieces, ascending.
    pub before: Vec<(usize, usize)>,
}

impl Pieces {
    pub fn len(&self) -> usize {
        self.accelerator.len()
    }

    /// Pieces by the class of each; classes are numbered without holes.
    pub fn fused(&self, class: &[usize]) -> Pieces {
        let count = class.iter().map(|&class| class + 1).max().unwrap_or(0);
        let mut fused = Pieces {
            accelerator: vec![0.0; count],
            processor: vec![0.0; count],
            memory: vec![0.0; count],
            members: vec![vec![]; count],
            ..Pieces::default()
        };
        for (piece, &class) in class.iter().enumerate() {
            fused.accelerator[class] += self.accelerator[piece];
            fused.processor[class] += self.processor[piece];
            fused.memory[class] += self.memory[piece];
            fused.members[class].push(piece);
        }
        let tensors = self.cost.iter().zip(&self.ends);
        fused.connect(tensors.map(|(&cost, ends)| (cost, ends.iter().map(|&end| class[end]).collect())));
        fused.precede(self.before.iter().map(|&(first, second)| (class[first], class[second])));
        fused
    }

    /// Takes over tensors, joining those with the same ends.
    fn connect(&mut self, tensors: impl Iterator<Item = (f64, BTreeSet<usize>)>) {
        let mut joined: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        for (cost, ends) in tensors.filter(|(cost, ends)| *cost > 0.0 && ends.len() > 1) {
            *joined.entry(ends.into_iter().collect()).or_default() += cost;
        }
        self.at = vec![vec![]; self.len()];
        for (ends, cost) in joined {
            ends.iter().for_each(|&end| self.at[end].push(self.cost.len()));
            self.cost.push(cost);
            self.ends.push(ends);
        }
    }

    fn precede(&mut self, pairs: impl Iterator<Item = (usize, usize)>) {
        let pairs: BTreeSet<(usize, usize)> = pairs.filter(|(first, second)| first != second).collect();
        self.before = pairs.into_iter().collect();
    }
}

/// Operators of one colour become one piece; all others are pieces of their own.
pub(super) fn pieces(network: &Network) -> Pieces {
    let mut numbers = BTreeMap::new();
    let class = network.operators.iter().enumerate().map(|(at, operator)| {
        let key = operator.colour.map_or((false, at as i64), |colour| (true, colour));
        let next = numbers.len();
        *numbers.entry(key).or_insert(next)
    });
    let class: Vec<usize> = class.collect();
    let mut single = Pieces { members: vec![], ..Pieces::default() };
    for operator in &network.operators {
        single.accelerator.push(operator.accelerator_s.unwrap_or(f64::INFINITY));
        single.processor.push(operator.processor_s);
        single.memory.push(operator.memory_bytes);
    }
    let mut tensors: BTreeMap<(usize, u64), BTreeSet<usize>> = BTreeMap::new();
    for edge in &network.edges {
        let ends = tensors.entry((edge.from, edge.cost_s.to_bits())).or_default();
        ends.extend([edge.from, edge.to]);
    }
    single.connect(tensors.into_iter().map(|((_, cost), ends)| (f64::from_bits(cost), ends)));
    let mut pieces = single.fused(&class);
    pieces.precede(order(network, &class).into_iter());
    pieces
}

/// Who comes first: forward edges say so. A piece that has backward operators only comes where its mirror image would.
fn order(network: &Network, class: &[usize]) -> Vec<(usize, usize)> {
    let mut is_orphan = vec![true; network.operators.len()];
    let backward = |at: usize| network.operators[at].is_backward;
    (0..class.len()).filter(|&at| !backward(at)).for_each(|at| is_orphan[class[at]] = false);
    let pairs = network.edges.iter().filter_map(|edge| {
        let (from, to) = (class[edge.from], class[edge.to]);
        match (backward(edge.from), backward(edge.to)) {
            (false, false) => Some((from, to)),
            (true, true) if is_orphan[from] || is_orphan[to] => Some((to, from)),
            _ => None,
        }
    });
    pairs.collect()
}

/// Pieces that a plan of devices in a row cannot or need not part.
pub(super) fn blocks(pieces: &Pieces, is_memory_ample: bool) -> Pieces {
    let mut class: Vec<usize> = circles(pieces.len(), &pieces.before);
    // Every round takes one from the end of each idle branch; longer ones keep their rest.
    const ROUNDS: usize = 64;
    for _ in 0..ROUNDS {
        let Some(joined) = hanging(&pieces.fused(&class), is_memory_ample) else { break };
        class.iter_mut().for_each(|class| *class = joined[*class]);
    }
    pieces.fused(&class)
}

/// Classes after joining pieces without work to the only one they touch, or `None` where there are none.
fn hanging(blocks: &Pieces, is_memory_ample: bool) -> Option<Vec<usize>> {
    let mut near = vec![BTreeSet::new(); blocks.len()];
    for &(first, second) in &blocks.before {
        near[first].insert(second);
        near[second].insert(first);
    }
    let mut into: Vec<usize> = (0..blocks.len()).collect();
    let mut is_taken = vec![false; blocks.len()];
    for block in 0..blocks.len() {
        let is_idle = blocks.accelerator[block] == 0.0 && blocks.processor[block] == 0.0;
        let weighs = blocks.memory[block] > 0.0 && !is_memory_ample;
        if let (true, false, 1, Some(&other)) = (is_idle, weighs, near[block].len(), near[block].first())
            && !is_taken[block]
            && !is_taken[other]
            && blocks.at[block].iter().all(|&tensor| blocks.ends[tensor].binary_search(&other).is_ok())
        {
            into[block] = other;
            (is_taken[block], is_taken[other]) = (true, true);
        }
    }
    let kept: Vec<usize> = (0..blocks.len()).filter(|&block| into[block] == block).collect();
    let number: BTreeMap<usize, usize> = kept.iter().enumerate().map(|(at, &block)| (block, at)).collect();
    (kept.len() < blocks.len()).then(|| into.iter().map(|block| number[block]).collect())
}

/// A class for every piece: the same for pieces on a common circle. Tarjan's way, without recursion.
fn circles(count: usize, before: &[(usize, usize)]) -> Vec<usize> {
    let mut after = vec![vec![]; count];
    before.iter().for_each(|&(first, second)| after[first].push(second));
    const NONE: usize = usize::MAX;
    let (mut entered, mut low, mut class) = (vec![NONE; count], vec![NONE; count], vec![NONE; count]);
    let (mut open, mut clock, mut classes) = (vec![], 0, 0);
    for start in 0..count {
        let mut walk = vec![];
        if entered[start] == NONE {
            walk.push((start, 0));
        }
        while let Some((at, turn)) = walk.pop() {
            if turn == 0 {
                (entered[at], low[at]) = (clock, clock);
                clock += 1;
                open.push(at);
            } else {
                low[at] = low[at].min(low[after[at][turn - 1]]);
            }
            let next = (turn..after[at].len()).find_map(|turn| {
                let next = after[at][turn];
                match entered[next] {
                    NONE => Some((turn, next)),
                    since if class[next] == NONE => {
                        low[at] = low[at].min(since);
                        None
                    }
                    _ => None,
                }
            });
            if let Some((turn, next)) = next {
                walk.extend([(at, turn + 1), (next, 0)]);
            } else if low[at] == entered[at] {
                while let Some(member) = open.pop() {
                    class[member] = classes;
                    low[member] = NONE;
                    if member == at {
                        break;
                    }
                }
                classes += 1;
            }
        }
    }
    renumbered(&class)
}

/// Classes in the order of their first member, so that blocks keep the order of the file.
fn renumbered(class: &[usize]) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    let number = class.iter().map(|&class| {
        let next = numbers.len();
        *numbers.entry(class).or_insert(next)
    });
    number.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_become_one_and_others_stay() {
        assert_eq!(circles(5, &[(0, 1), (1, 2), (2, 1), (2, 3), (4, 0)]), [0, 1, 1, 2, 3]);
        assert_eq!(circles(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]), [0; 4]);
        assert_eq!(circles(3, &[]), [0, 1, 2]);
    }

    #[test]
    fn tensors_with_the_same_ends_join_and_inner_ones_go() {
        let mut single = Pieces {
            accelerator: vec![1.0, 2.0, 4.0],
            processor: vec![1.0; 3],
            memory: vec![1.0; 3],
            ..Pieces::default()
        };
        let tensors = [(1.0, [0, 1]), (2.0, [1, 2]), (4.0, [0, 2])];
        single.connect(tensors.into_iter().map(|(cost, ends)| (cost, ends.into_iter().collect())));
        let fused = single.fused(&[0, 1, 1]);
        assert_eq!(
            (fused.accelerator, fused.cost, fused.ends),
            (vec![1.0, 6.0], vec![5.0], vec![vec![0, 1]])
        );
    }
}
