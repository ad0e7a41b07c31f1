//! A network of operators, the devices it may use, and what is refused before any planning.
//!
//! Promises: a network that [`Network::check`] lets pass has no circle, no figure below zero, and nothing that fits on
//! no device. Does badly: with no processors it judges memory by sums only; whether the pieces can also be packed is
//! found out by the planner.

use super::refusal::Refusal;
use std::collections::{BTreeMap, BTreeSet};

/// At most this many operators; beyond, planning by operator is the wrong tool.
pub const MOST_OPERATORS: usize = 20_000;
/// At most this many edges.
pub const MOST_EDGES: usize = 200_000;
/// At most this many accelerators and processors together.
pub const MOST_DEVICES: usize = 128;

/// One operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// As the file numbers it.
    pub id: i64,
    /// Time of one sample on an accelerator; `None` where no accelerator can run it.
    pub accelerator_s: Option<f64>,
    /// Time of one sample on a processor.
    pub processor_s: f64,
    /// What it occupies on an accelerator. Processors are not short of memory.
    pub memory_bytes: f64,
    /// Belongs to the backward half of training.
    pub is_backward: bool,
    /// Operators of one colour share a device.
    pub colour: Option<i64>,
}

/// Something handed from one operator to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Index of who makes it.
    pub from: usize,
    /// Index of who needs it.
    pub to: usize,
    /// Time to carry it between an accelerator and main memory. Edges of one source with one cost carry one tensor.
    pub cost_s: f64,
}

/// What is to be placed, and where it may go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// How many accelerators there are, all alike.
    pub accelerators: usize,
    /// How many processors there are, all alike.
    pub processors: usize,
    /// Memory of one accelerator.
    pub memory_bytes: f64,
    /// In the order of the file.
    pub operators: Vec<Operator>,
    /// Between their indices.
    pub edges: Vec<Edge>,
}

impl Network {
    /// Refuses what cannot be planned.
    pub fn check(&self) -> Result<(), Refusal> {
        self.check_sizes()?;
        self.check_figures()?;
        self.check_edges()?;
        self.check_circles()?;
        self.check_room()
    }

    fn check_sizes(&self) -> Result<(), Refusal> {
        let devices = self.accelerators.saturating_add(self.processors);
        match () {
            _ if devices == 0 => Err(Refusal::NoDevices),
            _ if devices > MOST_DEVICES => Err(Refusal::TooMany { what: "devices", most: MOST_DEVICES }),
            _ if self.operators.is_empty() => Err(Refusal::NoOperators),
            _ if self.operators.len() > MOST_OPERATORS => {
                Err(Refusal::TooMany { what: "operators", most: MOST_OPERATORS })
            }
            _ if self.edges.len() > MOST_EDGES => Err(Refusal::TooMany { what: "edges", most: MOST_EDGES }),
            _ => Ok(()),
        }
    }

    fn check_figures(&self) -> Result<(), Refusal> {
        // The sum of everything has to be a number, too.
        let is_sound = |value: f64| (0.0..1e100).contains(&value);
        if !is_sound(self.memory_bytes) {
            return Err(Refusal::Capacity { value: self.memory_bytes });
        }
        let mut seen = BTreeSet::new();
        for operator in &self.operators {
            let id = operator.id;
            if !seen.insert(id) {
                return Err(Refusal::Twice { id });
            }
            let figures = [
                ("accelerator time", operator.accelerator_s.unwrap_or(0.0)),
                ("processor time", operator.processor_s),
                ("memory", operator.memory_bytes),
            ];
            if let Some(&(what, value)) = figures.iter().find(|(_, value)| !is_sound(*value)) {
                return Err(Refusal::Figure { id, what, value });
            }
        }
        Ok(())
    }

    fn check_edges(&self) -> Result<(), Refusal> {
        for (at, edge) in self.edges.iter().enumerate() {
            let (Some(from), Some(_)) = (self.operators.get(edge.from), self.operators.get(edge.to)) else {
                return Err(Refusal::Dangling { edge: at });
            };
            if !(0.0..1e100).contains(&edge.cost_s) {
                return Err(Refusal::Figure { id: from.id, what: "transfer time", value: edge.cost_s });
            }
        }
        Ok(())
    }

    fn check_circles(&self) -> Result<(), Refusal> {
        let pairs: Vec<(usize, usize)> = self.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        match circle(self.operators.len(), &pairs) {
            Some(found) => {
                Err(Refusal::Circle { ids: found.iter().map(|&at| self.operators[at].id).collect() })
            }
            None => Ok(()),
        }
    }

    fn check_room(&self) -> Result<(), Refusal> {
        if self.processors > 0 {
            return Ok(());
        }
        let mut needs: BTreeMap<(bool, i64), (f64, Vec<i64>)> = BTreeMap::new();
        for (at, operator) in self.operators.iter().enumerate() {
            if operator.accelerator_s.is_none() {
                return Err(Refusal::NeedsProcessor { id: operator.id });
            }
            let class = operator.colour.map_or((false, at as i64), |colour| (true, colour));
            let need = needs.entry(class).or_default();
            need.0 += operator.memory_bytes;
            need.1.push(operator.id);
        }
        if let Some((need, ids)) = needs.values().find(|(need, _)| *need > self.memory_bytes) {
            return Err(Refusal::FitsNowhere { ids: ids.clone(), needs: *need, has: self.memory_bytes });
        }
        let total: f64 = needs.values().map(|(need, _)| need).sum();
        match total > self.memory_bytes * self.accelerators as f64 {
            true => {
                Err(Refusal::Memory { needs: total, accelerators: self.accelerators, has: self.memory_bytes })
            }
            false => Ok(()),
        }
    }
}

/// Some circle among `count` places, in its order, or `None`.
fn circle(count: usize, pairs: &[(usize, usize)]) -> Option<Vec<usize>> {
    let mut before = vec![vec![]; count];
    let mut left = vec![0usize; count];
    let mut after = vec![vec![]; count];
    for &(from, to) in pairs {
        before[to].push(from);
        after[from].push(to);
        left[to] += 1;
    }
    let mut ready: Vec<usize> = (0..count).filter(|&at| left[at] == 0).collect();
    while let Some(at) = ready.pop() {
        for &next in &after[at] {
            left[next] -= 1;
            if left[next] == 0 {
                ready.push(next);
            }
        }
    }
    // Whoever is left has somebody before it who is left: walking back must come round.
    let mut at = (0..count).find(|&at| left[at] > 0)?;
    let mut walked = vec![];
    let mut is_walked = vec![false; count];
    while !is_walked[at] {
        is_walked[at] = true;
        walked.push(at);
        at = *before[at].iter().find(|&&source| left[source] > 0)?;
    }
    let start = walked.iter().position(|&seen| seen == at)?;
    let mut found: Vec<usize> = walked[start..].iter().rev().copied().collect();
    let lowest = (0..found.len()).min_by_key(|&at| found[at])?;
    found.rotate_left(lowest);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Network {
        let operator = |id| Operator {
            id,
            accelerator_s: Some(1.0),
            processor_s: 10.0,
            memory_bytes: 4.0,
            is_backward: false,
            colour: None,
        };
        let edge = |from, to| Edge { from, to, cost_s: 0.5 };
        Network {
            accelerators: 2,
            processors: 0,
            memory_bytes: 8.0,
            operators: vec![operator(1), operator(2), operator(3)],
            edges: vec![edge(0, 1), edge(1, 2)],
        }
    }

    fn said(change: impl FnOnce(&mut Network)) -> String {
        let mut network = three();
        change(&mut network);
        network.check().map_or_else(|refusal| refusal.to_string(), |()| "fine".into())
    }

    #[test]
    fn each_refusal_names_who_and_what_to_do() {
        assert_eq!(said(|_| ()), "fine");
        assert!(said(|it| it.edges.push(Edge { from: 2, to: 0, cost_s: 0.0 })).contains("1, 2, 3, 1"));
        assert!(said(|it| it.edges.push(Edge { from: 1, to: 1, cost_s: 0.0 })).contains("2, 2"));
        assert!(said(|it| it.edges.push(Edge { from: 1, to: 7, cost_s: 0.0 })).contains("edge 3"));
        assert!(said(|it| it.accelerators = 0).contains("no device"));
        assert!(said(|it| it.accelerators = 500).contains("128"));
        assert!(said(|it| it.accelerators = 1).contains("12 bytes"));
        assert!(said(|it| it.memory_bytes = 3.0).contains("at least 4"));
        assert!(said(|it| it.memory_bytes = f64::NAN).contains("NaN"));
        assert!(said(|it| it.operators[1].processor_s = -2.0).contains("processor time of operator 2 is -2"));
        assert!(said(|it| it.operators[1].accelerator_s = None).contains("operator 2"));
        assert!(said(|it| it.operators[1].id = 1).contains("duplicate operator 1"));
        assert!(said(|it| it.operators.clear()).contains("no operators"));
        assert!(said(|it| it.edges[0].cost_s = f64::INFINITY).contains("transfer time"));
        let coloured = |it: &mut Network| {
            it.accelerators = 6;
            it.operators.iter_mut().for_each(|operator| operator.colour = Some(7));
        };
        assert!(said(coloured).contains("1, 2, 3"));
        let with_processor = |it: &mut Network| (it.processors, it.memory_bytes) = (1, 0.0);
        assert_eq!(said(with_processor), "fine");
    }
}
