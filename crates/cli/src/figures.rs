//! The figures of a run as scripts read them. Names and order of the keys are relied on by others.

use consort_sim::report::Report;
use serde::Serialize;

/// One run.
#[derive(Serialize)]
pub struct Run {
    policy: String,
    seed: u64,
    #[serde(flatten)]
    figures: Figures,
}

/// What was measured.
#[derive(Serialize)]
pub struct Figures {
    jobs: u64,
    finished: u64,
    refused: u64,
    failed: u64,
    never_ended: u64,
    avg_jct_s: Option<f64>,
    p50_jct_s: Option<f64>,
    p99_jct_s: Option<f64>,
    avg_queue_s: Option<f64>,
    p99_queue_s: Option<f64>,
    p999_queue_s: Option<f64>,
    makespan_s: f64,
    device_hours: f64,
    utilization: f64,
    preemptions: u64,
    restarts: u64,
    deadlines_met_pct: Option<f64>,
    /// Unknown: the simulated world has no power yet.
    energy_kwh: Option<f64>,
    plan_calls: u64,
    plan_cpu_ms_p50: f64,
    plan_cpu_ms_p99: f64,
    events: u64,
    cpu_s: f64,
    peak_rss_mib: Option<f64>,
    state_hash: String,
}

impl Run {
    /// Of a report.
    pub fn of(report: &Report) -> Self {
        Self { policy: report.policy.clone(), seed: report.seed, figures: Figures::of(report) }
    }
}

impl Figures {
    /// Of a report.
    pub fn of(report: &Report) -> Self {
        Self {
            jobs: report.jobs,
            finished: report.finished,
            refused: report.refused,
            failed: report.failed,
            never_ended: report.never_ended,
            avg_jct_s: report.over_jobs(report.avg_jct_s),
            p50_jct_s: report.over_jobs(report.p50_jct_s),
            p99_jct_s: report.over_jobs(report.p99_jct_s),
            avg_queue_s: report.over_jobs(report.avg_queue_s),
            p99_queue_s: report.over_jobs(report.p99_queue_s),
            p999_queue_s: report.over_jobs(report.p999_queue_s),
            makespan_s: report.makespan_s,
            device_hours: report.device_hours,
            utilization: report.utilization,
            preemptions: report.preemptions,
            restarts: report.restarts,
            deadlines_met_pct: report.deadlines_met_pct,
            energy_kwh: None,
            plan_calls: report.plan_calls,
            plan_cpu_ms_p50: report.plan_cpu_ms_p50,
            plan_cpu_ms_p99: report.plan_cpu_ms_p99,
            events: report.events,
            cpu_s: report.cpu_s,
            peak_rss_mib: report.peak_rss_mib,
            state_hash: state_hash(report),
        }
    }

    /// The figure with this key, if it is a number.
    pub fn get(&self, key: &str) -> Option<f64> {
        serde_json::to_value(self).ok()?.get(key)?.as_f64()
    }
}

/// As 16 hexadecimal digits: JSON numbers lose the last bits of so large a number.
pub fn state_hash(report: &Report) -> String {
    format!("{:016x}", report.state_hash)
}

/// A figure over the jobs that ended, for a table: no number when none did, which is shown as `-`.
pub fn over_jobs(report: &Report, figure: f64) -> f64 {
    report.over_jobs(figure).unwrap_or(f64::NAN)
}
