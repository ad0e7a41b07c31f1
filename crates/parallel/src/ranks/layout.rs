//! The groups of a job on a row of devices: which rank is what.
//!
//! Ranks count tensor groups fastest, then experts, then data, then pipeline stages, as most frameworks do: ranks that
//! talk most are next to each other. So a tensor group, and the experts around it, are neighbouring devices of one
//! island; the members of a data group lie in one stage, host after host; and a stage talks to the same place in the
//! next stage.

use super::Refusal;
use crate::fabric::{Fabric, Paths};
use consort_types::file::limits;
use serde::Serialize;
use std::collections::BTreeMap;

/// More ranks than anybody plans.
pub const MOST_RANKS: u64 = limits::DEVICES;

/// Sizes that people give; those that are left out are derived.
///
/// Data takes what is left, and the others are 1. Where data is given, tensor takes the most that an island allows and
/// pipeline the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Stages.
    pub pipeline: Option<u64>,
    /// Replicas that exchange gradients.
    pub data: Option<u64>,
    /// Members of an expert group.
    pub expert: Option<u64>,
    /// Members of a tensor group.
    pub tensor: Option<u64>,
}

/// Sizes whose product is the number of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Stages.
    pub pipeline: u64,
    /// Replicas that exchange gradients.
    pub data: u64,
    /// Members of an expert group.
    pub expert: u64,
    /// Members of a tensor group.
    pub tensor: u64,
}

/// One rank: where it is, and what it is of each group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rank {
    /// Counts from 0.
    pub rank: u64,
    /// The host.
    pub host: String,
    /// The device of the host, from 0.
    pub local: u32,
    /// Its stage.
    pub pipeline: u64,
    /// Its replica.
    pub data: u64,
    /// Its place in the expert group.
    pub expert: u64,
    /// Its place in the tensor group.
    pub tensor: u64,
}

impl Sizes {
    /// What rank `rank` is: stage, replica, expert, tensor.
    pub fn place(&self, rank: u64) -> [u64; 4] {
        let (rest, tensor) = (rank / self.tensor, rank % self.tensor);
        let (rest, expert) = (rest / self.expert, rest % self.expert);
        [rest / self.data, rest % self.data, expert, tensor]
    }
}

/// Islands as groups see them.
struct Islands {
    /// Devices of the smallest.
    smallest: u64,
    /// Devices of one host, where the innermost level is as fast as an island and all hosts are alike.
    host: Option<u64>,
}

/// The sizes of all groups, and over how many hosts a tensor or expert group spreads: 1, but for islands across hosts.
pub fn resolve(fabric: &Fabric, wish: &Wish) -> Result<(Sizes, usize), Refusal> {
    let devices = fabric.devices();
    if devices > MOST_RANKS {
        return Err(Refusal::TooManyRanks(devices));
    }
    let islands = islands(fabric);
    // The innermost first: what does not fit an island is said before what does not divide the rest.
    let given =
        [("tensor", wish.tensor), ("expert", wish.expert), ("pipeline", wish.pipeline), ("data", wish.data)];
    let (mut left, mut what) = (devices, format!("{devices} devices"));
    for (group, size) in given {
        let Some(asked) = size else { continue };
        if asked == 0 {
            return Err(Refusal::Nothing(group));
        }
        if !left.is_multiple_of(asked) {
            return Err(Refusal::Sizes { group, asked, left, what, would: divisors(left) });
        }
        left /= asked;
        what = format!("{what} over {group} {asked}");
    }
    let [mut tensor, mut expert, mut pipeline, mut data] = given.map(|(_, size)| size.unwrap_or(1));
    match (wish.data, wish.pipeline, wish.tensor, wish.expert) {
        (None, ..) => data = left,
        (_, None, Some(_), _) => pipeline = left,
        (_, None, None, _) => {
            let fits = |size: &u64| islands.smallest.is_multiple_of(size * expert);
            tensor = divisors(left).into_iter().filter(fits).max().unwrap_or(1);
            pipeline = left / tensor;
        }
        (_, Some(_), None, _) => tensor = left,
        (_, Some(_), Some(_), None) => expert = left,
        (Some(asked), Some(_), Some(_), Some(_)) if left > 1 => {
            let left = left * asked;
            let what = what.rsplit_once(" over ").map_or(what.clone(), |(before, _)| before.into());
            return Err(Refusal::Sizes { group: "data", asked, left, what, would: vec![left] });
        }
        _ => {}
    }
    let sizes = Sizes { pipeline, data, expert, tensor };
    Ok((sizes, inside_islands(fabric, &islands, &sizes)?))
}

fn islands(fabric: &Fabric) -> Islands {
    let smallest = fabric.hosts.iter().map(|host| u64::from(host.island)).min().unwrap_or(1);
    let first = &fabric.hosts[0];
    let alike = fabric.hosts.iter().all(|host| host.devices == first.devices && host.island == host.devices);
    let innermost = fabric.levels.len() - 1;
    let fast = innermost > 0 && fabric.levels[innermost].link.bandwidth >= fabric.island.bandwidth;
    Islands {
        smallest,
        host: (fast && alike && fabric.measured.is_none()).then_some(u64::from(first.devices)),
    }
}

/// Refuses groups that would leave their island; says over how many hosts each spreads.
fn inside_islands(fabric: &Fabric, islands: &Islands, sizes: &Sizes) -> Result<usize, Refusal> {
    let smallest = islands.smallest;
    let both = sizes.tensor.saturating_mul(sizes.expert);
    if smallest.is_multiple_of(both)
        && fabric.hosts.iter().all(|host| u64::from(host.island).is_multiple_of(both))
    {
        return Ok(1);
    }
    if let Some(host) = islands.host
        && both.is_multiple_of(host)
        && (host.is_multiple_of(sizes.tensor) || sizes.tensor.is_multiple_of(host))
    {
        let each = (both / host) as usize;
        return even(fabric, each).map(|()| each);
    }
    let fits = |size: &u64| fabric.hosts.iter().all(|host| u64::from(host.island).is_multiple_of(*size));
    let would: Vec<u64> = divisors(smallest).into_iter().filter(fits).collect();
    let (group, asked) = match would.contains(&sizes.tensor) {
        true => ("tensor times expert", both),
        false => ("tensor", sizes.tensor),
    };
    Err(Refusal::Island { group, asked, island: smallest, would })
}

/// Whether every domain of the innermost level divides into so many hosts.
fn even(fabric: &Fabric, each: usize) -> Result<(), Refusal> {
    let paths = Paths::new(fabric);
    let mut members: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for host in 0..fabric.hosts.len() {
        if let Some(&domain) = paths.domains(host).last() {
            members.entry(domain).or_insert((host, 0)).1 += 1;
        }
    }
    match members.values().find(|(_, hosts)| !hosts.is_multiple_of(each)) {
        Some(&(host, hosts)) => {
            let (level, domain) =
                (&fabric.levels[fabric.levels.len() - 1].name, fabric.hosts[host].domains.last());
            let domain = format!("{level} {}", domain.map_or("", String::as_str));
            Err(Refusal::Uneven { domain, hosts, each })
        }
        None => Ok(()),
    }
}

fn divisors(number: u64) -> Vec<u64> {
    let root = (number as f64).sqrt() as u64 + 1;
    let small: Vec<u64> =
        (1..=root).filter(|size| number.is_multiple_of(*size) && size * size <= number).collect();
    let large = small.iter().rev().map(|size| number / size).filter(|size| size * size > number);
    small.iter().copied().chain(large).collect()
}

/// Every rank on the hosts in this order: index of the host, and its device.
pub fn devices(fabric: &Fabric, order: &[usize]) -> Vec<(usize, u32)> {
    order.iter().flat_map(|&host| (0..fabric.hosts[host].devices).map(move |local| (host, local))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::read;

    fn hosts(count: u32, devices: u32) -> Fabric {
        read(&format!("hosts: [{{name: 'n{{}}', count: {count}, devices: {devices}}}]")).unwrap()
    }

    fn sizes(fabric: &Fabric, wish: [u64; 4]) -> Result<[u64; 4], String> {
        let [pipeline, data, expert, tensor] = wish.map(|size| (size > 0).then_some(size));
        let found = resolve(fabric, &Wish { pipeline, data, expert, tensor });
        found.map(|(s, _)| [s.pipeline, s.data, s.expert, s.tensor]).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn what_is_left_out_is_derived() {
        let fabric = hosts(8, 8);
        assert_eq!(sizes(&fabric, [0, 0, 0, 0]), Ok([1, 64, 1, 1]));
        assert_eq!(sizes(&fabric, [4, 0, 0, 8]), Ok([4, 2, 1, 8]));
        assert_eq!(sizes(&fabric, [0, 4, 0, 0]), Ok([2, 4, 1, 8]));
        assert_eq!(sizes(&fabric, [0, 4, 2, 0]), Ok([2, 4, 2, 4]));
        assert_eq!(sizes(&fabric, [0, 4, 0, 2]), Ok([8, 4, 1, 2]));
        assert_eq!(sizes(&fabric, [2, 4, 0, 4]), Ok([2, 4, 2, 4]));
        assert_eq!(sizes(&fabric, [2, 8, 0, 0]), Ok([2, 8, 1, 4]));
    }

    #[test]
    fn what_does_not_divide_is_refused_with_what_would() {
        let fabric = hosts(8, 8);
        let said = |wish| sizes(&fabric, wish).unwrap_err();
        assert_eq!(
            said([0, 0, 0, 3]),
            "tensor 3 does not divide the 64 devices; choose tensor 1, 2, 4, 8, 16, 32 or 64"
        );
        assert_eq!(
            said([3, 0, 0, 8]),
            "pipeline 3 does not divide the 64 devices over tensor 8; choose pipeline 1, 2, 4 or 8"
        );
        assert_eq!(
            said([2, 2, 1, 8]),
            "data 2 does not divide the 64 devices over tensor 8 over expert 1 over pipeline 2; choose data 4"
        );
        assert!(said([0, 0, 0, 16]).starts_with("tensor 16 does not divide an island of 8 devices"));
        assert!(said([0, 0, 4, 4]).starts_with("tensor times expert 16 does not divide an island"));
        let mixed = read("hosts: [{name: a, devices: 8}, {name: b, devices: 4}]").unwrap();
        assert!(sizes(&mixed, [0, 0, 0, 8]).unwrap_err().contains("choose tensor 1, 2, 3, 4, 6 or 12"));
        assert_eq!(sizes(&mixed, [0, 0, 0, 4]), Ok([1, 3, 1, 4]));
    }

    #[test]
    fn an_island_may_reach_across_hosts() {
        let text = "levels: [{name: spine}, {name: nvl, bandwidth: 900GB/s}]
island: {bandwidth: 900GB/s}
hosts: [{name: 'n{}', count: 8, devices: 4, domains: {nvl: {name: 'd{}', every: 4}}}]";
        let fabric = read(text).unwrap();
        let wish = |tensor| Wish { tensor: Some(tensor), ..Wish::default() };
        assert_eq!(resolve(&fabric, &wish(8)).unwrap().1, 2);
        assert_eq!(resolve(&fabric, &wish(16)).unwrap().1, 4);
        assert!(resolve(&fabric, &wish(32)).unwrap_err().to_string().contains("the 4 hosts of nvl d1"));
    }

    #[test]
    fn divisors_are_in_order() {
        assert_eq!(divisors(12), [1, 2, 3, 4, 6, 12]);
        assert_eq!(divisors(16), [1, 2, 4, 8, 16]);
        assert_eq!(divisors(1), [1]);
    }
}
