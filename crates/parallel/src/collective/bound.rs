//! What no algorithm can beat on these links, whatever the operation.
//!
//! Two arguments, and the larger wins. *Latency*: everybody knows something of everybody only after some messages in a
//! row, since in the time of one a rank can tell one other. *Bandwidth*: whatever has to leave a set of vertices leaves it through its links.
//!
//! For an all-gather the narrowest cut is exact ([`super::cut`]), and the reduce-scatter is the same on reversed links.
//! An all-reduce is held to less than the sum of both: where one host is slow and the others are not, a pipelined tree
//! can be faster than a reduce-scatter followed by an all-gather. What holds always: the sum of a set has to leave it,
//! and among `k` groups every byte takes at least `2(k - 1)` messages (directed gossip), which the links out of all
//! groups carry together. Where groups are alike this is the same as the sum of both.
//!
//! Only cuts that a fabric suggests are tried for all-reduce, all-to-all and broadcast: devices, islands, hosts, domains.
//! Does badly: a fabric whose narrowest place is none of these.

use super::cost::Operation;
use super::cut::{self, Cut, Refusal, Wires};

/// Bounds of a fabric, ready to be asked for any size.
#[derive(Clone, Debug)]
pub struct Bounds {
    ranks: u32,
    floor_s: f64,
    gather: Cut,
    scatter: Cut,
    /// Seconds for each byte, by operation.
    slopes: [f64; 5],
    /// What makes it so slow, by operation.
    causes: [String; 5],
}

/// A group of vertices: its ranks, what leaves it and what enters it.
struct Group {
    ranks: f64,
    out: f64,
    into: f64,
    has_first: bool,
    name: String,
}

impl Bounds {
    /// Bounds of these wires, on which everybody knows something of everybody after so many seconds at the soonest.
    pub fn of(wires: &Wires, floor_s: f64) -> Result<Self, Refusal> {
        let gather = cut::narrowest(wires)?;
        let scatter = cut::narrowest(&wires.reversed())?;
        let ranks = wires.ranks as f64;
        let (mut slopes, mut causes) = ([0.0; 5], [const { String::new() }; 5]);
        let mut raise = |operation: Operation, slope: f64, cause: &str| {
            let index = operation as usize;
            if slope > slopes[index] {
                slopes[index] = slope;
                causes[index] = cause.into();
            }
        };
        raise(Operation::AllGather, gather.inv_x / ranks, "narrowest cut of the fabric");
        raise(Operation::ReduceScatter, scatter.inv_x / ranks, "narrowest cut of the fabric");
        for division in &wires.divisions {
            let groups = measure(wires, &division.groups);
            let out: f64 = groups.iter().map(|group| group.out).sum();
            let into: f64 = groups.iter().map(|group| group.into).sum();
            if groups.len() > 1 {
                let messages = 2.0 * (groups.len() - 1) as f64;
                raise(
                    Operation::AllReduce,
                    messages / out.min(into),
                    &format!("links out of all {} {}", groups.len(), division.name),
                );
            }
            for group in groups.iter().filter(|group| group.ranks > 0.0 && group.ranks < ranks) {
                let cause = format!("links of {}", group.name);
                raise(Operation::AllReduce, 1.0 / group.out.min(group.into), &cause);
                let crossing = group.ranks * (ranks - group.ranks) / ranks;
                raise(Operation::AllToAll, crossing / group.out.min(group.into), &cause);
                let way = if group.has_first { group.out } else { group.into };
                raise(Operation::Broadcast, 1.0 / way, &cause);
            }
        }
        Ok(Self { ranks: wires.ranks as u32, floor_s, gather, scatter, slopes, causes })
    }

    /// Seconds that no algorithm can beat, and why.
    pub fn time(&self, operation: Operation, bytes: f64) -> (f64, &str) {
        let crossing = bytes * self.slopes[operation as usize];
        match crossing >= self.floor_s {
            true => (crossing, &self.causes[operation as usize]),
            false => (self.floor_s, "rounds until every rank has data from every other"),
        }
    }

    /// Seconds of the best reduce-scatter followed by the best all-gather, latency not counted: what algorithms made of
    /// these two cannot beat.
    pub fn halves(&self, bytes: f64) -> f64 {
        bytes * (self.gather.inv_x + self.scatter.inv_x) / f64::from(self.ranks)
    }

    /// The narrowest cut, seen by an all-gather.
    pub fn cut(&self) -> &Cut {
        &self.gather
    }
}

/// What leaves and enters each of these disjoint groups.
fn measure(wires: &Wires, division: &[Vec<usize>]) -> Vec<Group> {
    let mut owner = vec![usize::MAX; wires.names.len()];
    let mut groups = vec![];
    for (index, vertices) in division.iter().enumerate() {
        vertices.iter().for_each(|&vertex| owner[vertex] = index);
        let ranks = vertices.iter().filter(|&&vertex| vertex < wires.ranks).count() as f64;
        let name = vertices.last().map(|&vertex| wires.names[vertex].clone()).unwrap_or_default();
        groups.push(Group { ranks, out: 0.0, into: 0.0, has_first: vertices.contains(&0), name });
    }
    for &(from, to, speed) in &wires.links {
        let (from, to) = (owner[from], owner[to]);
        if from != to {
            if let Some(group) = groups.get_mut(from) {
                group.out += speed;
            }
            if let Some(group) = groups.get_mut(to) {
                group.into += speed;
            }
        }
    }
    groups.retain(|group| group.ranks > 0.0);
    groups
}

#[cfg(test)]
mod tests;
