//! Readers beside submitters: what they cost the loop that decides.

use super::daemon::{Daemon, WAITS, broken_off};
use super::load::{self, Client, Taken};
use crate::failure::Failure;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Clients that read, and requests of each in a second.
const READERS: u32 = 64;
const PER_S: u32 = 20;

/// Reads of each kind, one after the other, over which their processor time is averaged.
const EACH: u64 = 200;

/// Submissions without readers and with readers.
const JOBS: u64 = 4_000;

/// What was measured.
pub struct Figures {
    /// Submissions without readers, and with them.
    pub alone: Taken,
    pub beside: Taken,
    /// The delay of the loop, as the daemon measures it itself: p99, in milliseconds.
    pub delay_alone_ms: f64,
    pub delay_beside_ms: f64,
    /// Requests of readers that were answered in a second.
    pub reads_per_s: f64,
    /// Processor time of the daemon for one read of each of [`KINDS`], in milliseconds.
    pub cpu_ms: [f64; KINDS.len()],
}

/// What is read.
pub const KINDS: [&str; 3] = ["jobs", "status", "explain"];

fn path(kind: &str, turn: u64, waiting: u64) -> String {
    match kind {
        "explain" => format!("/v1/jobs/{}/explain", 2 + turn * 7919 % waiting),
        other => format!("/v1/{other}"),
    }
}

/// Processor time of the daemon for one read of a kind, while it does nothing else.
fn cpu_ms(daemon: &Daemon, kind: &str, waiting: u64) -> Result<f64, Failure> {
    let mut client = Client::new(daemon.address, &daemon.token).map_err(broken_off)?;
    let before = daemon.cpu_s();
    for turn in 0..EACH {
        client.ask("GET", &path(kind, turn, waiting), "").map_err(broken_off)?;
    }
    Ok((daemon.cpu_s() - before) * 1e3 / EACH as f64)
}

/// Measures a daemon with this many jobs waiting.
pub fn measure(daemon: &Daemon, waiting: u64) -> Result<Figures, Failure> {
    load::submit(daemon, 64, waiting, WAITS)?;
    let mut cpu = [0.0; KINDS.len()];
    for (kind, cpu) in KINDS.iter().zip(&mut cpu) {
        *cpu = cpu_ms(daemon, kind, waiting)?;
    }
    let before = delays(daemon)?;
    let alone = load::submit_paced(daemon, 4, JOBS, WAITS)?;
    let between = delays(daemon)?;
    let (over, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    let (beside, took) = std::thread::scope(|scope| {
        for number in 0..READERS {
            let (over, reads) = (&over, &reads);
            scope.spawn(move || read(daemon, number, waiting, over, reads));
        }
        let began = Instant::now();
        let beside = load::submit_paced(daemon, 4, JOBS, WAITS);
        over.store(true, Ordering::Relaxed);
        (beside, began.elapsed())
    });
    let after = delays(daemon)?;
    Ok(Figures {
        alone,
        beside: beside?,
        delay_alone_ms: p99(&before, &between),
        delay_beside_ms: p99(&between, &after),
        reads_per_s: reads.into_inner() as f64 / took.as_secs_f64(),
        cpu_ms: cpu,
    })
}

/// One client that asks for the jobs, the status and an explanation in turn.
fn read(daemon: &Daemon, number: u32, waiting: u64, over: &AtomicBool, reads: &AtomicU64) {
    let Ok(mut client) = Client::new(daemon.address, &daemon.token) else { return };
    let pause = Duration::from_secs(1) / PER_S;
    let mut due = Instant::now() + pause * number / READERS;
    for turn in u64::from(number).. {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due += pause;
        let path = path(KINDS[(turn % 3) as usize], turn, waiting);
        if over.load(Ordering::Relaxed) || client.ask("GET", &path, "").is_err() {
            return;
        }
        reads.fetch_add(1, Ordering::Relaxed);
    }
}

/// The histogram of the loop's delay: upper ends in seconds, and counts up to there.
fn delays(daemon: &Daemon) -> Result<Vec<(f64, f64)>, Failure> {
    let (_, text) = load::ask(daemon.address, &daemon.token, "GET", "/metrics", "").map_err(broken_off)?;
    let bucket = |line: &str| {
        let (end, count) =
            line.strip_prefix("consort_loop_delay_seconds_bucket{le=\"")?.split_once("\"} ")?;
        Some((end.replace("+Inf", "inf").parse().ok()?, count.parse().ok()?))
    };
    Ok(text.lines().filter_map(bucket).collect())
}

/// In milliseconds, between two looks; linear within a bucket.
fn p99(before: &[(f64, f64)], after: &[(f64, f64)]) -> f64 {
    let counts: Vec<(f64, f64)> =
        before.iter().zip(after).map(|(before, after)| (after.0, after.1 - before.1)).collect();
    let wanted = counts.last().map_or(0.0, |all| all.1) * 0.99;
    let (mut from, mut below) = (0.0, 0.0);
    for (end, count) in counts {
        if count >= wanted && end.is_finite() {
            return (from + (end - from) * (wanted - below) / (count - below).max(1.0)) * 1e3;
        }
        (from, below) = (end, count);
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_percentile_is_found_between_two_ends() {
        let before = [(0.001, 5.0), (0.002, 5.0), (f64::INFINITY, 5.0)];
        let after = [(0.001, 5.0 + 980.0), (0.002, 5.0 + 1000.0), (f64::INFINITY, 5.0 + 1000.0)];
        assert!((super::p99(&before, &after) - 1.5).abs() < 1e-9);
    }
}
