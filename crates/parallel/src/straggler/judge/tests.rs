//! Small stories: who is slow, why, and what is best done.

use super::super::{Health, Worker};
use super::*;
use crate::dice::Dice;

/// So many workers of about a second, over so many rounds.
fn watched(workers: usize, rounds: usize, noise: f64) -> Watched {
    seeded(42, workers, rounds, noise)
}

fn seeded(seed: u64, workers: usize, rounds: usize, noise: f64) -> Watched {
    let mut dice = Dice::new(seed);
    let mut normal = || (0..12).map(|_| dice.unit()).sum::<f64>() - 6.0;
    let worker = |index: usize| Worker {
        name: format!("w{index}"),
        own_s: (0..rounds).map(|_| Some(1.0 + noise * normal())).collect(),
        communication_s: vec![],
        health: Health::default(),
    };
    Watched { workers: (0..workers).map(worker).collect(), rounds_left: 10_000, prices: Prices::default() }
}

fn slow(watched: &mut Watched, worker: usize, rounds: std::ops::Range<usize>, by: f64) {
    watched.workers[worker].own_s[rounds].iter_mut().flatten().for_each(|time| *time *= by);
}

fn classes(watched: &Watched) -> Vec<Class> {
    judge(watched).unwrap().plan.findings.iter().map(|finding| finding.class).collect()
}

fn others_are_fine(watched: &Watched, but: usize) -> bool {
    classes(watched).iter().enumerate().all(|(index, class)| index == but || *class == Class::None)
}

#[test]
fn nobody_is_blamed_where_nobody_is_slow() {
    for workers in [1, 2, 3, 8, 64] {
        for noise in [0.0, 0.01, 0.1] {
            let answer = judge(&watched(workers, 120, noise)).unwrap();
            let blamed: Vec<&Finding> =
                answer.plan.findings.iter().filter(|finding| finding.class != Class::None).collect();
            assert!(blamed.is_empty(), "{workers} {noise} {blamed:?}");
            assert_eq!(answer.plan.best, Action::Nothing);
            assert!(answer.bound > 0.0 && answer.bound <= answer.objective);
        }
    }
}

#[test]
fn chance_is_rarely_taken_for_a_cause_and_a_cause_is_found() {
    let (mut blamed, mut watched_in_all, mut missed) = (0, 0, 0);
    for seed in 0..60 {
        let workers = 2 + seed as usize % 15;
        let mut watched = seeded(seed, workers, 30 + seed as usize, 0.05);
        blamed += classes(&watched).iter().filter(|class| **class != Class::None).count();
        watched_in_all += workers;
        let rounds = watched.workers[0].own_s.len();
        slow(&mut watched, 0, 0..rounds, 1.3);
        missed += usize::from(classes(&watched)[0] != Class::Persistent);
    }
    assert!(blamed * 100 <= watched_in_all, "{blamed} of {watched_in_all}");
    assert_eq!(missed, 0);
}

#[test]
fn a_slow_worker_gets_fewer_samples() {
    for workers in [2, 3, 8] {
        let mut watched = watched(workers, 50, 0.02);
        slow(&mut watched, 1, 0..50, 1.3);
        assert_eq!(classes(&watched)[1], Class::Persistent, "{workers}");
        assert!(others_are_fine(&watched, 1), "{workers}");
        let answer = judge(&watched).unwrap();
        assert_eq!(answer.plan.best, Action::Rebalance);
        let best = answer.plan.choices.iter().find(|choice| choice.action == Action::Rebalance).unwrap();
        assert!(best.value_s > 1_000.0 && best.round_s < answer.plan.round_s);
    }
}

#[test]
fn equal_times_and_one_slow_worker_do_not_divide_by_zero() {
    let mut watched = watched(8, 20, 0.0);
    slow(&mut watched, 3, 0..20, 1.5);
    assert_eq!(classes(&watched)[3], Class::Persistent);
    assert!(others_are_fine(&watched, 3));
}

#[test]
fn a_spike_is_transient_and_nothing_is_done_about_one() {
    let mut watched = watched(8, 60, 0.02);
    slow(&mut watched, 5, 20..21, 3.0);
    assert_eq!(classes(&watched)[5], Class::Transient);
    assert_eq!(judge(&watched).unwrap().plan.best, Action::Nothing);
}

#[test]
fn frequent_spikes_are_not_waited_for() {
    let mut watched = watched(16, 60, 0.01);
    for round in 0..60 {
        slow(&mut watched, round % 16, round..round + 1, 2.5);
    }
    let answer = judge(&watched).unwrap();
    assert!(answer.plan.findings.iter().all(|finding| finding.class == Class::Transient));
    assert_eq!(answer.plan.best, Action::Backup);
}

#[test]
fn drift_is_found_with_its_beginning_and_heat_is_named() {
    let mut watched = watched(8, 90, 0.02);
    slow(&mut watched, 2, 60..90, 1.15);
    let answer = judge(&watched).unwrap();
    assert_eq!(answer.plan.findings[2].class, Class::Persistent);
    assert!((55..66).contains(&answer.plan.findings[2].since.unwrap()));
    watched.workers.iter_mut().for_each(|worker| worker.health.clock = Some(1.0));
    watched.workers[2].health.clock = Some(0.8);
    assert_eq!(classes(&watched)[2], Class::Thermal);
    let answer = judge(&watched).unwrap();
    assert!(answer.plan.choices.iter().any(|choice| choice.action == Action::Cap));
}

#[test]
fn slow_exchange_is_told_apart_and_a_spare_takes_its_place() {
    let mut watched = watched(8, 40, 0.02);
    for (index, worker) in watched.workers.iter_mut().enumerate() {
        worker.communication_s = vec![Some(if index == 4 { 2.0 } else { 0.2 }); 40];
    }
    assert_eq!(classes(&watched)[4], Class::Communication);
    watched.prices.spares = 1;
    let answer = judge(&watched).unwrap();
    assert!(answer.plan.choices.iter().all(|choice| choice.action != Action::Rebalance));
    assert_eq!(answer.plan.best, Action::Replace);
    watched.rounds_left = 1;
    assert_eq!(judge(&watched).unwrap().plan.best, Action::Nothing);
}

#[test]
fn missing_values_are_no_values() {
    let mut watched = watched(6, 40, 0.02);
    watched.workers[0].own_s = vec![None; 40];
    watched.workers[1].own_s.truncate(2);
    slow(&mut watched, 2, 0..40, 1.4);
    watched.workers[2].own_s[7] = None;
    assert_eq!(classes(&watched)[2], Class::Persistent);
    assert_eq!(judge(&watched).unwrap().plan.findings[0].own_s, None);
    watched.workers.iter_mut().for_each(|worker| worker.own_s.clear());
    assert_eq!(judge(&watched), Err(Refusal::NothingMeasured));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut wrong = watched(2, 5, 0.0);
    wrong.workers[1].own_s[0] = Some(f64::NAN);
    assert!(judge(&wrong).unwrap_err().to_string().starts_with("a time of w1 is NaN"));
    let mut none = watched(2, 5, 0.0);
    none.rounds_left = 0;
    assert_eq!(judge(&none), Err(Refusal::NoRounds));
    none.workers.clear();
    assert_eq!(judge(&none), Err(Refusal::NoWorkers));
    let mut priced = watched(2, 5, 0.0);
    priced.prices.restart_cures = 2.0;
    assert!(judge(&priced).is_err());
}
