//! `ranks`: the order of hosts in a ring, compared with exhaustive search.
//!
//! Tables of the data beside the best ring that was found by trying all; random tables of 14 hosts, with ties and
//! without, beside a search of our own that tries all and gives up only what cannot win; a fat tree of 1,024 hosts, whose
//! bound is reached by counting how often any ring must leave each domain; and 256 hosts as if measured, beside a bound
//! alone. Bars: exactly the best up to 14 hosts; 1,024 hosts within 1 % of the bound on both criteria, in at most 100 ms.

mod trying;

use crate::data::{json, timed};
use crate::{Anchor, Progress, Row, Scenario};
use consort_parallel::dice::Dice;
use consort_parallel::fabric::{Fabric, Host, Level, Link};
use consort_parallel::ranks::{Wish, plan, ring};
use consort_types::file::ReadError;
use serde::Deserialize;
use std::path::Path;

/// The benchmark.
pub const SCENARIO: Scenario = Scenario {
    name: "ranks",
    about: "the order of hosts in a ring, compared with exhaustive search",
    cases,
    run,
};

const FILE: &str = "algorithms/collectives/ring_order.json";
/// Random tables, half of them symmetric, half of them with ties.
const RANDOM: u64 = 8;
const TREE: &str = "fat-tree-1024";
/// Too many to look at every ring, and no tree either: only the bound says how good the answer is.
const NOISY: &str = "noisy-tree-256";
/// CPU time of the tree, in milliseconds.
const TREE_MS: f64 = 100.0;

#[derive(Deserialize)]
struct Known {
    id: serde_json::Value,
    bandwidth: Vec<Vec<f64>>,
    best_bottleneck: Option<f64>,
    best_sum_inv_at_bottleneck: Option<f64>,
}

impl Known {
    fn case(&self) -> String {
        match &self.id {
            serde_json::Value::String(text) => format!("ring-{text}"),
            other => format!("ring-{other}"),
        }
    }
}

fn cases(data: &Path) -> Result<Vec<String>, ReadError> {
    let known: Vec<Known> = json(&data.join(FILE))?;
    let random = (1..=RANDOM).map(|seed| format!("random-14-{seed}"));
    Ok(known.iter().map(Known::case).chain(random).chain([TREE.into(), NOISY.into()]).collect())
}

fn run(data: &Path, cases: &[String], hear: &mut Progress<'_>) -> Result<Vec<Row>, ReadError> {
    let known: Vec<Known> = json(&data.join(FILE))?;
    let mut rows = vec![];
    for (done, case) in cases.iter().enumerate() {
        hear(case, done as u64, cases.len() as u64);
        if let Some(known) = known.iter().find(|known| known.case() == *case) {
            let best = (known.best_bottleneck, known.best_sum_inv_at_bottleneck);
            rows.push(table(case, &known.bandwidth, best, "exhaustive search"));
        } else if let Some(seed) = case.strip_prefix("random-14-").and_then(|seed| seed.parse().ok()) {
            let speeds = random(14, seed);
            let (slowest, around) = trying::best(&speeds);
            rows.push(table(case, &speeds, (Some(slowest), Some(around)), "our own exhaustive search"));
        } else if case == TREE {
            rows.push(tree());
        } else if case == NOISY {
            rows.push(table(case, &noisy(), (None, None), ""));
        }
    }
    Ok(rows)
}

/// A table of speeds beside what is known of its best ring.
fn table(case: &str, speeds: &[Vec<f64>], best: (Option<f64>, Option<f64>), who: &'static str) -> Row {
    let mut row = Row { case: case.into(), ..Row::default() };
    row.anchor = best.0.map(|value| Anchor { who, metric: "objective", value });
    let (answer, cpu_ms) = timed(|| ring(speeds, None));
    let answer = match answer {
        Ok(answer) => answer,
        Err(refusal) => {
            row.misses.push(format!("refused: {refusal}"));
            return row;
        }
    };
    row.figures = vec![
        ("objective", answer.objective),
        ("bound", answer.bound),
        ("gap_pct", 100.0 * answer.gap()),
        ("cpu_ms", cpu_ms),
        ("sum_inv", answer.plan.around_s),
        ("sum_gap_pct", 100.0 * (answer.plan.around_s / answer.plan.around_bound_s - 1.0)),
    ];
    if let Some(best) = best.0.filter(|best| *best != answer.objective) {
        row.misses.push(format!("the slowest link is {}, the best is {best}", answer.objective));
    }
    let differs = |best: &f64| (answer.plan.around_s - best).abs() > 1e-9 * best;
    if let Some(best) = best.1.filter(differs) {
        row.misses.push(format!("the sum of 1/bandwidth is {}, the best is {best}", answer.plan.around_s));
    }
    row
}

/// A random table: even seeds are symmetric, every other pair of seeds has ties.
fn random(count: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut dice = Dice::new(seed);
    let mut speeds = vec![vec![0.0; count]; count];
    for (from, to) in (0..count * count).map(|pair| (pair / count, pair % count)) {
        if from == to {
            continue;
        }
        let speed = match seed % 4 < 2 {
            true => [5.0, 10.0, 25.0, 50.0, 100.0][dice.below(5)],
            false => 1.0 + 99.0 * dice.unit(),
        };
        speeds[from][to] = if seed.is_multiple_of(2) && to < from { speeds[to][from] } else { speed };
    }
    speeds
}

/// 4 pods of 4 leaves of 16 hosts as somebody measured them: every speed up to a fifth below what the tree says, and
/// another one in the other direction.
fn noisy() -> Vec<Vec<f64>> {
    let (count, mut dice) = (256, Dice::new(1));
    let told = |one: usize, other: usize| match (one / 16 == other / 16, one / 64 == other / 64) {
        (true, _) => 50e9,
        (false, true) => 25e9,
        (false, false) => 12.5e9,
    };
    let mut speed =
        |one, other| if one == other { 0.0 } else { told(one, other) * (0.8 + 0.2 * dice.unit()) };
    (0..count).map(|from| (0..count).map(|to| speed(from, to)).collect()).collect()
}

/// 4 pods of 8 leaves of 32 hosts, in an order that says nothing about where they are.
fn fat_tree() -> Fabric {
    let level = |name: &str, bandwidth, latency_s| Level {
        name: name.into(),
        link: Link { bandwidth, latency_s },
        uplink: None,
    };
    let mut hosts: Vec<Host> = (0..1024)
        .map(|at| Host {
            name: String::new(),
            domains: vec![format!("p{}", at / 256), format!("l{}", at / 32)],
            devices: 8,
            island: 8,
            kind: String::new(),
        })
        .collect();
    let mut dice = Dice::new(1);
    (1..hosts.len()).rev().for_each(|at| hosts.swap(at, dice.below(at + 1)));
    hosts.iter_mut().enumerate().for_each(|(at, host)| host.name = format!("node{at}"));
    Fabric {
        levels: vec![level("spine", 12.5e9, 5e-6), level("pod", 25e9, 3e-6), level("leaf", 50e9, 2e-6)],
        node: Link { bandwidth: 64e9, latency_s: 1e-6 },
        island: Link { bandwidth: 450e9, latency_s: 1e-6 },
        hosts,
        measured: None,
    }
}

fn tree() -> Row {
    let fabric = fat_tree();
    let (answer, cpu_ms) = timed(|| plan(&fabric, &Wish { tensor: Some(8), ..Wish::default() }));
    let mut row = Row { case: TREE.into(), is_barred: true, ..Row::default() };
    let answer = match answer {
        Ok(answer) => answer,
        Err(refusal) => {
            row.misses.push(format!("refused: {refusal}"));
            return row;
        }
    };
    let around = answer.plan.planned.around_s;
    let around_gap = around / answer.plan.around_bound_s - 1.0;
    row.figures = vec![
        ("objective", answer.objective),
        ("bound", answer.bound),
        ("gap_pct", 100.0 * answer.gap()),
        ("cpu_ms", cpu_ms),
        ("sum_inv", around),
        ("sum_gap_pct", 100.0 * around_gap),
        ("sum_inv_by_name", answer.plan.by_name.around_s),
    ];
    if answer.gap() > 0.01 {
        row.misses
            .push(format!("the slowest link is {:.2} % from its bound, at most 1 %", 100.0 * answer.gap()));
    }
    if around_gap > 0.01 {
        row.misses.push(format!(
            "the sum of 1/bandwidth is {:.2} % above its bound, at most 1 %",
            100.0 * around_gap
        ));
    }
    if cpu_ms > TREE_MS {
        row.late.push(format!("took {cpu_ms:.1} ms, at most {TREE_MS} ms"));
    }
    row
}
