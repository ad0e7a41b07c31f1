//! Fast links and slow ones, steady workers and unsteady ones.

use super::*;
use crate::dice::Dice;
use crate::fabric::Link;

fn situation(bandwidth: f64) -> Situation {
    Situation::new(16, 0.12, 0.08, 400e6, Link { bandwidth, latency_s: 50e-6 })
}

fn option<'a>(answer: &'a Answer<Plan>, name: &str) -> &'a Scored {
    answer.plan.options.iter().find(|option| option.option == name).unwrap()
}

#[test]
fn fast_links_stay_dense() {
    for bandwidth in [400e9, 50e9] {
        let answer = plan(&situation(bandwidth)).unwrap();
        assert_eq!(answer.plan.chosen, "dense");
        assert!(answer.objective >= answer.bound && answer.bound >= 0.1);
    }
}

#[test]
fn slow_links_are_worth_a_smaller_form() {
    for bandwidth in [125e6, 1.25e9] {
        let answer = plan(&situation(bandwidth)).unwrap();
        let chosen = option(&answer, &answer.plan.chosen);
        assert!(chosen.gain > 1.0 && chosen.guard.holds, "{chosen:?}");
        assert!(chosen.option.starts_with("powersgd"), "{}", chosen.option);
        // What is gathered from sixteen workers is not small any more.
        assert!(option(&answer, "top-k-10%").gain < option(&answer, "powersgd-4").gain);
    }
}

#[test]
fn a_measured_error_beyond_the_bound_forbids_a_form() {
    let mut slow = situation(125e6);
    slow.measured = [32, 16, 8, 4, 2, 1].map(|rank| (format!("powersgd-{rank}"), 0.99)).to_vec();
    let answer = plan(&slow).unwrap();
    assert!(!answer.plan.chosen.starts_with("powersgd"));
    assert!(!option(&answer, "powersgd-32").guard.holds && option(&answer, "powersgd-32").guard.measured);
    slow.measured = vec![("powersgd-3".into(), 0.5)];
    assert!(plan(&slow).unwrap_err().to_string().starts_with("unknown method `powersgd-3`"));
}

#[test]
fn workers_that_vary_are_not_all_waited_for() {
    let mut dice = Dice::new(2);
    let mut unsteady = situation(400e9);
    unsteady.times = (0..500).map(|_| 0.1 - 0.05 * libm::log(1.0 - dice.unit())).collect();
    let answer = plan(&unsteady).unwrap();
    assert!(answer.plan.chosen.starts_with("backup"), "{}", answer.plan.chosen);
    assert!(answer.bound <= answer.objective && answer.bound > 0.05);
    unsteady.noise = Some(1000.0);
    let noisy = plan(&unsteady).unwrap();
    assert!(option(&noisy, "local-16").progress > 0.98 && option(&noisy, "stale-8").progress > 0.99);
}

#[test]
fn noise_makes_local_rounds_worth_while() {
    let mut slow = situation(1.25e9);
    let gain = |slow: &Situation| option(&plan(slow).unwrap(), "local-16").gain;
    assert!(gain(&slow) < 0.0);
    slow.noise = Some(100.0);
    assert!(gain(&slow) > 1.0);
    let answer = plan(&slow).unwrap();
    let dense = option(&answer, "dense").time_s;
    let local = option(&answer, "local-16");
    assert!((local.round_s / local.needed - dense / (1.0 + LEAST_GAIN)).abs() < 1e-12);
}

#[test]
fn no_way_beats_the_bound() {
    let mut dice = Dice::new(77);
    for round in 0..300 {
        let mut random = situation(10.0 * libm::exp(dice.unit() * 22.0));
        random.workers = 1 + dice.below(40) as u32;
        random.spread = dice.unit() * 0.5;
        random.noise = [None, Some(dice.unit() * 30.0)][dice.below(2)];
        random.servers = dice.below(4) as u32;
        random.loss = Some(local::Loss { first: 2.0, now: 0.1 + dice.unit(), first_rounds: 20, rate: 1.0 });
        let answer = plan(&random).unwrap();
        let least = answer.plan.options.iter().map(|option| option.time_s).fold(f64::MAX, f64::min);
        assert!(answer.bound <= least * (1.0 + 1e-12), "{round}: {random:?}");
        assert!(answer.bound > 0.0);
        let dense = option(&answer, "dense").time_s;
        assert!(answer.plan.chosen == "dense" || answer.objective * (1.0 + LEAST_GAIN) < dense);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |change: fn(&mut Situation)| {
        let mut wrong = situation(1e9);
        change(&mut wrong);
        plan(&wrong).unwrap_err().to_string()
    };
    assert!(refused(|wrong| wrong.workers = 0).starts_with("the number of workers is 0"));
    assert!(refused(|wrong| wrong.compute_s = f64::NAN).starts_with("the compute time is NaN"));
    assert!(refused(|wrong| wrong.backward_s = 1.0).starts_with("backward takes 1 s"));
    assert!(refused(|wrong| wrong.link.latency_s = -1.0).starts_with("the latency is -1"));
    assert!(refused(|wrong| wrong.shapes = vec![(2, 2)]).starts_with("the shapes add up to 16 bytes"));
    assert!(refused(|wrong| wrong.times = vec![-1.0]).starts_with("the time of a sample is -1"));
    assert!(refused(|wrong| wrong.workers = 1 << 20).starts_with("1048576 workers are too many; plan for"));
}
