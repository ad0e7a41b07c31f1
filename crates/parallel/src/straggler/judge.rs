//! What to do, by expected value over the rounds left.

use super::classify::classify;
use super::{Class, Finding, MOST_VALUES, MOST_WORKERS, Prices, Refusal, Watched};
use crate::Answer;
use serde::Serialize;

/// What was found, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Of every worker, in order.
    pub findings: Vec<Finding>,
    /// A round as it is now.
    pub round_s: f64,
    /// What can be done, mildest first.
    pub choices: Vec<Choice>,
    /// The one with the largest value; of equals, the mildest.
    pub best: Action,
}

/// What can be done about a straggler, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Wait for it.
    Nothing,
    /// Give it fewer samples.
    Rebalance,
    /// Move power from devices that wait to the hot one.
    Cap,
    /// Do not wait for the last.
    Backup,
    /// Put another node in its place.
    Replace,
    /// Start again from a saved state.
    Restart,
}

/// An action and what it is expected to bring.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// What is done.
    pub action: Action,
    /// In words.
    pub about: String,
    /// What it takes, in seconds of the whole job.
    pub cost_s: f64,
    /// A round afterwards; where fewer samples count, for as much progress as a whole one.
    pub round_s: f64,
    /// Seconds saved until the end, less the cost.
    pub value_s: f64,
}

/// Rounds as they were, and as they would be.
struct Pace {
    /// With everybody.
    now: f64,
    /// Without those who hold the others up.
    healthy: f64,
    /// If samples went where they are done fastest.
    balanced: f64,
    /// Not waiting for so many: the round, for as much progress as a whole one.
    backup: Option<(usize, f64)>,
    /// Nobody can be faster than the fastest of every round.
    fastest: f64,
}

/// Judges what was measured.
pub fn judge(watched: &Watched) -> Result<Answer<Verdict>, Refusal> {
    check(watched)?;
    let findings = classify(watched).ok_or(Refusal::NothingMeasured)?;
    let pace = pace(watched, &findings);
    let left = watched.rounds_left as f64;
    let choices = choices(watched, &findings, &pace);
    // Of equal values, the mildest: only a larger one takes its place.
    let best = choices.iter().fold(
        &choices[0],
        |best, choice| {
            if choice.value_s > best.value_s { choice } else { best }
        },
    );
    let objective = left * best.round_s + best.cost_s;
    let mut assumed = vec!["the rounds to come are like those measured".to_string()];
    if choices.iter().any(|choice| choice.action == Action::Restart) {
        let likely = (100.0 * watched.prices.restart_cures).round();
        assumed
            .push(format!("a restart on the same nodes cures what is not heat with a chance of {likely}%"));
    }
    let verdict = Verdict { round_s: pace.now, best: best.action, choices: choices.clone(), findings };
    Ok(Answer {
        tried: verdict.choices.len() as u64,
        plan: verdict,
        objective,
        unit: "s",
        bound: left * pace.fastest,
        bound_by: "the fastest worker of every round".into(),
        assumed,
    })
}

fn check(watched: &Watched) -> Result<(), Refusal> {
    let workers = watched.workers.len();
    let of = |worker: &super::Worker| worker.own_s.len() + worker.communication_s.len();
    let values = watched.workers.iter().map(of).sum();
    match workers {
        0 => return Err(Refusal::NoWorkers),
        _ if workers > MOST_WORKERS || values > MOST_VALUES => {
            return Err(Refusal::TooMany { workers, values });
        }
        _ if watched.rounds_left == 0 => return Err(Refusal::NoRounds),
        _ => {}
    }
    for worker in &watched.workers {
        let all = worker.own_s.iter().chain(&worker.communication_s).flatten();
        if let Some(&value) = all.into_iter().find(|value| !(0.0..1e12).contains(*value)) {
            return Err(Refusal::Time { worker: worker.name.clone(), value });
        }
    }
    let Prices {
        rebalance_s, cap_s, cap_gain, backup_s, replace_s, restart_s, lost_s, restart_cures, ..
    } = watched.prices;
    let costs = [rebalance_s, cap_s, backup_s, replace_s, restart_s, lost_s];
    if let Some(&value) = costs.iter().find(|cost| !(0.0..1e12).contains(*cost)) {
        return Err(Refusal::Figure { what: "cost of an action", value });
    }
    if let Some(&value) = [cap_gain, restart_cures].iter().find(|part| !(0.0..=1.0).contains(*part)) {
        return Err(Refusal::Figure { what: "chance or gain of an action", value });
    }
    Ok(())
}

fn holds_up(class: Class) -> bool {
    matches!(class, Class::Persistent | Class::Communication | Class::Thermal)
}

fn pace(watched: &Watched, findings: &[Finding]) -> Pace {
    let rounds = watched.workers.iter().map(|worker| worker.own_s.len()).max().unwrap_or(0);
    // Where something is rising, the last quarter tells more about the future than the whole.
    let rising = findings.iter().any(|finding| finding.since.is_some());
    let first = if rising { rounds - rounds.div_ceil(4) } else { 0 };
    let total = |worker: usize, round: usize| -> Option<f64> {
        let worker = &watched.workers[worker];
        let exchange = worker.communication_s.get(round).copied().flatten().unwrap_or(0.0);
        Some(worker.own_s.get(round).copied().flatten()? + exchange)
    };
    let slow: Vec<bool> = findings.iter().map(|finding| holds_up(finding.class)).collect();
    let at = |round: usize, keep: &dyn Fn(usize) -> bool| {
        let mut found: Vec<f64> =
            (0..slow.len()).filter(|&index| keep(index)).filter_map(|index| total(index, round)).collect();
        found.sort_by(f64::total_cmp);
        found
    };
    let mean = |of: &dyn Fn(usize) -> Option<f64>| {
        let found: Vec<f64> = (first..rounds).filter_map(of).collect();
        (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
    };
    let now = mean(&|round| at(round, &|_| true).last().copied()).unwrap_or(0.0);
    let healthy = mean(&|round| at(round, &|index| !slow[index]).last().copied()).unwrap_or(now).min(now);
    let fastest = mean(&|round| at(round, &|_| true).first().copied()).unwrap_or(now);
    let means: Vec<f64> = (0..slow.len())
        .filter_map(|worker| mean(&|round| total(worker, round)))
        .filter(|t| *t > 0.0)
        .collect();
    let kept: Vec<f64> = (0..slow.len())
        .filter(|&worker| !slow[worker])
        .filter_map(|worker| mean(&|round| total(worker, round)))
        .collect();
    // Even workers of equal speed wait for whoever is slowest this time: that does not go away.
    let usual = kept.iter().sum::<f64>() / kept.len().max(1) as f64;
    let chance = if usual > 0.0 { (healthy / usual).max(1.0) } else { 1.0 };
    let harmonic = means.len() as f64 / means.iter().map(|mean| 1.0 / mean).sum::<f64>();
    let balanced = if means.is_empty() { now } else { (harmonic * chance).clamp(fastest, now.max(fastest)) };
    let most = slow.iter().filter(|slow| **slow).count().max(slow.len() / 4).min(slow.len() - 1);
    let without = |count: usize| {
        mean(&|round| {
            let all = at(round, &|_| true);
            let waited = all.len().checked_sub(count).filter(|waited| *waited > 0)?;
            Some(all[waited - 1] * all.len() as f64 / waited as f64)
        })
    };
    let backup = (1..=most.min(64)).filter_map(|count| Some((count, without(count)?))).fold(
        None,
        |best: Option<(usize, f64)>, new| match best {
            Some(best) if best.1 <= new.1 => Some(best),
            _ => Some(new),
        },
    );
    Pace { now, healthy, balanced, backup, fastest }
}

fn choices(watched: &Watched, findings: &[Finding], pace: &Pace) -> Vec<Choice> {
    let prices = &watched.prices;
    let count = |of: &[Class]| findings.iter().filter(|finding| of.contains(&finding.class)).count();
    let slow = count(&[Class::Persistent, Class::Communication, Class::Thermal]);
    let (at_work, hot) = (count(&[Class::Persistent, Class::Thermal]), count(&[Class::Thermal]));
    let mut choices = vec![];
    let mut offer = |action, about: String, cost_s: f64, round_s: f64| {
        let value_s = watched.rounds_left as f64 * (pace.now - round_s) - cost_s;
        choices.push(Choice { action, about, cost_s, round_s, value_s });
    };
    offer(Action::Nothing, "wait for the slowest".into(), 0.0, pace.now);
    if at_work > 0 && at_work == slow && findings.len() > 1 {
        let about = "give slow workers fewer samples: see `plan split`".into();
        offer(Action::Rebalance, about, prices.rebalance_s, pace.balanced);
    }
    if hot > 0 {
        let capped = (pace.now * (1.0 - prices.cap_gain)).max(pace.healthy);
        let about = "lower the power limits of devices that wait, or move the hot one's work".into();
        offer(Action::Cap, about, prices.cap_s, capped);
    }
    if let Some((backup, round_s)) = pace.backup
        && findings.iter().any(|finding| finding.class != Class::None)
    {
        let about = format!("go on without the last {backup} of {} in every round", findings.len());
        offer(Action::Backup, about, prices.backup_s, round_s);
    }
    if slow > 0 && prices.spares as usize >= slow {
        let about = format!("put {slow} of {} spare nodes in their place", prices.spares);
        offer(Action::Replace, about, prices.replace_s + prices.lost_s, pace.healthy);
    }
    if slow > 0 {
        let cured = if hot == slow { 0.0 } else { prices.restart_cures };
        let round_s = cured * pace.healthy + (1.0 - cured) * pace.now;
        let about = "start again on the same nodes from a saved state".into();
        offer(Action::Restart, about, prices.restart_s + prices.lost_s, round_s);
    }
    choices
}

#[cfg(test)]
mod tests;
