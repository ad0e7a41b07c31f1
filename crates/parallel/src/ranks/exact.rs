//! The best ring by looking at all of them, in the order of sets instead of the order of rings.
//!
//! First the largest threshold at which links no slower than it still hold a ring through all hosts (Hamiltonian, by
//! dynamic programming over sets of hosts; halving over the speeds that occur), then the smallest sum of 1/bandwidth
//! over those links (Held and Karp). Work and memory grow with 2^n: 16 hosts take some ten milliseconds and 4 MiB.

use super::Refusal;
use super::ring::{Ring, figures};
use crate::Answer;

/// The best ring through 2 to 16 hosts.
pub fn ring(table: &[Vec<f64>]) -> Result<Answer<Ring>, Refusal> {
    let count = table.len();
    let mut speeds: Vec<f64> = vec![];
    for (from, row) in table.iter().enumerate() {
        speeds.extend((0..count).filter(|&to| to != from && row[to] > 0.0).map(|to| row[to]));
    }
    speeds.sort_unstable_by(f64::total_cmp);
    speeds.dedup();
    let mut tried = 0;
    let works = speeds.partition_point(|&threshold| holds_ring(table, threshold, &mut tried));
    let Some(&threshold) = works.checked_sub(1).map(|best| &speeds[best]) else {
        return Err(Refusal::NoRing);
    };
    let order = shortest(table, threshold, &mut tried).ok_or(Refusal::NoRing)?;
    let (bottleneck, around_s) = figures(&order, |from, to| table[from][to]);
    Ok(Answer {
        plan: Ring { order, bottleneck, around_s, around_bound_s: around_s },
        objective: bottleneck,
        unit: "bytes/s",
        bound: bottleneck,
        bound_by: "search was exhaustive".into(),
        assumed: vec![],
        tried,
    })
}

/// Whether links of at least this speed hold a ring through all hosts. Sets are of hosts but the first, which begins.
fn holds_ring(table: &[Vec<f64>], threshold: f64, tried: &mut u64) -> bool {
    let others = table.len() - 1;
    // From whom each can be reached, as a set.
    let into: Vec<u32> = (0..others)
        .map(|to| (0..others).filter(move |&from| from != to && table[from + 1][to + 1] >= threshold))
        .map(|from| from.fold(0, |set, from| set | 1 << from))
        .collect();
    let mut ends = vec![0u32; 1 << others];
    (0..others).filter(|&to| table[0][to + 1] >= threshold).for_each(|to| ends[1 << to] = 1 << to);
    for set in 1..ends.len() {
        if ends[set] == 0 {
            continue;
        }
        for (to, into) in into.iter().enumerate() {
            if set & (1 << to) == 0 && ends[set] & into != 0 {
                ends[set | 1 << to] |= 1 << to;
            }
        }
        *tried += 1;
    }
    let last = ends[ends.len() - 1];
    (0..others).any(|from| last & (1 << from) != 0 && table[from + 1][0] >= threshold)
}

/// The ring over links of at least this speed with the smallest sum of 1/bandwidth; ties fall to the lowest index.
fn shortest(table: &[Vec<f64>], threshold: f64, tried: &mut u64) -> Option<Vec<usize>> {
    let others = table.len() - 1;
    let time = |from: usize, to: usize| match table[from][to] >= threshold {
        true => 1.0 / table[from][to],
        false => f64::INFINITY,
    };
    let times: Vec<f64> = (0..others * others).map(|at| time(at / others + 1, at % others + 1)).collect();
    // By set and the first of it: the least time through the set and back to the host that begins.
    let mut best = vec![f64::INFINITY; others << others];
    (0..others).for_each(|last| best[(1 << last) * others + last] = time(last + 1, 0));
    for set in 1usize..1 << others {
        for first in (0..others).filter(|&first| set & (1 << first) != 0) {
            let rest = best[set * others + first];
            if rest == f64::INFINITY {
                continue;
            }
            for from in (0..others).filter(|&from| set & (1 << from) == 0) {
                let known = &mut best[(set | 1 << from) * others + from];
                *known = known.min(times[from * others + first] + rest);
            }
            *tried += 1;
        }
    }
    let (mut order, mut set) = (vec![0], (1usize << others) - 1);
    while set != 0 {
        let here = order[order.len() - 1];
        let next = |&to: &usize| time(here, to + 1) + best[set * others + to];
        let members = (0..others).filter(|&to| set & (1 << to) != 0);
        let to = members.min_by(|one, other| next(one).total_cmp(&next(other)))?;
        order.push(to + 1);
        set &= !(1 << to);
    }
    Some(order)
}
