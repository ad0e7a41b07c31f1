//! The best that any directed fabric allows: its narrowest cut, exactly.
//!
//! Idea: Zhao et al. (2023) and ForestColl. When every rank sends the same amount to all others, a set of vertices that
//! holds some ranks but not all must let out what its ranks have, through the links that leave it. The worst such set,
//! `1/x* = max |ranks inside| / bandwidth out`, bounds every all-gather, and trees that reach it exist. A reduce-scatter
//! is the same on reversed links. Switches are vertices that have nothing to say themselves.
//!
//! Found without trying all sets: a source gives each rank `x`; if everything arrives at rank `v`, no set without `v` is
//! too narrow for `x`; otherwise the cut that held it up is one, and `x` falls to what that cut allows (Dinkelbach).
//! Ranks that passed a larger `x` pass a smaller one, so there is one flow for each rank and one for each fall. Flows are
//! in whole numbers, so that nothing is rounded, and the answer is read off the cut itself.
//!
//! Simplified: latency is nothing, switches neither copy nor add. Does badly: small messages.

pub mod flow;

use flow::Net;
use std::fmt;

/// A directed fabric. Vertices below `ranks` are ranks, the others are switches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wires {
    /// How many vertices are ranks.
    pub ranks: usize,
    /// What people call each vertex.
    pub names: Vec<String>,
    /// From, to, bytes per second.
    pub links: Vec<(usize, usize, f64)>,
    /// Ranks that stand for all: every other is like one of these. All ranks when empty.
    pub typical: Vec<usize>,
    /// Ways to divide all ranks, and switches with them.
    pub divisions: Vec<Division>,
}

/// Disjoint groups of vertices that hold all ranks together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Division {
    /// What the groups are: `devices`, `hosts`.
    pub name: String,
    /// The vertices of each.
    pub groups: Vec<Vec<usize>>,
}

/// The narrowest cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The vertices on the side that has to send, in order.
    pub side: Vec<usize>,
    /// How many of them are ranks.
    pub ranks_inside: usize,
    /// What leaves this side, in the unit of the links.
    pub out: f64,
    /// `ranks_inside / out`: seconds for each byte that every rank has.
    pub inv_x: f64,
    /// How many flows were computed.
    pub flows: u64,
}

/// Why there is no cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// One rank talks to nobody.
    OneRank,
    /// More than can be looked at in reasonable time: vertices, links, and ranks that differ from each other.
    TooLarge(usize, usize, usize),
    /// A link leads from or to something that is not there.
    NoSuchVertex(usize),
    /// A link of no speed, or of none that is a number.
    NoSpeed(String, String),
    /// What the first says never arrives at the second.
    Apart(String, String),
}

/// More vertices are refused.
pub const MOST_VERTICES: usize = 300_000;

/// More links are refused, and so are more links for all flows together than 200 times as many.
pub const MOST_LINKS: usize = 1_000_000;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::OneRank => {
                write!(f, "a single rank has nothing to exchange; give at least two")
            }
            Refusal::TooLarge(vertices, links, unlike) => write!(
                f,
                "a fabric of {vertices} vertices, {links} links and {unlike} ranks that differ takes too long; plan a part of it"
            ),
            Refusal::NoSuchVertex(vertex) => {
                write!(f, "a link ends at unknown vertex {vertex}; correct the link")
            }
            Refusal::NoSpeed(from, to) => {
                write!(
                    f,
                    "the link from {from} to {to} has no bandwidth above zero; correct it or leave it out"
                )
            }
            Refusal::Apart(from, to) => {
                write!(f, "{to} cannot be reached from {from}; add a link between them")
            }
        }
    }
}

impl std::error::Error for Refusal {}

impl Wires {
    /// The same with every link turned round.
    pub fn reversed(&self) -> Self {
        let links = self.links.iter().map(|&(from, to, speed)| (to, from, speed)).collect();
        Self { links, ..self.clone() }
    }

    /// What leaves a set of vertices.
    pub fn out(&self, inside: &[bool]) -> f64 {
        let leaves = |link: &&(usize, usize, f64)| inside[link.0] && !inside[link.1];
        self.links.iter().filter(leaves).fold(0.0, |all, link| all + link.2)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.ranks < 2 {
            return Err(Refusal::OneRank);
        }
        let (vertices, links) = (self.names.len(), self.links.len());
        let unlike = if self.typical.is_empty() { self.ranks } else { self.typical.len() };
        if vertices > MOST_VERTICES || links > MOST_LINKS || unlike.saturating_mul(links) > 200 * MOST_LINKS {
            return Err(Refusal::TooLarge(vertices, links, unlike));
        }
        if self.ranks > vertices {
            return Err(Refusal::NoSuchVertex(vertices));
        }
        for &(from, to, speed) in &self.links {
            if from.max(to) >= vertices {
                return Err(Refusal::NoSuchVertex(from.max(to)));
            }
            if !(speed > 0.0 && speed.is_finite()) {
                return Err(Refusal::NoSpeed(self.names[from].clone(), self.names[to].clone()));
            }
        }
        let name = |vertex: usize| self.names[vertex].clone();
        match (self.unreached(false), self.unreached(true)) {
            (Some(lost), _) => Err(Refusal::Apart(name(0), name(lost))),
            (_, Some(mute)) => Err(Refusal::Apart(name(mute), name(0))),
            _ => Ok(()),
        }
    }

    /// The first rank that the first rank does not reach; or that does not reach it.
    fn unreached(&self, backwards: bool) -> Option<usize> {
        let mut leaving = vec![vec![]; self.names.len()];
        for &(from, to, _) in &self.links {
            let (from, to) = if backwards { (to, from) } else { (from, to) };
            leaving[from].push(to);
        }
        let (mut seen, mut waiting) = (vec![false; self.names.len()], vec![0]);
        seen[0] = true;
        while let Some(vertex) = waiting.pop() {
            for &to in &leaving[vertex] {
                if !std::mem::replace(&mut seen[to], true) {
                    waiting.push(to);
                }
            }
        }
        (0..self.ranks).find(|&rank| !seen[rank])
    }
}

/// The narrowest cut of a fabric.
pub fn narrowest(wires: &Wires) -> Result<Cut, Refusal> {
    wires.check()?;
    let (vertices, source) = (wires.names.len(), wires.names.len());
    let speeds = whole(&wires.links);
    let mut net = Net::new(vertices + 1);
    (0..wires.ranks).for_each(|rank| net.link(source, rank));
    wires.links.iter().for_each(|&(from, to, _)| net.link(from, to));
    let mut best = loneliest(wires, &speeds);
    let mut flows = 0;
    let everyone: Vec<usize> = (0..wires.ranks).collect();
    let targets = if wires.typical.is_empty() { &everyone } else { &wires.typical };
    for &target in targets {
        loop {
            // x is out / inside: everything times `inside` is whole.
            let (out, inside) = best.ratio;
            let given = std::iter::repeat_n(out, wires.ranks);
            net.fill(given.chain(speeds.iter().map(|&speed| speed * inside)));
            flows += 1;
            if net.flow(source, target) == out * wires.ranks as u128 {
                break;
            }
            let mut side = net.side();
            side.truncate(vertices);
            best = Found::of(side, wires, &speeds);
        }
    }
    let ranks_inside = best.side[..wires.ranks].iter().filter(|&&inside| inside).count();
    let out = wires.out(&best.side);
    let side = (0..vertices).filter(|&vertex| best.side[vertex]).collect();
    Ok(Cut { side, ranks_inside, out, inv_x: ranks_inside as f64 / out, flows })
}

/// A set of vertices, what leaves it, and how many ranks it holds.
struct Found {
    side: Vec<bool>,
    ratio: (u128, u128),
}

impl Found {
    fn of(side: Vec<bool>, wires: &Wires, speeds: &[u128]) -> Self {
        let leaves = |&(index, _): &(usize, &u128)| {
            let (from, to, _) = wires.links[index];
            side[from] && !side[to]
        };
        let out = speeds.iter().enumerate().filter(leaves).map(|(_, speed)| speed).sum();
        let inside = side[..wires.ranks].iter().filter(|&&inside| inside).count() as u128;
        Self { side, ratio: (out, inside) }
    }
}

/// Everything but the rank with the narrowest way in: a cut to begin with.
fn loneliest(wires: &Wires, speeds: &[u128]) -> Found {
    let mut entering = vec![0u128; wires.names.len()];
    for (&(from, to, _), speed) in wires.links.iter().zip(speeds) {
        entering[to] += if from == to { 0 } else { *speed };
    }
    let alone = (0..wires.ranks).min_by_key(|&rank| entering[rank]).unwrap_or(0);
    let side = (0..wires.names.len()).map(|vertex| vertex != alone).collect();
    Found::of(side, wires, speeds)
}

/// Speeds as whole numbers in one unit, so that flows are exact. A power of two makes fractions whole without rounding
/// them; where speeds differ by more than about 2^50, the smallest are rounded in their last digits.
fn whole(links: &[(usize, usize, f64)]) -> Vec<u128> {
    let largest = links.iter().map(|link| link.2).fold(0.0, f64::max);
    let mut scale = 1.0;
    while largest * scale < libm::exp2(60.0) && links.iter().any(|link| (link.2 * scale).fract() != 0.0) {
        scale *= 2.0;
    }
    while largest * scale > libm::exp2(62.0) {
        scale /= 2.0;
    }
    links.iter().map(|link| ((link.2 * scale).round() as u128).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn wires(ranks: usize, vertices: usize, links: Vec<(usize, usize, f64)>) -> Wires {
        let names = (0..vertices).map(|vertex| format!("v{vertex}")).collect();
        Wires { ranks, names, links, ..Wires::default() }
    }

    /// The worst of all sets.
    fn brute(wires: &Wires) -> f64 {
        let vertices = wires.names.len();
        let sets =
            (1u32..1 << vertices).map(|set| (0..vertices).map(|v| set >> v & 1 == 1).collect::<Vec<_>>());
        sets.map(|side| (side[..wires.ranks].iter().filter(|&&inside| inside).count(), wires.out(&side)))
            .filter(|&(inside, _)| inside > 0 && inside < wires.ranks)
            .map(|(inside, out)| inside as f64 / out)
            .fold(0.0, f64::max)
    }

    #[test]
    fn random_fabrics_have_the_cut_that_trying_all_sets_finds() {
        let mut dice = Dice::new(11);
        let mut solved = 0;
        for round in 0..400 {
            let vertices = 3 + dice.below(7);
            let ranks = 2 + dice.below(vertices - 1);
            let dense = 0.3 + 0.6 * dice.unit();
            let mut links = vec![];
            for from in 0..vertices {
                for to in 0..vertices {
                    if from != to && dice.unit() < dense {
                        let speed = 1.0 + dice.below(30) as f64;
                        links.push((
                            from,
                            to,
                            if round % 2 == 0 { speed } else { speed * 0.1 + dice.unit() },
                        ));
                    }
                }
            }
            let wires = wires(ranks, vertices, links);
            match narrowest(&wires) {
                Ok(cut) => {
                    solved += 1;
                    let best = brute(&wires);
                    assert!((cut.inv_x - best).abs() <= 1e-12 * best, "{wires:?} {cut:?} {best}");
                }
                Err(Refusal::Apart(..)) => assert_eq!(brute(&wires), f64::INFINITY),
                Err(other) => panic!("{other}"),
            }
        }
        assert!(solved > 200, "{solved}");
    }

    #[test]
    fn two_boxes_are_held_up_between_them() {
        let mut links = vec![(4, 5, 100.0), (5, 4, 100.0)];
        for rank in 0..4 {
            let switch = 4 + rank / 2;
            links.extend([(rank, switch, 300.0), (switch, rank, 300.0)]);
        }
        let cut = narrowest(&wires(4, 6, links)).unwrap();
        assert_eq!((cut.inv_x, cut.ranks_inside, cut.out), (0.02, 2, 100.0));
    }

    #[test]
    fn what_cannot_be_cut_is_refused_by_name() {
        let said = |wires: Wires| narrowest(&wires).unwrap_err().to_string();
        assert!(said(wires(2, 2, vec![(0, 1, 1.0)])).contains("v0 cannot be reached from v1"));
        assert!(said(wires(3, 3, vec![(0, 1, 1.0), (1, 0, 1.0)])).contains("v2 cannot be reached from v0"));
        assert!(said(wires(1, 1, vec![])).contains("a single rank"));
        assert!(said(wires(2, 2, vec![(0, 1, 1.0), (1, 0, 0.0)])).contains("from v1 to v0"));
        assert!(said(wires(2, 2, vec![(0, 1, f64::NAN)])).contains("bandwidth"));
        assert!(said(wires(2, 2, vec![(0, 7, 1.0)])).contains("vertex 7"));
    }
}
