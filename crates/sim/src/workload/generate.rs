//! Workloads from a seed: arrivals with a daily rhythm, lengths with a long tail, users who estimate badly.
//!
//! Arrivals are a Poisson process, thinned so that afternoons are busy and nights quiet. Lengths are log-normal, as
//! published studies of shared clusters find them, and some come from a Pareto tail, because it is the few very long
//! jobs that make scheduling hard. The same recipe and cluster give the same workload on every machine; a test pins
//! a digest of it. What it leaves out: weekends, users who react to waiting, and jobs that resemble earlier ones.

use super::assemble::Assembly;
use super::{Cluster, DEFAULT, Submission, Truth, Workload, cluster_file, helios, limits};
use crate::dice::Dice;
use consort_types::{Count, Form, JobSpec, Qos, Shape, Span, Time};
use std::sync::Arc;

/// What to generate. Shares are from 0 to 1; weights are relative to each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Another seed, another workload.
    pub seed: u64,
    /// How many jobs.
    pub jobs: u32,
    /// How many arrive in an hour, on average over a day. All at once when it is not positive.
    pub rate_per_hour: f64,
    /// Whether afternoons are busier than nights.
    pub daily: bool,
    /// Kinds of device by weight. Kinds that the cluster lacks are passed over; if none is left, the kinds of the
    /// cluster are taken, by their devices.
    pub kinds: Vec<(String, f64)>,
    /// Widths in devices by weight; a width is cut to what the cluster has of the kind.
    pub widths: Vec<(u32, f64)>,
    /// Half of the jobs outside the tail are shorter.
    pub median: Span,
    /// How far lengths spread: the deviation of their logarithm.
    pub sigma: f64,
    /// The share of jobs whose length comes from the tail.
    pub tail: f64,
    /// The shortest length in the tail.
    pub tail_from: Span,
    /// How fast the tail thins out; the smaller, the heavier. Above 1.
    pub tail_exponent: f64,
    /// No job is longer.
    pub longest: Span,
    /// Tenants by weight; the default tenant when empty.
    pub tenants: Vec<(String, f64)>,
    /// What users say about lengths.
    pub estimates: Estimates,
    /// The share of jobs that accept every kind, not only their own.
    pub flexible: f64,
    /// The share of jobs of two devices or more that also run on a quarter of their width.
    pub elastic: f64,
    /// The share of jobs that are bags: their work is cut into tasks of one device.
    pub bags: f64,
    /// The share of jobs of one device that need only half of it.
    pub shared: f64,
    /// The share of jobs that anyone may push aside.
    pub best_effort: f64,
    /// The share of jobs that nobody may push aside.
    pub guaranteed: f64,
    /// The share of jobs with a deadline, at one and a half to five times their length.
    pub deadlines: f64,
    /// The share of jobs whose first attempt fails. They are all allowed two retries.
    pub failing: f64,
}

/// What users say about how long their jobs run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimates {
    /// Nothing.
    None,
    /// The truth.
    Exact,
    /// The truth times a log-normal factor: half say too much, half too little.
    Off {
        /// The deviation of the factor's logarithm.
        sigma: f64,
    },
}

/// About a thousand jobs over two days that keep [`demo_cluster`] contended.
impl Default for Recipe {
    fn default() -> Self {
        let weighted = |pairs: &[(&str, f64)]| pairs.iter().map(|(name, w)| (name.to_string(), *w)).collect();
        Recipe {
            seed: 1,
            jobs: 1_000,
            rate_per_hour: 24.0,
            daily: true,
            kinds: weighted(&[("h200", 0.42), ("mi300x", 0.33), ("l4", 0.25)]),
            widths: vec![(1, 0.45), (2, 0.15), (4, 0.15), (8, 0.15), (16, 0.07), (32, 0.03)],
            median: Span::seconds(40 * 60),
            sigma: 1.2,
            tail: 0.05,
            tail_from: Span::seconds(4 * 3_600),
            tail_exponent: 1.6,
            longest: Span::seconds(86_400),
            tenants: weighted(&[("vision", 0.5), ("speech", 0.3), ("language", 0.2)]),
            estimates: Estimates::Off { sigma: 0.7 },
            flexible: 0.25,
            elastic: 0.25,
            bags: 0.1,
            shared: 0.3,
            best_effort: 0.2,
            guaranteed: 0.05,
            deadlines: 0.2,
            failing: 0.03,
        }
    }
}

const DEMO: &str = "
levels: [{name: rack, link: leaf}]
links: {island: nvlink, node: pcie}
kinds:
  - {name: h200, vendor: nvidia, memory: 141GiB}
  - {name: mi300x, vendor: amd, memory: 192GiB}
  - {name: l4, vendor: nvidia, memory: 24GiB}
nodes:
  - {name: 'h{}', count: 10, devices: {h200: 8}, domains: {rack: {name: 'r{}', every: 5}}}
  - {name: 'm{}', count: 8, devices: {mi300x: 8}, domains: {rack: {name: 'r{}', every: 4, from: 3}}}
  - {name: 'l{}', count: 6, devices: [{kind: l4, count: 8, island: 0}], domains: {rack: r5}}
tenants:
  - {name: vision, quotas: {h200: 32, mi300x: 24}}
  - {name: speech, quotas: {h200: 24, l4: {guarantee: 16, ceiling: 40}}}
  - {name: language, quotas: {h200: 16, mi300x: {guarantee: 24, ceiling: 56}}}
";

/// 24 nodes of three kinds in five racks, 192 devices, shared by three tenants.
pub fn demo_cluster() -> Cluster {
    cluster_file::parse("demonstration cluster", DEMO).expect("a constant that a test reads")
}

/// Makes the workload that a recipe describes, for a cluster it can run on. Empty if the cluster has no device.
pub fn generate(recipe: &Recipe, cluster: &Cluster) -> Workload {
    let mut dice = Dice::new(recipe.seed);
    let kinds = present_kinds(recipe, cluster);
    let mut assembly = Assembly::<()>::new();
    let mut seconds = 0.0;
    for number in 1..=recipe.jobs.min(limits::JOBS as u32) {
        seconds = next_arrival(recipe, &mut dice, seconds);
        let at = Time::ZERO + span(seconds);
        let Some(submission) = job(recipe, &kinds, &mut dice, number, at) else { break };
        assembly.add(submission, vec![]).expect("numbers are unique and within bounds");
    }
    assembly.finish().expect("nobody waits for anybody")
}

/// A kind and how many devices of it there are.
type Kind = (String, u64);

fn present_kinds(recipe: &Recipe, cluster: &Cluster) -> Vec<(Kind, f64)> {
    let counted = |name: &str| (name.to_string(), cluster.devices_of(name));
    let wanted = recipe.kinds.iter().map(|(name, weight)| (counted(name), *weight));
    let wanted: Vec<_> = wanted.filter(|((_, devices), _)| *devices > 0).collect();
    if !wanted.is_empty() {
        return wanted;
    }
    let all = cluster.kinds.iter().map(|kind| counted(&kind.name));
    all.map(|(name, devices)| ((name, devices), devices as f64)).filter(|(_, weight)| *weight > 0.0).collect()
}

/// When the next job comes, in seconds. Thinning: draw at the highest rate, and keep what the hour allows.
fn next_arrival(recipe: &Recipe, dice: &mut Dice, mut seconds: f64) -> f64 {
    /// How much busier than the average the busiest hour is, and how much quieter the quietest.
    const SWING: f64 = 0.8;
    if recipe.rate_per_hour <= 0.0 || !recipe.rate_per_hour.is_finite() {
        return seconds;
    }
    let mean = 3_600.0 / recipe.rate_per_hour;
    if !recipe.daily {
        return seconds + dice.exponential(mean);
    }
    loop {
        seconds += dice.exponential(mean / (1.0 + SWING));
        let hour = seconds / 3_600.0;
        // Busiest at three in the afternoon, quietest at three in the morning.
        let level = 1.0 + SWING * libm::sin(std::f64::consts::TAU * (hour - 9.0) / 24.0);
        if dice.chance(level / (1.0 + SWING)) {
            return seconds;
        }
    }
}

/// One job; none when there is no kind of device to run it on. Every job draws the same dice in the same order.
fn job(recipe: &Recipe, kinds: &[(Kind, f64)], dice: &mut Dice, number: u32, at: Time) -> Option<Submission> {
    let (kind, devices) = dice.pick(kinds)?.clone();
    let most = devices.min(u64::from(limits::WIDTH)) as u32;
    let width = dice.pick(&recipe.widths).copied().unwrap_or(1).clamp(1, most);
    let length = length(recipe, dice);
    let [flexible, elastic, bag, shared] =
        [recipe.flexible, recipe.elastic, recipe.bags, recipe.shared].map(|share| dice.chance(share));
    let [class, slack, error] = [dice.unit(), dice.between(1.5, 5.0), dice.normal()];
    let [deadline, failing] = [recipe.deadlines, recipe.failing].map(|share| dice.chance(share));

    let name = format!("job-{number}");
    let mut spec = JobSpec::gang(name.as_str(), width, Shape::of(&kind));
    let mut truth = Truth { lengths: vec![length], failures: u32::from(failing), ..Truth::default() };
    let stage = &mut spec.stages[0];
    if bag {
        // The work of the gang, in pieces: four tasks for each device, each a quarter as long.
        stage.form = Form::Bag { tasks: (width * 4).min(limits::TASKS) };
        stage.roles[0].count = Count::exactly(1);
        truth.lengths[0] = Span((length.0 / 4).max(1));
    } else if elastic && width > 1 {
        stage.roles[0].count.min = (width / 4).max(1);
    } else if shared && width == 1 {
        stage.roles[0].shapes[0].share = 500;
    }
    if flexible {
        let first = stage.roles[0].shapes[0].clone();
        let enough = |((other, devices), _): &&(Kind, f64)| *other != kind && *devices >= u64::from(width);
        let others = kinds.iter().filter(enough);
        let others = others.map(|((other, _), _)| Shape { kind: Some(other.clone()), ..first.clone() });
        stage.roles[0].shapes.extend(others);
    }
    spec.tenant = dice.pick(&recipe.tenants).map_or(DEFAULT, String::as_str).into();
    spec.qos = match class {
        class if class < recipe.best_effort => Qos::BestEffort,
        class if class < recipe.best_effort + recipe.guaranteed => Qos::Guaranteed,
        _ => Qos::Standard,
    };
    spec.estimate = match recipe.estimates {
        Estimates::None => None,
        Estimates::Exact => Some(length),
        Estimates::Off { sigma } => Some(span((length.as_seconds() * libm::exp(sigma * error)).max(1.0))),
    };
    spec.deadline = deadline.then(|| at + span(length.as_seconds() * slack));
    spec.retries = 2;
    spec.restart_cost = Span::seconds(helios::restart_cost_s(width));
    Some(Submission { label: name, at, spec: Arc::new(spec), after: vec![], truth })
}

fn length(recipe: &Recipe, dice: &mut Dice) -> Span {
    let seconds = match dice.chance(recipe.tail) {
        true => dice.pareto(recipe.tail_from.as_seconds(), recipe.tail_exponent.max(1.01)),
        false => dice.log_normal(recipe.median.as_seconds(), recipe.sigma),
    };
    span(seconds).max(Span::seconds(1)).min(recipe.longest.max(Span::seconds(1)))
}

/// Seconds to the nearest millisecond, at most a century: finer would only pretend to know.
fn span(seconds: f64) -> Span {
    let milliseconds = libm::round(seconds.clamp(0.0, Span::CENTURY.as_seconds()) * 1_000.0);
    Span(milliseconds as i64 * 1_000_000)
}

#[cfg(test)]
mod tests;
