//! Counts placements again, in the plainest way, so that one mistake cannot fool both planner and judge.

use super::listed::Split;
use consort_parallel::Answer;
use consort_parallel::placement::{Kind, Network, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// Rules that a plan breaks.
pub fn broken(network: &Network, answer: &Answer<Plan>) -> Vec<String> {
    let devices = &answer.plan.devices;
    let parts: Vec<(bool, &[i64])> =
        devices.iter().map(|device| (device.kind == Kind::Accelerator, &device.operators[..])).collect();
    let mut broken = vec![];
    let Some(counted) = loads(network, &parts) else {
        return vec!["not every operator sits on exactly one device".into()];
    };
    let most = counted.iter().copied().fold(0.0, f64::max);
    if (most - answer.objective).abs() > 1e-9 * most {
        broken.push(format!("says {} and carries {most}", answer.objective));
    }
    if answer.bound > answer.objective || answer.bound <= 0.0 {
        broken.push(format!("has the bound {}", answer.bound));
    }
    let mut seat = BTreeMap::new();
    for (at, device) in devices.iter().enumerate() {
        device.operators.iter().for_each(|&id| {
            seat.insert(id, at);
        });
    }
    let (mut colours, mut memory) = (BTreeMap::new(), vec![0.0; devices.len()]);
    for operator in &network.operators {
        let at = seat[&operator.id];
        memory[at] += operator.memory_bytes;
        let is_accelerator = devices[at].kind == Kind::Accelerator;
        if is_accelerator && operator.accelerator_s.is_none() {
            broken.push(format!("operator {} is on an accelerator", operator.id));
        }
        if let Some(colour) = operator.colour
            && *colours.entry(colour).or_insert(at) != at
        {
            broken.push(format!("colour {colour} is on two devices"));
        }
    }
    for (at, device) in devices.iter().enumerate() {
        if device.kind == Kind::Accelerator && memory[at] > network.memory_bytes {
            broken.push(format!("device {at} holds {} bytes", memory[at]));
        }
    }
    broken
}

/// Listed loads that we count otherwise.
pub fn differing(network: &Network, split: &Split) -> Vec<String> {
    let counted = loads(network, &parts(split)).unwrap_or_default();
    let listed = split.accelerators.iter().chain(&split.cpus);
    let differing = listed.zip(&counted).filter(|(part, counted)| (part.load - *counted * 1e3).abs() > 1e-6);
    let said = differing
        .map(|(part, counted)| format!("we count {} for a listed load of {}", counted * 1e3, part.load));
    let mut misses: Vec<String> = said.collect();
    if counted.is_empty() {
        misses.push("the listed split does not hold every operator once".into());
    }
    misses
}

/// The largest load of a split in milliseconds. Operators that it leaves out go with those of their colour.
pub fn most(network: &Network, split: &Split) -> Option<f64> {
    let mut parts: Vec<(bool, Vec<i64>)> =
        parts(split).into_iter().map(|(is_accelerator, ids)| (is_accelerator, ids.to_vec())).collect();
    let seated: BTreeSet<i64> = parts.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
    let mut colours = BTreeMap::new();
    for operator in network.operators.iter().filter(|operator| seated.contains(&operator.id)) {
        let at = parts.iter().position(|(_, ids)| ids.contains(&operator.id))?;
        colours.insert(operator.colour?, at);
    }
    for operator in network.operators.iter().filter(|operator| !seated.contains(&operator.id)) {
        parts[*colours.get(&operator.colour?)?].1.push(operator.id);
    }
    let parts: Vec<(bool, &[i64])> =
        parts.iter().map(|(is_accelerator, ids)| (*is_accelerator, &ids[..])).collect();
    Some(loads(network, &parts)?.into_iter().fold(0.0, f64::max) * 1e3)
}

fn parts(split: &Split) -> Vec<(bool, &[i64])> {
    let accelerators = split.accelerators.iter().map(|part| (true, &part.nodes[..]));
    accelerators.chain(split.cpus.iter().map(|part| (false, &part.nodes[..]))).collect()
}

/// Loads in seconds, or `None` where an operator sits on no device or on two.
fn loads(network: &Network, parts: &[(bool, &[i64])]) -> Option<Vec<f64>> {
    let mut seat = BTreeMap::new();
    for (at, (_, ids)) in parts.iter().enumerate() {
        if ids.iter().any(|&id| seat.insert(id, at).is_some()) {
            return None;
        }
    }
    let at: Vec<usize> =
        network.operators.iter().map(|operator| seat.get(&operator.id).copied()).collect::<Option<_>>()?;
    let load = |device: usize| {
        let here = network.operators.iter().zip(&at).filter(|(_, at)| **at == device);
        if !parts[device].0 {
            return here.map(|(operator, _)| operator.processor_s).sum();
        }
        let work: f64 = here.map(|(operator, _)| operator.accelerator_s.unwrap_or(f64::INFINITY)).sum();
        let crossing =
            network.edges.iter().filter(|edge| (at[edge.from] == device) != (at[edge.to] == device));
        let tensors: BTreeSet<(usize, u64)> =
            crossing.map(|edge| (edge.from, edge.cost_s.to_bits())).collect();
        work + tensors.into_iter().map(|(_, cost)| f64::from_bits(cost)).sum::<f64>()
    };
    Some((0..parts.len()).map(load).collect())
}
