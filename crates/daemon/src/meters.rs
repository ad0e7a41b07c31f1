//! What is counted while the loop runs, and how `/metrics` tells it.

use crate::journal::Batch;
use consort_api::shapes::Rejection;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the buckets, in seconds.
const BUCKETS: [f64; 12] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

/// Counters that any thread may read.
#[derive(Default)]
pub struct Meters {
    full: AtomicBool,
    submitted: AtomicU64,
    ended: AtomicU64,
    refused: AtomicU64,
    events: AtomicU64,
    plans: AtomicU64,
    plan_ns: AtomicU64,
    waits: Histogram,
    rejected: AtomicU64,
    rejections: Mutex<VecDeque<Rejection>>,
    commits: Histogram,
    answers: Histogram,
    streams: AtomicU64,
}

/// Rejected plans that are kept to be shown.
const REJECTIONS: usize = 8;

#[derive(Default)]
struct Histogram {
    counts: [AtomicU64; BUCKETS.len() + 1],
    sum_ns: AtomicU64,
}

impl Histogram {
    fn add(&self, took: Duration) {
        let bucket = BUCKETS.iter().position(|&end| took.as_secs_f64() <= end).unwrap_or(BUCKETS.len());
        self.counts[bucket].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(took.as_nanos() as u64, Relaxed);
    }

    fn write(&self, out: &mut String, name: &str, about: &str) {
        let _ = writeln!(out, "# HELP {name} {about}\n# TYPE {name} histogram");
        let mut sum = 0;
        for (index, count) in self.counts.iter().enumerate() {
            sum += count.load(Relaxed);
            let end = BUCKETS.get(index).map_or("+Inf".to_string(), f64::to_string);
            let _ = writeln!(out, "{name}_bucket{{le=\"{end}\"}} {sum}");
        }
        let seconds = self.sum_ns.load(Relaxed) as f64 / 1e9;
        let _ = writeln!(out, "{name}_sum {seconds}\n{name}_count {sum}");
    }
}

/// What the loop knows and the counters do not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauges {
    /// Jobs that wait.
    pub waiting: u64,
    /// Jobs that hold devices.
    pub running: u64,
    /// Jobs that have ended.
    pub ended: u64,
    /// Devices there are, in use, and ill.
    pub devices: (u64, u64, u64),
    /// Events in the journal.
    pub position: u64,
}

impl Meters {
    /// Whether the disk has no room.
    pub fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    /// Says whether it has; returns what was said before.
    pub fn set_full(&self, full: bool) -> bool {
        self.full.swap(full, Relaxed)
    }

    /// A batch is on disk.
    pub fn committed(&self, batch: &Batch, took: Duration) {
        self.submitted.fetch_add(batch.works.len() as u64, Relaxed);
        self.ended.fetch_add(batch.ended.len() as u64, Relaxed);
        self.events.fetch_add(batch.events.len() as u64, Relaxed);
        self.commits.add(took);
    }

    /// A request was refused.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Requests lay in the mailbox for so long before the loop took them up.
    pub fn waits(&self, waits: &[Duration]) {
        waits.iter().for_each(|&wait| self.waits.add(wait));
    }

    /// Plans were made.
    pub fn plans(&self, plans: u64, took: Duration) {
        self.plans.fetch_add(plans, Relaxed);
        self.plan_ns.fetch_add(took.as_nanos() as u64, Relaxed);
    }

    /// A plan was rejected.
    pub fn rejected(&self, rejection: Rejection) {
        self.rejected.fetch_add(1, Relaxed);
        let mut last = self.rejections.lock().unwrap_or_else(PoisonError::into_inner);
        last.truncate(REJECTIONS - 1);
        last.push_front(rejection);
    }

    /// How many plans were rejected since the start, and the last few, newest first.
    pub fn rejections(&self) -> (u64, Vec<Rejection>) {
        let last = self.rejections.lock().unwrap_or_else(PoisonError::into_inner);
        (self.rejected.load(Relaxed), last.iter().cloned().collect())
    }

    /// A request was answered.
    pub fn answered(&self, took: Duration) {
        self.answers.add(took);
    }

    /// Somebody began or ceased to follow.
    pub fn streams(&self, change: i64) {
        self.streams.fetch_add(change as u64, Relaxed);
    }

    /// How many follow.
    pub fn stream_count(&self) -> u64 {
        self.streams.load(Relaxed)
    }

    /// As Prometheus reads it, and whether the world answers.
    pub fn text(&self, gauges: &Gauges, world_answers: bool) -> String {
        let mut out = String::new();
        let mut put = |kind: &str, name: &str, about: &str, value: f64| {
            let _ = writeln!(out, "# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {value}");
        };
        put(
            "gauge",
            "consort_jobs_waiting",
            "Jobs that are not running: pending, held or paused.",
            gauges.waiting as f64,
        );
        put("gauge", "consort_jobs_running", "Jobs that hold devices.", gauges.running as f64);
        put("gauge", "consort_devices", "Devices.", gauges.devices.0 as f64);
        put("gauge", "consort_devices_used", "Devices in use, whole or in part.", gauges.devices.1 as f64);
        put("gauge", "consort_devices_unhealthy", "Unhealthy devices.", gauges.devices.2 as f64);
        put("gauge", "consort_journal_position", "Events in the journal.", gauges.position as f64);
        put(
            "gauge",
            "consort_journal_full",
            "1 while the disk of the journal is full.",
            f64::from(self.is_full()),
        );
        put(
            "gauge",
            "consort_world_answers",
            "0 while the backend that runs jobs does not answer.",
            f64::from(world_answers),
        );
        put(
            "gauge",
            "consort_event_streams",
            "Clients that follow events.",
            self.streams.load(Relaxed) as f64,
        );
        put("counter", "consort_jobs_submitted_total", "Jobs accepted.", self.submitted.load(Relaxed) as f64);
        put("counter", "consort_jobs_ended_total", "Jobs that ended.", self.ended.load(Relaxed) as f64);
        put(
            "counter",
            "consort_requests_refused_total",
            "Requests refused.",
            self.refused.load(Relaxed) as f64,
        );
        put("counter", "consort_events_total", "Events committed.", self.events.load(Relaxed) as f64);
        put("counter", "consort_plans_total", "Plans made.", self.plans.load(Relaxed) as f64);
        put(
            "counter",
            "consort_plans_rejected_total",
            "Plans rejected because they broke a rule; each is a bug in the policy.",
            self.rejected.load(Relaxed) as f64,
        );
        let planning = self.plan_ns.load(Relaxed) as f64 / 1e9;
        put("counter", "consort_planning_seconds_total", "Time spent making plans.", planning);
        self.waits.write(
            &mut out,
            "consort_loop_delay_seconds",
            "Time from the arrival of a request to the batch that decides it.",
        );
        self.commits.write(&mut out, "consort_commit_seconds", "Time to commit a batch to disk.");
        self.answers.write(&mut out, "consort_answer_seconds", "Time from a submission to its answer.");
        out
    }
}
