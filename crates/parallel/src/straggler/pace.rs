//! Rounds as they were, and as they would be if somebody did something about them.

use super::{Class, Finding, Watched};

/// What a round takes, in seconds.
pub struct Pace {
    /// With everybody.
    pub now: f64,
    /// Without those who hold the others up.
    pub healthy: f64,
    /// If samples went where they are done fastest.
    pub balanced: f64,
    /// Not waiting for so many: the round, for as much progress as a whole one.
    pub backup: Option<(usize, f64)>,
    /// Nobody can be faster than the fastest of every round.
    pub fastest: f64,
}

/// No more workers than this are looked at as too late to be waited for.
const MOST_LATE: usize = 64;

/// Works out all of it from what was measured.
pub fn pace(watched: &Watched, findings: &[Finding]) -> Pace {
    let rounds = watched.workers.iter().map(|worker| worker.own_s.len()).max().unwrap_or(0);
    // Where something is rising, the last quarter tells more about the future than the whole.
    let rising = findings.iter().any(|finding| finding.since.is_some());
    let first = if rising { rounds - rounds.div_ceil(4) } else { 0 };
    let slow: Vec<bool> = findings.iter().map(|finding| holds_up(finding.class)).collect();
    let all: Vec<Vec<f64>> = (first..rounds).map(|round| sorted(watched, round, |_| true)).collect();
    let now = mean(all.iter().filter_map(|round| round.last().copied())).unwrap_or(0.0);
    let fastest = mean(all.iter().filter_map(|round| round.first().copied())).unwrap_or(now);
    let kept = (first..rounds).map(|round| sorted(watched, round, |worker| !slow[worker]));
    let healthy = mean(kept.filter_map(|round| round.last().copied())).unwrap_or(now).min(now);
    let means: Vec<Option<f64>> = (0..slow.len())
        .map(|worker| mean((first..rounds).filter_map(|round| total(watched, worker, round))))
        .collect();
    let balanced = balanced(&means, &slow, healthy).unwrap_or(now).clamp(fastest, now.max(fastest));
    let most = slow.iter().filter(|slow| **slow).count().max(slow.len() / 4);
    let most = most.min(slow.len().saturating_sub(1)).min(MOST_LATE);
    let backup = (1..=most).filter_map(|late| Some((late, without(&all, late)?))).fold(
        None,
        |best: Option<(usize, f64)>, new| match best {
            Some(best) if best.1 <= new.1 => Some(best),
            _ => Some(new),
        },
    );
    Pace { now, healthy, balanced, backup, fastest }
}

fn holds_up(class: Class) -> bool {
    matches!(class, Class::Persistent | Class::Communication | Class::Thermal)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Work and exchange of one worker in one round.
fn total(watched: &Watched, worker: usize, round: usize) -> Option<f64> {
    let worker = &watched.workers[worker];
    let exchange = worker.communication_s.get(round).copied().flatten().unwrap_or(0.0);
    Some(worker.own_s.get(round).copied().flatten()? + exchange)
}

/// What the workers of one round took, fastest first.
fn sorted(watched: &Watched, round: usize, keep: impl Fn(usize) -> bool) -> Vec<f64> {
    let workers = (0..watched.workers.len()).filter(|&worker| keep(worker));
    let mut found: Vec<f64> = workers.filter_map(|worker| total(watched, worker, round)).collect();
    found.sort_by(f64::total_cmp);
    found
}

/// A round in which samples go where they are done fastest. Even workers of equal speed wait for whoever is slowest
/// this time: that does not go away.
fn balanced(means: &[Option<f64>], slow: &[bool], healthy: f64) -> Option<f64> {
    let known: Vec<f64> = means.iter().copied().flatten().filter(|mean| *mean > 0.0).collect();
    let usual = mean(means.iter().zip(slow).filter(|(_, slow)| !**slow).filter_map(|(mean, _)| *mean));
    let chance = usual.filter(|usual| *usual > 0.0).map_or(1.0, |usual| (healthy / usual).max(1.0));
    let harmonic = known.len() as f64 / known.iter().map(|mean| 1.0 / mean).sum::<f64>();
    (!known.is_empty()).then_some(harmonic * chance)
}

/// A round that does not wait for the last few, for as much progress as a whole one.
fn without(rounds: &[Vec<f64>], late: usize) -> Option<f64> {
    mean(rounds.iter().filter_map(|round| {
        let waited = round.len().checked_sub(late).filter(|waited| *waited > 0)?;
        Some(round[waited - 1] * round.len() as f64 / waited as f64)
    }))
}
