//! All that is known about the ranks of a job, put together: tiers to price with, bounds to compare with, and the machine
//! as NCCL sees it. Made once, asked for many sizes.

use super::bound::Bounds;
use super::nccl::{Generation, Machine};
use super::tiers::Tiers;
use super::{cut, tiers, wires};
use crate::fabric::Fabric;
use std::fmt;

/// What is known.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Their tiers.
    pub tiers: Tiers,
    /// What no algorithm beats.
    pub bounds: Bounds,
    /// What NCCL finds.
    pub machine: Machine,
    /// The narrowest cut in words: 16 of 32 ranks behind 60 GB/s from l2 to spine.
    pub narrowest: Narrowest,
    /// What was taken for granted.
    pub assumed: Vec<String>,
}

/// The narrowest cut, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrowest {
    /// Ranks on the side that has to send.
    pub inside: usize,
    /// What leaves that side, in bytes per second.
    pub out: f64,
    /// Where the links that leave it lead: the names of the first few.
    pub links: Vec<(String, String)>,
    /// How many there are beside these.
    pub more: usize,
}

/// Why nothing is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// There are no tiers.
    Tiers(tiers::Refusal),
    /// There is no cut.
    Cut(cut::Refusal),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Tiers(refusal) => refusal.fmt(f),
            Refusal::Cut(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<tiers::Refusal> for Refusal {
    fn from(refusal: tiers::Refusal) -> Self {
        Refusal::Tiers(refusal)
    }
}

impl From<cut::Refusal> for Refusal {
    fn from(refusal: cut::Refusal) -> Self {
        Refusal::Cut(refusal)
    }
}

impl Ground {
    /// Every device of a fabric is a rank.
    pub fn of(fabric: &Fabric, generation: Option<Generation>) -> Result<Self, Refusal> {
        let tiers = Tiers::of(fabric)?;
        let known = fabric.hosts.iter().find_map(|host| Generation::of(&host.kind));
        let nodes = fabric.hosts.iter().filter(|host| host.devices > 0).count() as u32;
        Self::with(tiers, nodes, generation.or(known), &wires::of(fabric))
    }

    /// Ranks in tiers, on so many nodes.
    pub fn of_tiers(tiers: Tiers, nodes: u32, generation: Option<Generation>) -> Result<Self, Refusal> {
        let wires = wires::of_tiers(&tiers);
        Self::with(tiers, nodes, generation, &wires)
    }

    fn with(
        tiers: Tiers,
        nodes: u32,
        known: Option<Generation>,
        wires: &cut::Wires,
    ) -> Result<Self, Refusal> {
        let bounds = Bounds::of(wires, tiers.floor_s)?;
        let machine = Machine::of(&tiers, nodes, known.unwrap_or(Generation::Hopper));
        let assumed = tiers.assumed.clone();
        let narrowest = Narrowest::of(bounds.cut(), wires);
        Ok(Self { tiers, bounds, machine, narrowest, assumed })
    }
}

impl Narrowest {
    fn of(cut: &cut::Cut, wires: &cut::Wires) -> Self {
        let mut side = vec![false; wires.names.len()];
        cut.side.iter().for_each(|&vertex| side[vertex] = true);
        let leaving = wires.links.iter().filter(|link| side[link.0] && !side[link.1]);
        let named = leaving.map(|link| (wires.names[link.0].clone(), wires.names[link.1].clone()));
        let mut links: Vec<(String, String)> = named.collect();
        let more = links.len().saturating_sub(3);
        links.truncate(3);
        Self { inside: cut.ranks_inside, out: cut.out, links, more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::tiers::tests::fabric;

    #[test]
    fn the_narrowest_place_of_a_fabric_has_a_name() {
        let ground = Ground::of(&fabric(), None).unwrap();
        assert_eq!((ground.narrowest.inside, ground.narrowest.out), (16, 60e9));
        assert_eq!(ground.narrowest.links, [("l2".to_string(), "spine".to_string())]);
        assert_eq!((ground.machine.nodes, ground.machine.ranks), (4, 32));
    }

    #[test]
    fn a_fabric_without_a_second_device_is_refused() {
        let mut alone = fabric();
        alone.hosts.truncate(1);
        alone.hosts[0].devices = 1;
        alone.hosts[0].island = 1;
        assert!(Ground::of(&alone, None).unwrap_err().to_string().contains("a single rank"));
    }
}
