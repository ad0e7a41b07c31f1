//! The order of hosts and ranks for a job, beside the order that names would give.

use super::groups::{Group, groups};
use super::layout::{Rank, Sizes, Wish, devices, resolve};
use super::ring::{figures, ring};
use super::{Refusal, natural, tree};
use crate::Answer;
use crate::fabric::{Fabric, Flaw, MOST_MEASURED, Paths};
use serde::Serialize;

/// Links that are looked at to find where the stages of a pipeline begin.
const TURNS: usize = 4_000_000;

/// Hosts in order, ranks on them, and what that is worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Sizes of the groups.
    pub sizes: Sizes,
    /// In order; the last is followed by the first.
    pub hosts: Vec<Seat>,
    /// The ring of hosts as planned.
    pub planned: Figures,
    /// The ring of hosts in the order of their names, letter by letter, as launchers sort them.
    pub by_name: Figures,
    /// No ring whose slowest link is as fast gets a byte around sooner.
    pub around_bound_s: f64,
    /// What groups cross, innermost kind first.
    pub groups: Vec<Group>,
    /// In order.
    pub ranks: Vec<Rank>,
}

/// One host of the ring.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seat {
    /// Counts from 0.
    pub node_rank: usize,
    /// Its name.
    pub host: String,
    /// Its devices.
    pub devices: u32,
    /// Its domains at every level but the first, outermost first.
    pub domains: Vec<String>,
    /// How fast it reaches the next host, in bytes per second; inside itself, where it is alone.
    pub to_next: f64,
    /// The level at which it meets the next host.
    pub meets: String,
}

/// How good a ring is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Its slowest link, in bytes per second.
    pub bottleneck: f64,
    /// One byte all the way around, in seconds: the sum of 1/bandwidth.
    pub around_s: f64,
}

/// Plans the order of hosts and ranks.
pub fn plan(fabric: &Fabric, wish: &Wish) -> Result<Answer<Plan>, Refusal> {
    fabric.check()?;
    let (sizes, spread) = resolve(fabric, wish)?;
    let paths = Paths::new(fabric);
    let Answer { plan: (mut order, around_bound_s), bound, bound_by, mut assumed, mut tried, .. } =
        hosts(fabric, &paths, spread)?;
    tried += turn(fabric, &paths, &sizes, spread, &mut order);
    let mut by_name: Vec<usize> = (0..order.len()).collect();
    by_name.sort_by(|&one, &other| fabric.hosts[one].name.cmp(&fabric.hosts[other].name));
    let judge = |order: &[usize]| {
        let (bottleneck, around_s) = figures(order, |from, to| speed(fabric, &paths, from, to));
        Figures { bottleneck, around_s }
    };
    let planned = judge(&order);
    assumed.push("one ring at a time: other traffic on the same links is not counted".into());
    let plan = Plan {
        sizes,
        hosts: seats(fabric, &paths, &order),
        planned,
        by_name: judge(&by_name),
        around_bound_s: around_bound_s.min(planned.around_s),
        groups: groups(fabric, &sizes, &by_name, &order),
        ranks: ranks(fabric, &sizes, &order),
    };
    let objective = planned.bottleneck;
    Ok(Answer { plan, objective, unit: "bytes/s", bound, bound_by, assumed, tried })
}

/// Between hosts; a host alone is a ring inside itself.
fn speed(fabric: &Fabric, paths: &Paths<'_>, from: usize, to: usize) -> f64 {
    match from == to {
        true => fabric.inside(from, 0, fabric.hosts[from].devices - 1).bandwidth,
        false => paths.bandwidth(from, to),
    }
}

/// The order of hosts and the least time around, with the bound on the slowest link.
fn hosts(fabric: &Fabric, paths: &Paths<'_>, spread: usize) -> Result<Answer<(Vec<usize>, f64)>, Refusal> {
    let count = fabric.hosts.len();
    let deep = tree::order(fabric, paths);
    let answer = |order, around, bound, bound_by: &str| Answer {
        plan: (order, around),
        objective: bound,
        unit: "bytes/s",
        bound,
        bound_by: bound_by.into(),
        assumed: vec![],
        tried: count as u64,
    };
    if count == 1 {
        let inside = speed(fabric, paths, 0, 0);
        return Ok(answer(deep, 1.0 / inside, inside, "one host: nothing leaves it"));
    }
    if fabric.is_tree() {
        let (slowest, around) = tree::bound(fabric, paths);
        return Ok(answer(deep, around, slowest, "every ring leaves each domain at least once"));
    }
    if count > MOST_MEASURED {
        return Err(Flaw::TooManyHosts(count, MOST_MEASURED).into());
    }
    // Hosts as people count them, so that what is equal stays in that order.
    let mut names: Vec<usize> = (0..count).collect();
    names.sort_by(|&one, &other| natural::compare(&fabric.hosts[one].name, &fabric.hosts[other].name));
    let mut place = vec![0; count];
    names.iter().enumerate().for_each(|(at, &host)| place[host] = at);
    let told = |from, to| if from == to { 0.0 } else { paths.bandwidth(from, to) };
    let table: Vec<Vec<f64>> =
        names.iter().map(|&from| names.iter().map(|&to| told(from, to)).collect()).collect();
    let start: Vec<usize> = deep.iter().map(|&host| place[host]).collect();
    let found = ring(&table, Some(&start))?;
    if spread > 1 {
        // Groups across hosts need neighbours that share an island, whatever the pairs say.
        let mut answer = answer(deep, found.plan.around_bound_s, found.bound, &found.bound_by);
        answer.assumed.push("groups spread over hosts, so that hosts go domain by domain".into());
        return Ok(answer);
    }
    Ok(found.map(|ring| (ring.order.iter().map(|&at| names[at]).collect(), ring.around_bound_s)))
}

/// Turns the ring to where the stages of a pipeline begin best: the data rings inside stages close on fast links, and
/// fewest of them cross domains. Says how many turns were looked at.
fn turn(fabric: &Fabric, paths: &Paths<'_>, sizes: &Sizes, spread: usize, order: &mut [usize]) -> u64 {
    let count = order.len();
    let each = fabric.hosts[0].devices;
    let stage = sizes.data * sizes.expert * sizes.tensor;
    let alike = fabric.hosts.iter().all(|host| host.devices == each);
    if sizes.pipeline < 2 || spread > 1 || !alike || !stage.is_multiple_of(u64::from(each)) {
        return 0;
    }
    let long = (stage / u64::from(each)) as usize;
    let judge = |offset: usize| {
        let host = |at: usize| order[(offset + at) % count];
        let (mut slowest, mut sum) = (f64::INFINITY, 0.0);
        for at in 0..count {
            let begin = at - at % long;
            let next = host(begin + (at + 1 - begin) % long);
            let ahead = (at + long < count).then(|| host(at + long));
            for (to, is_ring) in [(Some(next), true), (ahead, false)] {
                let Some(to) = to.filter(|&to| to != host(at)) else { continue };
                let speed = paths.bandwidth(host(at), to);
                sum += 1.0 / speed;
                slowest = if is_ring { speed.min(slowest) } else { slowest };
            }
        }
        (slowest, sum)
    };
    let turns = long.min((TURNS / count).max(1));
    let (mut best, mut figures) = (0, judge(0));
    for offset in 1..turns {
        let (slowest, sum) = judge(offset);
        if slowest > figures.0 || (slowest == figures.0 && sum < figures.1 * (1.0 - 1e-12)) {
            (best, figures) = (offset, (slowest, sum));
        }
    }
    order.rotate_left(best);
    turns as u64
}

fn seats(fabric: &Fabric, paths: &Paths<'_>, order: &[usize]) -> Vec<Seat> {
    let seat = |(at, &host): (usize, &usize)| {
        let next = order[(at + 1) % order.len()];
        let meets = match next == host {
            true => "island".into(),
            false => fabric.levels[paths.meeting(host, next)].name.clone(),
        };
        let (found, to_next) = (&fabric.hosts[host], speed(fabric, paths, host, next));
        Seat {
            node_rank: at,
            host: found.name.clone(),
            devices: found.devices,
            domains: found.domains.clone(),
            to_next,
            meets,
        }
    };
    order.iter().enumerate().map(seat).collect()
}

fn ranks(fabric: &Fabric, sizes: &Sizes, order: &[usize]) -> Vec<Rank> {
    let rank = |(rank, (host, local)): (usize, (usize, u32))| {
        let [pipeline, data, expert, tensor] = sizes.place(rank as u64);
        let host = fabric.hosts[host].name.clone();
        Rank { rank: rank as u64, host, local, pipeline, data, expert, tensor }
    };
    devices(fabric, order).into_iter().enumerate().map(rank).collect()
}
