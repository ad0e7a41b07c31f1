//! Speeds between hosts, looked up in a few comparisons: nothing of the size of a square is made.

use super::Fabric;
use std::collections::BTreeMap;

/// The domains of a fabric as numbers.
#[derive(Clone, Debug)]
pub struct Paths<'a> {
    fabric: &'a Fabric,
    /// By host, then by level but the first.
    domains: Vec<u32>,
    /// Levels but the first.
    depth: usize,
    /// By level at which hosts meet.
    told: Vec<f64>,
}

impl<'a> Paths<'a> {
    /// Of a fabric that [`Fabric::check`] accepts.
    pub fn new(fabric: &'a Fabric) -> Self {
        let depth = fabric.levels.len() - 1;
        let mut numbers: BTreeMap<(usize, &str), u32> = BTreeMap::new();
        let mut domains = Vec::with_capacity(fabric.hosts.len() * depth);
        for host in &fabric.hosts {
            for (level, domain) in host.domains.iter().enumerate() {
                let next = numbers.len() as u32;
                domains.push(*numbers.entry((level, domain)).or_insert(next));
            }
        }
        let told = (0..=depth).map(|level| fabric.told(level).bandwidth).collect();
        Paths { fabric, domains, depth, told }
    }

    /// The domains of a host as numbers, outermost first; each number is one domain of one level.
    pub fn domains(&self, host: usize) -> &[u32] {
        &self.domains[host * self.depth..(host + 1) * self.depth]
    }

    /// The level at which two hosts meet.
    pub fn meeting(&self, one: usize, other: usize) -> usize {
        self.domains(one).iter().zip(self.domains(other)).take_while(|(one, other)| one == other).count()
    }

    /// Bytes per second from one host to another.
    pub fn bandwidth(&self, from: usize, to: usize) -> f64 {
        match &self.fabric.measured {
            Some(table) => table[from][to],
            None => self.told[self.meeting(from, to)],
        }
    }
}
