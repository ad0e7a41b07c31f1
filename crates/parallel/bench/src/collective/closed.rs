//! Closed forms beside public cases.

use super::{compare, figures};
use crate::{Anchor, Row, data};
use consort_parallel::collective::bound::Bounds;
use consort_parallel::collective::cost::{self, Algorithm, Operation};
use consort_parallel::collective::tiers::{Exit, Tiers};
use consort_parallel::collective::wires;
use consort_parallel::fabric::Link;
use serde::Deserialize;

/// The file.
#[derive(Deserialize)]
pub struct Cases {
    /// Ranks that are all alike.
    #[serde(default)]
    pub flat: Vec<Flat>,
    /// Ranks in hosts.
    #[serde(default)]
    pub hierarchical: Vec<Hosts>,
}

/// An all-reduce among ranks that are all alike.
#[derive(Deserialize)]
pub struct Flat {
    n: u32,
    bytes: f64,
    alpha: f64,
    #[serde(rename = "beta_inv_Bps")]
    bandwidth: f64,
    ring: Option<f64>,
    recursive_doubling: Option<f64>,
    rabenseifner: Option<f64>,
    tree_pipelined: Option<f64>,
    best: Option<String>,
}

/// An all-reduce among ranks in hosts.
#[derive(Deserialize)]
pub struct Hosts {
    nodes: u32,
    gpus_per_node: u32,
    bytes: f64,
    a_intra: f64,
    #[serde(rename = "B_intra")]
    b_intra: f64,
    a_inter: f64,
    #[serde(rename = "B_inter")]
    b_inter: f64,
    hier_rail: Option<f64>,
    hier_shared_nic: Option<f64>,
    flat_ring: Option<f64>,
}

/// What went wrong before anything could be compared.
fn refused(sentence: &impl ToString) -> Row {
    Row { misses: vec![sentence.to_string()], is_barred: true, ..Row::default() }
}

impl Flat {
    /// `flat-n4-1048576-5us-25GBps`
    pub fn name(&self) -> String {
        let (wait, speed) = (shown(self.alpha * 1e6), shown(self.bandwidth / 1e9));
        format!("flat-n{}-{}-{wait}us-{speed}GBps", self.n, self.bytes)
    }

    /// The case, measured.
    pub fn row(&self) -> Row {
        let link = Link { bandwidth: self.bandwidth, latency_s: self.alpha };
        let (made, cpu_ms) = data::timed(|| {
            Tiers::flat(self.n, link).map(|tiers| tiers.times(Operation::AllReduce, self.bytes))
        });
        let times = match made {
            Ok(times) => times,
            Err(refusal) => return refused(&refusal),
        };
        let of = |wanted| {
            times.iter().find(|(algorithm, _)| *algorithm == wanted).map_or(f64::NAN, |found| found.1)
        };
        let extra = f64::from(cost::rounds(self.n)) - 1.0;
        let window =
            2.0 * cost::chunked(extra, self.bytes, link, cost::window_chunks(extra, self.bytes, link));
        let tree_best = of(Algorithm::TreePipelined);
        let compared = [
            ("ring", of(Algorithm::Ring), self.ring),
            ("recursive_doubling", of(Algorithm::RecursiveDoubling), self.recursive_doubling),
            ("rabenseifner", of(Algorithm::Rabenseifner), self.rabenseifner),
            ("tree_pipelined", window, self.tree_pipelined),
        ];
        let mut misses = vec![];
        compared.iter().for_each(|&(name, found, known)| compare(&mut misses, name, found, known));
        if tree_best > window * (1.0 + 1e-12) {
            misses.push(format!("the best tree takes {tree_best:e}, one with other chunks {window:e}"));
        }
        let fastest = compared.iter().map(|figure| figure.1).fold(f64::INFINITY, f64::min);
        let first = compared.iter().find(|figure| figure.1 == fastest).map_or("", |figure| figure.0);
        if let Some(best) = self.best.as_deref().filter(|best| *best != first) {
            misses.push(format!("the best is {first}, known is {best}"));
        }
        let objective = fastest.min(tree_best);
        let bound = cost::bound(Operation::AllReduce, self.n, self.bytes, link);
        if objective < bound * (1.0 - 1e-12) {
            misses.push(format!("the bound {bound:e} is beaten by {objective:e}"));
        }
        let mut figures = figures(objective, bound, cpu_ms);
        figures.extend(compared.map(|(name, found, _)| (name, found)));
        figures.push(("tree_best", tree_best));
        let known =
            compared.iter().find(|figure| Some(figure.0) == self.best.as_deref()).and_then(|figure| figure.2);
        let anchor = known.map(|value| Anchor { who: "closed form", metric: "objective", value });
        Row { figures, anchor, misses, is_barred: true, ..Row::default() }
    }
}

impl Hosts {
    /// `hier-4x8-1048576-200GBps-25GBps`
    pub fn name(&self) -> String {
        let (inside, between) = (shown(self.b_intra / 1e9), shown(self.b_inter / 1e9));
        format!("hier-{}x{}-{}-{inside}GBps-{between}GBps", self.nodes, self.gpus_per_node, self.bytes)
    }

    /// The case, measured.
    pub fn row(&self) -> Row {
        let inside = Link { bandwidth: self.b_intra, latency_s: self.a_intra };
        let between = Link { bandwidth: self.b_inter, latency_s: self.a_inter };
        let ranks = self.nodes * self.gpus_per_node;
        let priced = |exit| -> Result<(f64, f64, f64, f64), String> {
            let tiers = Tiers::hosts(ranks, self.gpus_per_node, inside, between, exit)
                .map_err(|no| no.to_string())?;
            let time = |algorithm| tiers.time(Operation::AllReduce, algorithm, self.bytes);
            let ring = time(Algorithm::Ring).unwrap_or(f64::NAN);
            let bounds = Bounds::of(&wires::of_tiers(&tiers), tiers.floor_s).map_err(|no| no.to_string())?;
            let bound = bounds.time(Operation::AllReduce, self.bytes).0;
            let best = tiers.best(Operation::AllReduce, self.bytes).1;
            Ok((time(Algorithm::Hierarchical).unwrap_or(ring), ring, bound, best))
        };
        let (made, cpu_ms) = data::timed(|| Ok::<_, String>((priced(Exit::Rail)?, priced(Exit::Shared)?)));
        let ((rail, ring, bound, best), (shared, _, shared_bound, shared_best)) = match made {
            Ok(made) => made,
            Err(refusal) => return refused(&refusal),
        };
        let mut misses = vec![];
        compare(&mut misses, "hier_rail", rail, self.hier_rail);
        compare(&mut misses, "hier_shared_nic", shared, self.hier_shared_nic);
        compare(&mut misses, "flat_ring", ring, self.flat_ring);
        if bound > best * (1.0 + 1e-12) || shared_bound > shared_best * (1.0 + 1e-12) {
            misses.push(format!("a bound is beaten: {bound:e}, {shared_bound:e}"));
        }
        let mut figures = figures(best, bound, cpu_ms);
        figures.extend([("hier_rail", rail), ("hier_shared_nic", shared), ("flat_ring", ring)]);
        let anchor = self.hier_rail.map(|value| Anchor { who: "closed form", metric: "hier_rail", value });
        Row { figures, anchor, misses, is_barred: true, ..Row::default() }
    }
}

/// Without digits that only rounding made.
fn shown(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
