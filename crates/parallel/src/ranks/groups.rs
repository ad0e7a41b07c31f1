//! Which groups cross which level, and how often: what an order of hosts is worth to a job.
//!
//! Members of a tensor, expert or data group talk around a ring; stages of a pipeline talk to the next. Every such pair
//! is a link, and it crosses the innermost level that holds both ends.

use super::layout::{Sizes, devices};
use crate::fabric::{Fabric, Paths};
use serde::Serialize;

/// All groups of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// `tensor`, `expert`, `data`, `pipeline`
    pub kind: &'static str,
    /// Members of each.
    pub size: u64,
    /// How many there are.
    pub count: u64,
    /// The slowest link of any of them if hosts go by name, in bytes per second.
    pub slowest_by_name: f64,
    /// The slowest link of any of them as planned.
    pub slowest: f64,
    /// Where their links meet, outermost first; places that none meets at are left out.
    pub crossings: Vec<Crossing>,
}

/// How many links of a kind of group meet at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Crossing {
    /// A level, or `node` between islands of a host, or `island` inside one.
    pub level: String,
    /// If hosts go by name.
    pub by_name: u64,
    /// As planned.
    pub planned: u64,
}

/// Links by place, and the slowest.
struct Tally {
    links: Vec<u64>,
    slowest: f64,
}

/// All kinds of groups that have more than one member, under two orders of hosts.
pub fn groups(fabric: &Fabric, sizes: &Sizes, by_name: &[usize], planned: &[usize]) -> Vec<Group> {
    let Sizes { pipeline, data, expert, tensor } = *sizes;
    let all = pipeline * data * expert * tensor;
    let paths = Paths::new(fabric);
    let (before, after) = (devices(fabric, by_name), devices(fabric, planned));
    let kinds = [
        ("tensor", tensor, 1, true),
        ("expert", expert, tensor, true),
        ("data", data, tensor * expert, true),
        ("pipeline", pipeline, tensor * expert * data, false),
    ];
    let mut groups = vec![];
    for (kind, size, stride, ring) in kinds.into_iter().filter(|(_, size, ..)| *size > 1) {
        let tally = |seats: &[(usize, u32)]| tally(fabric, &paths, seats, size, stride, ring);
        let (old, new) = (tally(&before), tally(&after));
        let places = fabric.levels.iter().map(|level| level.name.as_str()).chain(["node", "island"]);
        let crossings = places.zip(old.links.iter().zip(&new.links));
        let crossings = crossings.filter(|(_, (old, new))| **old + **new > 0);
        let crossing = |(level, (by_name, planned)): (&str, (&u64, &u64))| Crossing {
            level: level.into(),
            by_name: *by_name,
            planned: *planned,
        };
        groups.push(Group {
            kind,
            size,
            count: all / size,
            slowest_by_name: old.slowest,
            slowest: new.slowest,
            crossings: crossings.map(crossing).collect(),
        });
    }
    groups
}

fn tally(
    fabric: &Fabric,
    paths: &Paths<'_>,
    seats: &[(usize, u32)],
    size: u64,
    stride: u64,
    ring: bool,
) -> Tally {
    let levels = fabric.levels.len();
    let mut tally = Tally { links: vec![0; levels + 2], slowest: f64::INFINITY };
    for (rank, &(host, local)) in seats.iter().enumerate() {
        let member = rank as u64 / stride % size;
        let next = match member + 1 == size {
            true if ring => rank as u64 - member * stride,
            true => continue,
            false => rank as u64 + stride,
        };
        let (other, far) = seats[next as usize];
        let (place, speed) = match host == other {
            true => {
                let link = fabric.inside(host, local, far);
                let island = fabric.hosts[host].island;
                (levels + usize::from(local / island == far / island), link.bandwidth)
            }
            false => (paths.meeting(host, other), paths.bandwidth(host, other)),
        };
        tally.links[place] += 1;
        tally.slowest = tally.slowest.min(speed);
    }
    tally
}
