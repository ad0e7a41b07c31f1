//! What PipeDream would do, as stages to start from.
//!
//! Its optimizer knows devices that are all alike in levels of one width each. Where hosts or islands are of unlike width,
//! everything is taken for one level at the speed of the narrowest link. Its answer is a seed like any other: what it comes
//! to is simulated with the devices as they are.

use super::fleet::Fleet;
use super::{Given, Request};
use crate::pipeline::pipedream::{self, Level, Partition};

/// PipeDream's partition, with and without the cost of handing activations on. Empty where its optimizer refuses.
pub fn pipedream(request: &Request, fleet: &Fleet) -> Vec<Given> {
    let levels = levels(request, fleet);
    if levels.is_empty() {
        return vec![];
    }
    let mut found: Vec<Given> = vec![];
    for activation_ratio in [None, Some(1.0)] {
        let asked = pipedream::Request {
            layers: &request.layers,
            levels: levels.clone(),
            straight: false,
            memory_bytes: None,
            activation_ratio,
            fewer_machines: false,
        };
        let Ok(answer) = pipedream::partition(&asked) else { continue };
        let given = given(&answer.plan, &levels, request.layers.layers.len());
        if !found.contains(&given) {
            found.push(given);
        }
    }
    found
}

/// Levels of the fleet, innermost first; none for a single device.
fn levels(request: &Request, fleet: &Fleet) -> Vec<Level> {
    let fabric = &request.fabric;
    let hosts: Vec<usize> = (0..fabric.hosts.len()).filter(|&host| fabric.hosts[host].devices > 0).collect();
    let first = &fabric.hosts[hosts[0]];
    let is_even = hosts.iter().all(|&host| {
        (fabric.hosts[host].devices, fabric.hosts[host].island) == (first.devices, first.island)
    });
    let mut narrowest = f64::INFINITY;
    for &one in &hosts {
        for &other in hosts.iter().filter(|&&other| other != one) {
            narrowest = narrowest.min(fabric.between(one, other).bandwidth);
        }
    }
    let level = |machines: usize, bandwidth| Level { machines, bandwidth };
    let levels = match is_even {
        true => vec![
            level(first.island as usize, fabric.island.bandwidth),
            level((first.devices / first.island) as usize, fabric.node.bandwidth),
            level(hosts.len(), narrowest),
        ],
        false => vec![level(fleet.devices.len(), narrowest)],
    };
    levels.into_iter().filter(|level| level.machines > 1).collect()
}

/// A partition as stages with devices, numbered host by host. Levels are innermost first.
pub fn given(partition: &Partition, levels: &[Level], layers: usize) -> Given {
    let mut stage = vec![0; layers];
    for (number, cut) in partition.stages.iter().enumerate() {
        cut.layers.iter().for_each(|&layer| stage[layer] = number);
    }
    let mut devices = vec![];
    let whole = 0..partition.stages.last().map_or(0, |stage| stage.states.end);
    deal(partition, levels, 0, whole, &[0], &mut devices);
    Given { stage, devices }
}

/// Deals the devices of some blocks, which are all used alike, to the pieces of one level.
fn deal(
    partition: &Partition,
    levels: &[Level],
    depth: usize,
    states: std::ops::Range<usize>,
    blocks: &[usize],
    devices: &mut Vec<Vec<usize>>,
) {
    let inner = levels.len() - 1 - depth;
    let width: usize = levels[..inner].iter().map(|level| level.machines).product();
    let mut next = 0;
    for piece in &partition.levels[depth] {
        if piece.states.start < states.start || piece.states.end > states.end {
            continue;
        }
        let replicas = next..next + piece.replicas;
        let starts: Vec<usize> =
            blocks.iter().flat_map(|block| replicas.clone().map(move |at| block + at * width)).collect();
        next += piece.replicas;
        match inner {
            0 => devices.push(starts),
            _ => deal(partition, levels, depth + 1, piece.states.clone(), &starts, devices),
        }
    }
}
