//! The page with pictures that `--report` writes: gathers what it shows; `consort-report` draws it.

use crate::circumstances::Circumstances;
use crate::numbers::{counted, thousands};
use crate::simulate::Trial;
use consort_report::{Device, Page, Run, Sheet};
use consort_sim::workload::{Cluster, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What it is called in the folder of the report.
pub const FILE: &str = "report.html";

/// What the page is about.
pub struct Subject<'a> {
    pub title: String,
    /// Where the cluster comes from.
    pub cluster: String,
    /// Where the jobs come from.
    pub workload: String,
    pub seed: u64,
    pub circumstances: &'a Circumstances,
}

/// The line that says what a report consists of.
pub fn written(folder: &Path) -> String {
    format!("Written: {FILE}, report.md, report.json and jobs.csv in {}\n", folder.display())
}

/// The page about these trials, all of which have a course.
pub fn html(
    subject: &Subject<'_>,
    cluster: &Cluster,
    workload: &Workload,
    trials: &[Trial],
    figures: Sheet,
    lost: Vec<(String, String)>,
) -> String {
    let runs = trials.iter().filter_map(|trial| {
        let course = trial.course.as_ref()?;
        let jobs = if course.stays().is_ok() { jobs(trial, workload) } else { BTreeMap::new() };
        Some(Run { policy: &trial.report.policy, outcome: &trial.outcome, course, jobs })
    });
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy())).collect();
    consort_report::html(&Page {
        title: subject.title.clone(),
        facts: facts(subject, cluster, workload, trials),
        again: format!("consort {}", words.join(" ")),
        figures,
        lost,
        devices: devices(cluster),
        runs: runs.collect(),
    })
}

/// What was run.
fn facts(
    subject: &Subject<'_>,
    cluster: &Cluster,
    workload: &Workload,
    trials: &[Trial],
) -> Vec<(String, String)> {
    let kinds: BTreeSet<&str> =
        cluster.nodes.iter().flat_map(|node| &node.devices).map(|group| group.kind.as_str()).collect();
    let kinds: Vec<String> =
        kinds.iter().map(|kind| format!("{} {kind}", thousands(cluster.devices_of(kind)))).collect();
    let nodes = counted(cluster.nodes.len() as u64, "node");
    let policies: Vec<&str> = trials.iter().map(|trial| trial.report.policy.as_str()).collect();
    let policy = if policies.len() == 1 { "policy" } else { "policies" };
    [
        ("cluster", format!("{}: {nodes}, {}", subject.cluster, kinds.join(", "))),
        ("workload", format!("{}: {}", subject.workload, counted(workload.submissions.len() as u64, "job"))),
        (policy, policies.join(", ")),
        ("seed", subject.seed.to_string()),
        ("simulated world", subject.circumstances.words()),
        ("made by", format!("consort {}", env!("CARGO_PKG_VERSION"))),
    ]
    .into_iter()
    .map(|(name, what)| (name.into(), what))
    .collect()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./,:=+@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Names and owners of the jobs that were accepted.
fn jobs<'a>(trial: &Trial, workload: &'a Workload) -> BTreeMap<consort_types::JobId, (&'a str, &'a str)> {
    let outcome = &trial.outcome;
    let ended = outcome.records.iter().filter_map(|record| Some((record.job, record.submission?)));
    let stuck = outcome.stuck.iter().copied().zip(outcome.stuck_submissions.iter().copied());
    let known = ended.chain(stuck).filter_map(|(job, index)| Some((job, workload.submissions.get(index)?)));
    known
        .map(|(job, submission)| (job, (submission.label.as_str(), submission.spec.tenant.as_str())))
        .collect()
}

/// The devices in the order in which the scheduler counts them: node by node.
fn devices(cluster: &Cluster) -> Vec<Device> {
    let of_node = |node: &consort_types::NodeSpec| {
        let kinds = node.devices.iter().flat_map(|group| (0..group.count).map(|_| group.kind.clone()));
        let devices = kinds.enumerate().map(|(position, kind)| Device {
            node: node.name.clone(),
            position: position as u32,
            kind,
        });
        devices.collect::<Vec<_>>()
    };
    cluster.nodes.iter().flat_map(of_node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["--jobs", "a b", "it's", ""].map(quoted);
        assert_eq!(words, ["--jobs", "'a b'", "'it'\\''s'", "''"]);
    }
}
