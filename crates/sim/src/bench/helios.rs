//! Job completion time on two real clusters' job tables, under Helios' four policies by its own rules.

use super::anchors::{self, Reference};
use super::{BenchError, Progress, Row, Scenario};
use crate::peers::helios as peer;
use crate::report::Report;
use crate::run::{Outcome, Setup};
use crate::workload::helios::{HeliosGroup, HeliosJob, read_groups, read_jobs};
use consort_sched::{Policy, Registry};
use std::path::Path;
use std::sync::Arc;

pub(super) const PHILLY: Scenario = Scenario {
    name: "jct-philly",
    about: "68,503 jobs of Microsoft's Philly on 11 virtual clusters, each alone, at full size, half or a quarter",
    cases: &["full", "half"],
    more_cases: &["quarter"],
    policies: &peer::POLICIES,
    takes_any: true,
    needs_data: true,
};

pub(super) const ITP: Scenario = Scenario {
    name: "jct-itp",
    about: "ten clusters of Microsoft's ITP, 69,351 jobs in two months",
    cases: &["1", "3", "5", "7", "9"],
    more_cases: &["2", "4", "6", "8", "10"],
    policies: &peer::POLICIES,
    takes_any: true,
    needs_data: true,
};

/// Submissions of the Philly benchmark's window, in seconds.
const WINDOW: std::ops::RangeInclusive<i64> = 0..=5_270_340;

/// CPU seconds for `jct-philly` half: a policy without preemption, and the one with.
const CPU_BAR: (f64, f64) = (1.0, 30.0);

pub(super) fn run(
    name: &str,
    (data, known): (&Path, &Registry),
    cases: &[String],
    policies: &[String],
    progress: &mut Progress<'_>,
) -> Result<Vec<Row>, BenchError> {
    let is_philly = name == PHILLY.name;
    let (folder, sizes, reference) = match is_philly {
        true => ("philly", "vcs.csv", "helios_policies.csv"),
        false => ("elasticflow-itp", "bench_nodes.csv", "helios_policies_odd.csv"),
    };
    let folder = data.join(folder);
    let mut jobs = read_jobs(folder.join("jobs.csv.gz"))?;
    if is_philly {
        jobs.retain(|job| WINDOW.contains(&job.submit_s));
    }
    let groups = read_groups(folder.join(sizes))?;
    let references = anchors::read(&folder.join("reference").join(reference))?;
    let mut rows = vec![];
    for case in cases {
        let parts = if is_philly {
            virtual_clusters(case, &groups, &jobs)
        } else {
            one_cluster(case, &groups, &jobs)
        };
        for policy in policies {
            rows.push(row((name, known), case, policy, &parts, &references, progress)?);
        }
    }
    Ok(rows)
}

/// A cluster of its own: its name, its nodes, its jobs.
struct Part {
    name: String,
    nodes: u32,
    jobs: Vec<HeliosJob>,
}

fn part(group: &HeliosGroup, nodes: u32, jobs: &[HeliosJob]) -> Part {
    let mut jobs: Vec<HeliosJob> = jobs.iter().filter(|job| job.group == group.name).cloned().collect();
    jobs.sort_by_key(|job| job.submit_s);
    Part { name: group.name.clone(), nodes, jobs }
}

fn virtual_clusters(case: &str, groups: &[HeliosGroup], jobs: &[HeliosJob]) -> Vec<Part> {
    let divisor = match case {
        "half" => 2,
        "quarter" => 4,
        _ => 1,
    };
    groups.iter().map(|group| part(group, group.nodes / divisor, jobs)).collect()
}

fn one_cluster(case: &str, groups: &[HeliosGroup], jobs: &[HeliosJob]) -> Vec<Part> {
    groups.iter().filter(|group| group.name == case).map(|group| part(group, group.nodes, jobs)).collect()
}

/// One of the peer's, or one of the registry.
fn policy_of(name: &str, known: &Registry, jobs: &[HeliosJob]) -> Arc<dyn Policy> {
    let peers = peer::policy(name, jobs);
    peers.unwrap_or_else(|| known.find(name).expect("the benchmark knows it").policy())
}

fn row(
    (name, known): (&str, &Registry),
    case: &str,
    policy: &str,
    parts: &[Part],
    references: &[Reference],
    progress: &mut Progress<'_>,
) -> Result<Row, BenchError> {
    let (what, total) =
        (format!("{name} {case} {policy}"), parts.iter().map(|part| part.jobs.len() as u64).sum());
    let is_philly = name == PHILLY.name;
    let find = |group: &str| {
        let case = if is_philly { format!("philly-{case}") } else { "itp".into() };
        references.iter().find(|row| row.case == case && row.group == group && row.policy == policy)
    };
    let (mut runs, mut misses, mut done): (Vec<(u64, Outcome)>, Vec<String>, u64) = (vec![], vec![], 0);
    for part in parts {
        let cluster = peer::cluster(part.nodes);
        let setup = Setup {
            inputs: cluster.inputs(),
            devices: cluster.devices(),
            policy: policy_of(policy, known, &part.jobs),
            world: peer::world(policy, &cluster, &part.jobs),
            crash_every: None,
        };
        let outcome = crate::run::run(setup, &mut |ended| progress(&what, done + ended, total))
            .map_err(BenchError::Broken)?;
        done += part.jobs.len() as u64;
        progress(&what, done, total);
        runs.push((cluster.devices(), outcome));
        if let (Some(reference), Some(last)) = (find(&part.name), runs.last()) {
            misses.extend(reference.misses(&Report::of(policy, 0, std::slice::from_ref(last))));
        }
    }
    let report = Report::of(policy, 0, &runs);
    let together = find("all").filter(|_| is_philly);
    misses.extend(together.map_or(vec![], |reference| reference.misses(&report)));
    let bar = if policy == "srtf" { CPU_BAR.1 } else { CPU_BAR.0 };
    if is_philly && peer::POLICIES.contains(&policy) && case == "half" && report.cpu_s > bar {
        misses.push(format!("cpu_s is {:.2}, the bar is {bar}", report.cpu_s));
    }
    let anchor = if is_philly { together } else { find(case) };
    let jobs = runs.into_iter().zip(parts).flat_map(|((_, run), part)| {
        let label = |submission: Option<usize>| {
            submission.map_or(String::new(), |index| part.jobs[index].id.to_string())
        };
        run.records.into_iter().map(move |record| (label(record.submission), record)).collect::<Vec<_>>()
    });
    let (case, policy) = (case.to_string(), policy.to_string());
    Ok(Row {
        case,
        policy,
        seed: 0,
        anchor: anchor.map(Reference::anchor),
        misses,
        jobs: jobs.collect(),
        more: vec![],
        is_barred: false,
        report,
    })
}
