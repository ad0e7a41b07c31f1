//! The rows, each without its name.

use super::Case;
use crate::{Anchor, Row, data};
use consort_parallel::dice::Dice;
use consort_parallel::pipeline::schedule::{
    Pipe, Refusal, Schedule, Times, bound, bound_within, closed, fitted, makespan, order, play,
};

/// Playing 64 devices and 512 microbatches may take so long for each part on a device: a planner plays thousands.
const BAR_MS: f64 = 5.0;

/// A published order beside the data and the formulas.
pub fn known(case: &Case) -> Row {
    let Some(schedule) = case.schedule() else {
        return missed(format!("the schedule {} is not known", case.schedule));
    };
    let pipe = case.pipe(schedule.chunks());
    let (played, cpu_ms) = data::timed(|| play(&order(schedule, &pipe)?, &pipe));
    let played = match played {
        Ok(played) => played,
        Err(refusal) => return refused(refusal),
    };
    let formula = closed::closed(schedule, case.p, case.m, case.times(schedule.chunks()));
    let exact = |value: f64| (formula.is_exact && case.comm == 0.0).then_some(value);
    let compared = [
        ("makespan", played.makespan_s, case.makespan),
        ("bubble", played.bubble_s, case.bubble),
        ("bubble by the data's formula", played.bubble_s, case.formula_bubble),
        ("bubble by formula", played.bubble_s, exact(formula.bubble_s)),
        ("inner bubble by formula", played.inner_bubble_s, exact(formula.inner_bubble_s)),
    ];
    let mut figures = figures(played.makespan_s, bound_within(schedule, &pipe).0, cpu_ms);
    figures.push(("bubble", played.bubble_s));
    figures.push(("inner_bubble", played.inner_bubble_s));
    figures.push(("any_bound", bound(&pipe)));
    figures.push(("held", played.held.iter().copied().fold(0.0, f64::max)));
    Row {
        figures,
        anchor: case.makespan.map(|value| Anchor { who: "reference", metric: "objective", value }),
        is_barred: compared.iter().any(|(_, _, expected)| expected.is_some()),
        misses: compared
            .into_iter()
            .filter_map(|(what, found, expected)| miss(what, found, expected?))
            .collect(),
        ..Row::default()
    }
}

/// An order fitted to unlike parts beside the published one.
pub fn unlike(schedule: Schedule) -> Row {
    let pipe = unlike_pipe(8, 32, schedule.chunks());
    let published = order(schedule, &pipe).and_then(|orders| makespan(&orders, &pipe));
    let (answer, cpu_ms) = data::timed(|| fitted(schedule, &pipe));
    let (published_s, answer) = match (published, answer) {
        (Ok(published_s), Ok(answer)) => (published_s, answer),
        (Err(refusal), _) | (_, Err(refusal)) => return refused(refusal),
    };
    let mut figures = figures(answer.objective, answer.bound, cpu_ms);
    figures.push(("published", published_s));
    figures.push(("tried", answer.tried as f64));
    let mut misses = vec![];
    if answer.objective > published_s {
        misses.push(format!("fitted takes {} s, published {published_s} s", answer.objective));
    }
    Row { figures, misses, is_barred: true, ..Row::default() }
}

/// How long playing takes.
pub fn speed(schedule: Schedule) -> Row {
    let pipe = unlike_pipe(64, 512, schedule.chunks());
    let orders = match order(schedule, &pipe) {
        Ok(orders) => orders,
        Err(refusal) => return refused(refusal),
    };
    let mut best: Option<(f64, f64)> = None;
    // The least of several: what else runs on the machine is not counted.
    for _ in 0..5 {
        match data::timed(|| makespan(&orders, &pipe)) {
            (Ok(_), cpu_ms) if best.is_some_and(|(_, least)| least <= cpu_ms) => (),
            (Ok(makespan_s), cpu_ms) => best = Some((makespan_s, cpu_ms)),
            (Err(refusal), _) => return refused(refusal),
        }
    }
    let (makespan_s, cpu_ms) = best.unwrap_or_default();
    let bar_ms = BAR_MS * schedule.chunks() as f64;
    let late = match cpu_ms > bar_ms {
        true => vec![format!("playing takes {cpu_ms:.2} ms, the bar is {bar_ms} ms")],
        false => vec![],
    };
    Row {
        figures: figures(makespan_s, bound_within(schedule, &pipe).0, cpu_ms),
        late,
        is_barred: true,
        ..Row::default()
    }
}

/// Times that differ by up to a half on each side, delays of up to a tenth, and an exchange afterwards.
fn unlike_pipe(devices: usize, microbatches: usize, chunks: usize) -> Pipe {
    let mut dice = Dice::new(1);
    let share = 1.0 / chunks as f64;
    let mut pipe = Pipe::even(devices, microbatches, chunks, Times::default(), 0.0);
    for part in &mut pipe.parts {
        let mut time = || share * (0.5 + dice.unit());
        *part = Times { forward_s: time(), backward_s: time(), weight_s: time() };
    }
    pipe.send_s.iter_mut().for_each(|send_s| *send_s = 0.1 * dice.unit());
    pipe.after_s.iter_mut().for_each(|after_s| *after_s = dice.unit());
    pipe
}

fn figures(objective: f64, bound: f64, cpu_ms: f64) -> Vec<(&'static str, f64)> {
    // Sums of the same times in another order differ in their last bits: no gap.
    let is_apart = objective - bound > 1e-9 * bound;
    let gap = if is_apart && bound > 0.0 { (objective - bound) / bound * 100.0 } else { 0.0 };
    vec![("objective", objective), ("bound", bound), ("gap_pct", gap), ("cpu_ms", cpu_ms)]
}

fn miss(what: &str, found: f64, expected: f64) -> Option<String> {
    let is_near = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    (!is_near).then(|| format!("{what} is {found}, expected {expected}"))
}

fn refused(refusal: Refusal) -> Row {
    missed(refusal.to_string())
}

fn missed(why: String) -> Row {
    Row { misses: vec![why], ..Row::default() }
}
