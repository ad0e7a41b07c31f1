//! What came out of a run, in numbers.
//!
//! Percentiles are the element at `floor(n * q)` of the ascending list, as the public references count them.

use crate::run::Outcome;
use consort_types::{JobId, Span, Time};
use std::time::Duration;

/// One job's story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub job: JobId,
    /// Its position in the workload.
    pub submission: Option<usize>,
    /// When it was accepted.
    pub submitted: Time,
    /// When its first worker was up.
    pub started: Option<Time>,
    /// When it had ended.
    pub ended: Time,
    /// Whether its work is done.
    pub succeeded: bool,
    /// Time it waited for devices, all spells added up.
    pub waited: Span,
    /// Interruptions.
    pub restarts: u32,
    /// Interruptions that a plan decided.
    pub preemptions: u32,
    /// When it should have ended.
    pub deadline: Option<Time>,
}

impl Record {
    /// From submission to end.
    pub fn jct(&self) -> Span {
        self.ended - self.submitted
    }
}

/// The figures of one run, or of several runs that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Who decided.
    pub policy: String,
    /// The seed of the workload or of the dice.
    pub seed: u64,
    /// Jobs submitted.
    pub jobs: u64,
    /// Jobs whose work is done.
    pub finished: u64,
    /// Jobs refused at the door.
    pub refused: u64,
    /// Jobs that ended without their work done.
    pub failed: u64,
    /// Jobs that were still there when nothing more could happen.
    pub never_ended: u64,
    /// Mean time from submission to end.
    pub avg_jct_s: f64,
    /// Its median.
    pub p50_jct_s: f64,
    /// Its 99th percentile.
    pub p99_jct_s: f64,
    /// Mean time spent waiting for devices.
    pub avg_queue_s: f64,
    /// Its 99th percentile.
    pub p99_queue_s: f64,
    /// Its 99.9th percentile.
    pub p999_queue_s: f64,
    /// When the last job ended.
    pub makespan_s: f64,
    /// Device-time in use.
    pub device_hours: f64,
    /// Share of all device-time in use, from the first submission to the last end.
    pub utilization: f64,
    /// Interruptions that a plan decided.
    pub preemptions: u64,
    /// Interruptions, for whatever reason.
    pub restarts: u64,
    /// Share of jobs with a deadline that met it, if there are any.
    pub deadlines_met_pct: Option<f64>,
    /// Plans made.
    pub plan_calls: u64,
    /// CPU time of a plan, median.
    pub plan_cpu_ms_p50: f64,
    /// CPU time of a plan, 99th percentile.
    pub plan_cpu_ms_p99: f64,
    /// Inputs and committed plans.
    pub events: u64,
    /// CPU time of the simulation.
    pub cpu_s: f64,
    /// The most memory this process has used so far, where the system says.
    pub peak_rss_mib: Option<f64>,
    /// Digest of the final states.
    pub state_hash: u64,
}

impl Report {
    /// The figures of runs that belong together, each with its number of devices.
    pub fn of(policy: &str, seed: u64, runs: &[(u64, Outcome)]) -> Report {
        let records = || runs.iter().flat_map(|(_, run)| &run.records);
        let jct = Column::of(records().map(|record| record.jct().as_seconds()));
        let queue = Column::of(records().map(|record| record.waited.as_seconds()));
        let plans =
            Column::of(runs.iter().flat_map(|(_, run)| &run.plan_cpu).map(|cpu| cpu.as_secs_f64() * 1e3));
        let refused: u64 = runs.iter().map(|(_, run)| run.refused.len() as u64).sum();
        let stuck: u64 = runs.iter().map(|(_, run)| run.stuck.len() as u64).sum();
        let used: u128 = runs.iter().map(|(_, run)| run.used).sum();
        let device_hours = used as f64 / 1000.0 / 3.6e12;
        let first = records().map(|record| record.submitted).min().unwrap_or_default();
        let last = records().map(|record| record.ended).max().unwrap_or_default();
        let devices: u64 = runs.iter().map(|(devices, _)| devices).sum();
        let offered_hours = devices as f64 * (last - first).as_seconds() / 3600.0;
        let with_deadline = records().filter_map(|record| Some((record.deadline?, record)));
        let (met, due) = with_deadline.fold((0u64, 0u64), |(met, due), (deadline, record)| {
            (met + u64::from(record.succeeded && record.ended <= deadline), due + 1)
        });
        Report {
            policy: policy.into(),
            seed,
            jobs: records().count() as u64 + refused + stuck,
            finished: records().filter(|record| record.succeeded).count() as u64,
            refused,
            failed: records().filter(|record| !record.succeeded).count() as u64,
            never_ended: stuck,
            avg_jct_s: jct.mean(),
            p50_jct_s: jct.at(0.5),
            p99_jct_s: jct.at(0.99),
            avg_queue_s: queue.mean(),
            p99_queue_s: queue.at(0.99),
            p999_queue_s: queue.at(0.999),
            makespan_s: last.as_seconds(),
            device_hours,
            utilization: if offered_hours > 0.0 { device_hours / offered_hours } else { 0.0 },
            preemptions: records().map(|record| u64::from(record.preemptions)).sum(),
            restarts: records().map(|record| u64::from(record.restarts)).sum(),
            deadlines_met_pct: (due > 0).then(|| 100.0 * met as f64 / due as f64),
            plan_calls: runs.iter().map(|(_, run)| run.plan_calls).sum(),
            plan_cpu_ms_p50: plans.at(0.5),
            plan_cpu_ms_p99: plans.at(0.99),
            events: runs.iter().map(|(_, run)| run.events).sum(),
            cpu_s: runs.iter().map(|(_, run)| run.cpu).sum::<Duration>().as_secs_f64(),
            peak_rss_mib: peak_rss_mib(),
            state_hash: match runs {
                [(_, run)] => run.state_hash,
                runs => {
                    consort_types::Digest::of(&runs.iter().map(|(_, run)| run.state_hash).collect::<Vec<_>>())
                }
            },
        }
    }

    /// An average or a percentile over the jobs that ended, unless none did: then it says nothing.
    pub fn over_jobs(&self, figure: f64) -> Option<f64> {
        (self.finished + self.failed > 0).then_some(figure)
    }
}

/// Numbers in ascending order.
pub(crate) struct Column(Vec<f64>);

impl Column {
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        Column(values)
    }

    fn mean(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.iter().sum::<f64>() / self.0.len() as f64 }
    }

    pub fn at(&self, q: f64) -> f64 {
        let index = (self.0.len() as f64 * q) as usize;
        self.0.get(index.min(self.0.len().saturating_sub(1))).copied().unwrap_or(0.0)
    }
}

/// The high-water mark of this process's memory, as Linux tells it.
pub(crate) fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_count_as_the_references_do() {
        let column = Column::of((0..1000).map(f64::from).rev());
        assert_eq!((column.at(0.5), column.at(0.99), column.at(0.999)), (500.0, 990.0, 999.0));
        assert_eq!(column.mean(), 499.5);
        assert_eq!(Column::of(std::iter::empty()).at(0.5), 0.0);
        assert_eq!(Column::of([7.0].into_iter()).at(0.999), 7.0);
    }
}
