//! All ways, scored, and the one to take.

use super::cost;
use super::guard::{self, Guard};
use super::{Refusal, Situation, Way, local};
use crate::Answer;
use crate::compress::wire::{self, Form};
use crate::straggler::backup::{self, Times};
use serde::Serialize;

/// What a way must gain over the milder one before it.
pub const LEAST_GAIN: f64 = 0.05;

/// Where nobody measured it, the noise scale is taken to be the batch: the point up to which larger batches pay.
const USUAL_NOISE: f64 = 1.0;

/// Waiting below this part of compute is an error of rounding.
const ROUNDING: f64 = 1e-9;

/// How to exchange gradients.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The name of the way to take.
    pub chosen: String,
    /// All that were scored, mildest first.
    pub options: Vec<Scored>,
    /// The way to take.
    #[serde(skip)]
    pub way: Way,
}

/// One way and what is predicted of it, in seconds of one round on average.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// `dense`, `powersgd-4`, `local-8`.
    pub option: String,
    /// Forward and backward.
    pub compute_s: f64,
    /// Making smaller, and back.
    pub coding_s: f64,
    /// Exchange that nothing hides.
    pub exchange_s: f64,
    /// Waiting for others; below zero where even an average worker is not waited for.
    pub wait_s: f64,
    /// All of it.
    pub round_s: f64,
    /// How much a round brings beside a whole one.
    pub progress: f64,
    /// A round over its progress.
    pub time_s: f64,
    /// How much faster than dense: 0.5 is half as fast again.
    pub gain: f64,
    /// The progress at which it would gain just enough beside dense; above 1 where it never can.
    pub needed: f64,
    /// What is said about it.
    pub verdict: Verdict,
    /// What keeps it honest.
    pub guard: Guard,
}

/// What is said about a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Take it.
    Chosen,
    /// It would pay too; something milder or faster is chosen.
    Pays,
    /// It does not gain enough.
    TooLittle,
    /// It would pay, and its guard does not hold.
    Unsafe,
}

/// Scores all ways and chooses one.
pub fn plan(situation: &Situation) -> Result<Answer<Plan>, Refusal> {
    check(situation)?;
    let noise = situation.noise.unwrap_or(USUAL_NOISE);
    let orders = orders(situation)?;
    let ways = Way::all(situation, best_backup(situation, &orders, noise));
    let lossy = || ways.iter().filter(|way| way.is_lossy());
    if let Some((name, _)) =
        situation.measured.iter().find(|(name, _)| !lossy().any(|way| way.to_string() == *name))
    {
        let known = lossy().map(Way::to_string).collect();
        return Err(Refusal::Way { name: name.clone(), known });
    }
    let mut options: Vec<Scored> =
        ways.iter().map(|&way| score(situation, way, noise, &orders)).collect::<Vec<_>>();
    let dense = options[0].time_s;
    let mut chosen = 0;
    for option in &mut options {
        option.gain = dense / option.time_s - 1.0;
        option.needed = option.round_s * (1.0 + LEAST_GAIN) / dense;
        option.verdict = match (option.gain > LEAST_GAIN, option.guard.holds) {
            (false, _) => Verdict::TooLittle,
            (true, false) => Verdict::Unsafe,
            (true, true) => Verdict::Pays,
        };
    }
    for index in 1..options.len() {
        let pays = options[index].verdict == Verdict::Pays;
        if pays && options[chosen].time_s / options[index].time_s - 1.0 > LEAST_GAIN {
            chosen = index;
        }
    }
    options[chosen].verdict = Verdict::Chosen;
    let objective = options[chosen].time_s;
    let plan = Plan { chosen: options[chosen].option.clone(), way: ways[chosen], options };
    Ok(Answer {
        objective,
        unit: "s",
        bound: bound(situation, &orders, noise).min(objective),
        bound_by: "compute time, with all exchange hidden and no waiting".into(),
        assumed: assumed(situation, &plan),
        tried: plan.options.len() as u64,
        plan,
    })
}

fn check(situation: &Situation) -> Result<(), Refusal> {
    let link = situation.link;
    let positive = [
        ("number of workers", f64::from(situation.workers)),
        ("compute time", situation.compute_s),
        ("size of the gradients", situation.gradient_bytes),
        ("bandwidth", link.bandwidth),
        ("speed of coding", situation.coding),
        ("size of a piece", situation.bucket_bytes),
    ];
    if let Some(&(what, value)) = positive.iter().find(|(_, value)| !(*value > 0.0 && *value < 1e15)) {
        return Err(Refusal::NotPositive { what, value });
    }
    let rest = [
        ("backward time", situation.backward_s),
        ("latency", link.latency_s),
        ("spread of times", situation.spread),
        ("noise scale over the batch", situation.noise.unwrap_or(0.0)),
    ];
    if let Some(&(what, value)) = rest.iter().find(|(_, value)| !(0.0..1e9).contains(value)) {
        return Err(Refusal::Figure { what, value });
    }
    if let Some(&(_, value)) = situation.measured.iter().find(|(_, error)| !(0.0..=1e6).contains(error)) {
        return Err(Refusal::Figure { what: "measured error", value });
    }
    if situation.backward_s > situation.compute_s {
        let Situation { backward_s, compute_s, .. } = *situation;
        return Err(Refusal::Backward { backward_s, compute_s });
    }
    if let Some(loss) = &situation.loss {
        local::rounds(loss)?;
    }
    let (bytes, gradients) = (wire::bytes(Form::Dense, &situation.shapes), situation.gradient_bytes);
    if !situation.shapes.is_empty() && !(0.9..=1.1).contains(&(bytes / gradients)) {
        return Err(Refusal::Shapes { bytes, gradients });
    }
    Ok(())
}

/// When the first, second and so on of the workers is done, over the mean.
fn orders(situation: &Situation) -> Result<Vec<f64>, Refusal> {
    let times = match situation.times.is_empty() {
        true => Times::Normal { mean: 1.0, deviation: situation.spread },
        false => Times::Sample(&situation.times),
    };
    let mean = match situation.times.is_empty() {
        true => 1.0,
        false => situation.times.iter().sum::<f64>() / situation.times.len() as f64,
    };
    let orders = backup::orders(times, situation.workers).map_err(Refusal::Times)?;
    Ok(orders.iter().map(|order| order / mean).collect())
}

/// How many workers it is best not to wait for, were exchange free; at most a quarter of them.
fn best_backup(situation: &Situation, orders: &[f64], noise: f64) -> u32 {
    let time = |late: u32| late_time(situation, orders, noise, late);
    (0..=situation.workers / 4).fold(0, |best, late| if time(late) < time(best) { late } else { best })
}

/// Compute and waiting of a round without the last few, over its progress.
fn late_time(situation: &Situation, orders: &[f64], noise: f64, late: u32) -> f64 {
    let last = orders[(situation.workers - late - 1) as usize];
    situation.compute_s * last / Way::Backup(late).progress(noise, situation.workers, 1.0)
}

fn bound(situation: &Situation, orders: &[f64], noise: f64) -> f64 {
    // Who does not wait for slow workers may be faster than the mean: that counts too.
    (0..situation.workers)
        .map(|late| late_time(situation, orders, noise, late))
        .fold(situation.compute_s, f64::min)
}

fn score(situation: &Situation, way: Way, noise: f64, orders: &[f64]) -> Scored {
    let compute_s = situation.compute_s;
    let late = |count: u32| compute_s * (orders[(situation.workers - count - 1) as usize] - 1.0);
    let wait_s = match way {
        Way::Every(_) | Way::Servers(_) => late(0),
        Way::Backup(count) => late(count),
        // No worse than waiting for each other once in so many rounds, over which times even out.
        Way::Stale(ahead) => late(0) / (f64::from(ahead) + 1.0).sqrt(),
        Way::Local(rounds) | Way::Diloco(rounds) => late(0) / (rounds as f64).sqrt(),
    };
    let wait_s = if wait_s.abs() < ROUNDING * compute_s { 0.0 } else { wait_s };
    let name = way.to_string();
    let measured = situation.measured.iter().find(|(measured, _)| *measured == name).map(|(_, error)| *error);
    let captured = match measured {
        Some(error) => (1.0 - error * error).clamp(1e-6, 1.0),
        None => way.captured(&situation.shapes()),
    };
    let cost = cost::parts(situation, way);
    let round_s = compute_s + cost.coding_s + cost.exchange_s + wait_s;
    let progress = way.progress(noise, situation.workers, captured);
    Scored {
        option: name,
        compute_s,
        coding_s: cost.coding_s,
        exchange_s: cost.exchange_s,
        wait_s,
        round_s,
        progress,
        time_s: round_s / progress,
        gain: 0.0,
        needed: 0.0,
        verdict: Verdict::TooLittle,
        guard: guard::guard(way, captured, measured.is_some()),
    }
}

fn assumed(situation: &Situation, plan: &Plan) -> Vec<String> {
    let mut assumed =
        vec!["all-reduce is the better of a ring and a tree, and nothing else uses the links".to_string()];
    if situation.noise.is_none() {
        assumed.push(
            "the gradient noise scale is assumed to equal the global batch: it was not measured".into(),
        );
    }
    let lossy = plan.options.iter().filter(|option| option.guard.error.is_some());
    if lossy.clone().any(|option| !option.guard.measured && option.option.contains('-')) {
        assumed.push(
            "what low rank and top-k lose is predicted, not measured: singular values fall as one over their number, \
             entries exponentially"
                .into(),
        );
    }
    if situation.shapes.is_empty() {
        assumed.push("gradients are square matrices of about a thousand rows".into());
    }
    if situation.times.is_empty() && situation.spread == 0.0 {
        assumed.push("all workers take equally long in every round".into());
    }
    let passes = (situation.coding / 1e9).round();
    assumed.push(format!("a device goes over all its gradients at {passes} GB/s when it makes them smaller"));
    assumed
}

#[cfg(test)]
mod tests;
