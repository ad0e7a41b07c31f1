//! Tiresias' own 60-job case.

use super::{Anchor, BenchError, Progress, Row, Scenario};
use crate::peers::tiresias as peer;
use crate::report::Report;
use crate::run::Setup;
use crate::workload::ReadError;
use crate::workload::tiresias::read_jobs;
use consort_sched::Registry;
use std::path::Path;

pub(super) const TIRESIAS: Scenario = Scenario {
    name: "tiresias",
    about: "the 60-job sample of Tiresias on 8 or 16 devices, counted, not placed",
    cases: &["8"],
    more_cases: &["16"],
    policies: &peer::POLICIES,
    takes_any: true,
    needs_data: true,
};

/// How far from the reference is close enough.
const SLACK: f64 = 0.01;

pub(super) fn run(
    (data, known): (&Path, &Registry),
    cases: &[String],
    policies: &[String],
    progress: &mut Progress<'_>,
) -> Result<Vec<Row>, BenchError> {
    let folder = data.join("tiresias");
    let jobs = read_jobs(folder.join("60_job.csv"))?;
    let mut rows = vec![];
    for case in cases {
        for policy in policies {
            let cluster = peer::cluster(policy, case.parse().expect("one of the cases"));
            let setup = Setup {
                inputs: cluster.inputs(),
                devices: cluster.devices(),
                policy: peer::policy(policy)
                    .unwrap_or_else(|| known.find(policy).expect("the benchmark knows it").policy()),
                world: peer::world(&cluster, &jobs),
                crash_every: None,
            };
            let outcome = crate::run::run(setup, &mut |ended| progress(policy, ended, jobs.len() as u64));
            let runs = [(cluster.devices(), outcome.map_err(BenchError::Broken)?)];
            let report = Report::of(policy, 0, &runs);
            let theirs =
                reference(&folder.join(format!("reference/60_job__{case}gpus__{policy}__count.csv")))?;
            let misses = theirs.map_or(vec![], |theirs| misses(&report, theirs));
            let anchor = theirs.map(|(avg_jct_s, ..)| Anchor {
                who: "Tiresias' simulator".into(),
                metric: "avg_jct_s".into(),
                value: avg_jct_s,
            });
            let [(_, outcome)] = runs;
            let label =
                |index: Option<usize>| index.map_or(String::new(), |index| jobs[index].id.to_string());
            let jobs = outcome.records.into_iter().map(|record| (label(record.submission), record)).collect();
            rows.push(Row {
                case: case.clone(),
                policy: policy.clone(),
                seed: 0,
                report,
                anchor,
                misses,
                jobs,
                more: vec![],
                is_barred: false,
            });
        }
    }
    Ok(rows)
}

/// Mean completion time, end of the last job, preemptions.
type Figures = (f64, f64, f64);

fn misses(report: &Report, theirs: Figures) -> Vec<String> {
    let pairs = [
        ("avg_jct_s", report.avg_jct_s, theirs.0),
        ("makespan_s", report.makespan_s, theirs.1),
        ("preemptions", report.preemptions as f64, theirs.2),
    ];
    let off = pairs.into_iter().filter(|(_, ours, theirs)| (ours - theirs).abs() > SLACK * theirs);
    off.map(|(metric, ours, theirs)| format!("{metric} is {ours:.2}, the reference has {theirs:.2}"))
        .collect()
}

fn reference(path: &Path) -> Result<Option<Figures>, BenchError> {
    if !path.exists() {
        return Ok(None);
    }
    let fail = |message: String| {
        BenchError::Data(ReadError { file: path.display().to_string(), line: 0, column: 0, message })
    };
    let mut reader = csv::Reader::from_path(path).map_err(|error| fail(error.to_string()))?;
    let headers = reader.headers().map_err(|error| fail(error.to_string()))?.clone();
    let (mut jct, mut makespan, mut preemptions, mut jobs) = (0.0, 0.0f64, 0.0, 0.0);
    for row in reader.records() {
        let row = row.map_err(|error| fail(error.to_string()))?;
        let number = |name: &str| {
            let field =
                headers.iter().position(|header| header == name).and_then(|position| row.get(position));
            field
                .and_then(|field| field.parse::<f64>().ok())
                .ok_or_else(|| fail(format!("expected a number in column {name}")))
        };
        jct += number("JCT")?;
        makespan = makespan.max(number("end_time")?);
        preemptions += number("preempt")?;
        jobs += 1.0;
    }
    Ok(Some((jct / jobs, makespan, preemptions)))
}
