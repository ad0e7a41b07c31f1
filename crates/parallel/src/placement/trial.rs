//! Small networks placed in every possible way, beside what the planner says.

use super::{Edge, Effort, Network, Operator, Refusal, plan};
use crate::dice::Dice;
use std::collections::{BTreeMap, BTreeSet};

/// A network that can be tried exhaustively: forward operators, perhaps twins that run backward, perhaps orphans.
fn network(dice: &mut Dice) -> Network {
    let forward = 3 + dice.below(4);
    let is_training = dice.below(2) == 0;
    let mut network = Network {
        accelerators: dice.below(4),
        processors: dice.below(2),
        memory_bytes: if dice.below(2) == 0 { 1000.0 } else { 3.0 + dice.below(6) as f64 },
        ..Network::default()
    };
    let operator = |id: usize, is_backward, dice: &mut Dice| Operator {
        id: 100 + id as i64,
        accelerator_s: (dice.below(12) > 0).then(|| dice.below(8) as f64),
        processor_s: dice.below(20) as f64,
        memory_bytes: dice.below(4) as f64,
        is_backward,
        colour: (dice.below(3) == 0).then(|| dice.below(4) as i64),
    };
    for id in 0..forward {
        let mut made = operator(id, false, dice);
        if is_training {
            made.colour = made.colour.or(Some(50 + id as i64));
        }
        network.operators.push(made);
    }
    let cost: Vec<f64> = (0..forward).map(|_| dice.below(5) as f64 / 2.0).collect();
    for (from, &cost_s) in cost.iter().enumerate() {
        for to in from + 1..forward {
            if dice.below(5) < 2 {
                network.edges.push(Edge { from, to, cost_s });
            }
        }
    }
    if is_training {
        let ahead = network.edges.clone();
        for twin in 0..forward {
            let mut made = operator(forward + twin, true, dice);
            // Now and then a backward operator without a twin.
            made.colour = network.operators[twin].colour.filter(|_| dice.below(6) > 0);
            network.operators.push(made);
        }
        for edge in ahead {
            let (from, to) = (forward + edge.to, forward + edge.from);
            network.edges.push(Edge { from, to, cost_s: cost[edge.to] });
        }
        network.edges.push(Edge { from: forward - 1, to: 2 * forward - 1, cost_s: cost[forward - 1] });
    }
    network
}

/// Groups of operators that share a device.
fn groups(network: &Network) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<(bool, i64), Vec<usize>> = BTreeMap::new();
    for (at, operator) in network.operators.iter().enumerate() {
        let key = operator.colour.map_or((false, at as i64), |colour| (true, colour));
        groups.entry(key).or_default().push(at);
    }
    groups.into_values().collect()
}

/// The largest load, or `None` where a rule is broken.
fn most(network: &Network, device: &[usize]) -> Option<f64> {
    let mut most: f64 = 0.0;
    for at in 0..network.accelerators + network.processors {
        let here =
            || network.operators.iter().zip(device).filter(|(_, device)| **device == at).map(|(it, _)| it);
        if at >= network.accelerators {
            most = most.max(here().map(|operator| operator.processor_s).sum());
            continue;
        }
        if here().map(|operator| operator.memory_bytes).sum::<f64>() > network.memory_bytes {
            return None;
        }
        let work: f64 = here().map(|operator| operator.accelerator_s).sum::<Option<f64>>()?;
        let crossing =
            network.edges.iter().filter(|edge| (device[edge.from] == at) != (device[edge.to] == at));
        let tensors: BTreeMap<usize, f64> = crossing.map(|edge| (edge.from, edge.cost_s)).collect();
        most = most.max(work + tensors.values().sum::<f64>());
    }
    Some(most)
}

/// Whether the devices can be put in a row that forward edges only go along.
fn is_row(network: &Network, groups: &[Vec<usize>], device: &[usize]) -> bool {
    let orphans: BTreeSet<usize> = groups
        .iter()
        .filter(|group| group.iter().all(|&at| network.operators[at].is_backward))
        .flatten()
        .copied()
        .collect();
    let mut pairs = BTreeSet::new();
    for edge in &network.edges {
        let backward = |at: usize| network.operators[at].is_backward;
        let (from, to) = (device[edge.from], device[edge.to]);
        match (backward(edge.from), backward(edge.to)) {
            (false, false) => pairs.insert((from, to)),
            (true, true) if orphans.contains(&edge.from) || orphans.contains(&edge.to) => {
                pairs.insert((to, from))
            }
            _ => false,
        };
    }
    let mut left: BTreeSet<usize> = (0..network.accelerators + network.processors).collect();
    while !left.is_empty() {
        let has_before =
            |&at: &usize| pairs.iter().any(|&(from, to)| to == at && from != at && left.contains(&from));
        let Some(first) = left.iter().copied().find(|at| !has_before(at)) else { return false };
        left.remove(&first);
    }
    true
}

/// The best of all placements, and the best of those in a row.
fn best(network: &Network) -> (Option<f64>, Option<f64>) {
    let groups = groups(network);
    let devices = network.accelerators + network.processors;
    let mut device = vec![0; network.operators.len()];
    let (mut best, mut row): (Option<f64>, Option<f64>) = (None, None);
    for number in 0..devices.pow(groups.len() as u32) {
        let mut rest = number;
        for group in &groups {
            group.iter().for_each(|&at| device[at] = rest % devices);
            rest /= devices;
        }
        if let Some(load) = most(network, &device) {
            if best.is_none_or(|best| load < best) {
                best = Some(load);
            }
            if row.is_none_or(|row| load < row) && is_row(network, &groups, &device) {
                row = Some(load);
            }
        }
    }
    (best, row)
}

#[test]
fn the_planner_agrees_with_trying_everything() {
    let mut dice = Dice::new(11);
    let (mut planned, mut perfect) = (0, 0);
    for case in 0..400 {
        let network = network(&mut dice);
        if groups(&network).len() > 7 {
            continue;
        }
        let (least, row) = best(&network);
        let effort = Effort { proposals: 6_000, ..Effort::default() };
        let answer = match plan(&network, effort) {
            Ok(answer) => answer,
            Err(Refusal::NotPacked { .. }) => continue,
            Err(refusal) => {
                assert_eq!(least, None, "{case}: {refusal}");
                continue;
            }
        };
        let least = least.expect("what is planned is possible");
        assert!(answer.objective >= least - 1e-9, "{case}: {} is below {least}", answer.objective);
        assert!(
            answer.bound <= least + 1e-9,
            "{case}: {} bounds {least} by {}",
            answer.bound,
            answer.bound_by
        );
        let close = |one: Option<f64>| match (one, row) {
            (Some(one), Some(row)) => (one - row).abs() < 1e-9,
            (one, row) => one.is_none() && row.is_none(),
        };
        assert!(
            close(answer.plan.contiguous_s),
            "{case}: {:?} in a row, not {row:?}",
            answer.plan.contiguous_s
        );
        planned += 1;
        perfect += usize::from(answer.objective <= least + 1e-9);
    }
    assert!(planned > 200, "{planned} were planned");
    assert!(perfect * 100 >= planned * 99, "{perfect} of {planned} were the best");
}

#[test]
fn the_same_network_gives_the_same_bytes() {
    let mut dice = Dice::new(5);
    let effort = Effort { proposals: 6_000, ..Effort::default() };
    for _ in 0..20 {
        let network = network(&mut dice);
        if let (Ok(one), Ok(other)) = (plan(&network, effort), plan(&network, effort)) {
            assert_eq!(serde_json::to_string(&one).ok(), serde_json::to_string(&other).ok());
        }
    }
}

#[test]
fn a_long_chain_and_a_wide_fan_are_planned_too() {
    let operator = |id: i64| Operator {
        id,
        accelerator_s: Some(1.0 + (id % 7) as f64),
        processor_s: 50.0,
        memory_bytes: 1.0,
        is_backward: false,
        colour: None,
    };
    let network = |count: i64, edges: Vec<Edge>| Network {
        accelerators: 4,
        processors: 1,
        memory_bytes: 1e9,
        operators: (0..count).map(operator).collect(),
        edges,
    };
    let effort = Effort { proposals: 60_000, ideals: 1_000, ..Effort::default() };
    let chain = |count: usize| (1..count).map(|at| Edge { from: at - 1, to: at, cost_s: 0.1 }).collect();
    let fan: Vec<Edge> = (1..500).map(|at| Edge { from: 0, to: at, cost_s: 0.1 }).collect();
    // The first is too long for the best cuts; the second is as deep as they go.
    for network in [network(3000, chain(3000)), network(1990, chain(1990)), network(500, fan)] {
        let answer = plan(&network, effort).expect("a plan");
        assert!(answer.gap() < 0.25, "{} over {}", answer.objective, answer.bound);
    }
}
