//! What to do, by expected value over the rounds left.

use super::classify::classify;
use super::pace::{Pace, pace};
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
