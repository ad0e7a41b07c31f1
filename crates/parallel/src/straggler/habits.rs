//! What stays of the times of workers, and what changes from round to round.
//!
//! A worker that is always slow is always waited for; only what varies within workers evens out over rounds, or can be
//! escaped by not waiting for the last. So both are kept apart: the mean of the slowest worker, and every time over the
//! mean of its own worker. Simplifies: all workers are taken to vary alike. Does badly where a worker gets slower and
//! slower: its rise looks like chance here, and [`judge`](super::judge) is the one to ask.

use super::Worker;

/// Times of workers, in two parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Habits {
    /// The mean of the worker that is slowest on average: no synchronous round is faster on average.
    pub slowest_s: f64,
    /// Every time over the mean of its worker, in the order of workers and rounds.
    pub variation: Vec<f64>,
}

/// Takes times apart. `None` where nothing was measured that took any time.
pub fn habits(workers: &[Worker]) -> Option<Habits> {
    let mut found = Habits { slowest_s: 0.0, variation: vec![] };
    for worker in workers {
        let known: Vec<f64> = worker.own_s.iter().copied().flatten().collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        // Not a number where nothing was measured, and nothing to divide by where all took no time.
        if mean > 0.0 {
            found.slowest_s = found.slowest_s.max(mean);
            found.variation.extend(known.iter().map(|time| time / mean));
        }
    }
    (found.slowest_s > 0.0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::super::{Prices, Watched, judge, read};
    use super::*;
    use crate::dice::Dice;
    use crate::fabric::Link;
    use crate::sync::{Situation, plan};

    fn situation(found: &Habits, workers: u32) -> Situation {
        let link = Link { bandwidth: 3.125e9, latency_s: 20e-6 };
        let slowest_s = found.slowest_s;
        let mut situation = Situation::new(workers, slowest_s, slowest_s * 2.0 / 3.0, 4e8, link);
        situation.times = found.variation.clone();
        situation
    }

    #[test]
    fn a_worker_that_is_always_slow_is_no_chance() {
        let workers = read(&format!("a,b,c,d\n{}", "0.1,0.1,0.1,0.3\n".repeat(50))).unwrap();
        let found = habits(&workers).unwrap();
        assert!((found.slowest_s - 0.3).abs() < 1e-12);
        assert!(found.variation.iter().all(|ratio| (ratio - 1.0).abs() < 1e-12));
        let answer = plan(&situation(&found, 4)).unwrap();
        assert!(!answer.plan.chosen.starts_with("backup"), "{}", answer.plan.chosen);
        let dense = &answer.plan.options[0];
        assert!(dense.time_s >= found.slowest_s && answer.bound <= answer.objective);
        assert!(answer.bound >= 0.3 * (1.0 - 1e-9), "{}", answer.bound);
        // What differs by rounding is not waiting.
        assert!(answer.plan.options.iter().all(|option| option.wait_s == 0.0));
    }

    #[test]
    fn what_varies_within_workers_is_chance() {
        let rows = "0.1,0.4\n0.1,0.4\n0.1,0.4\n0.2,0.8\n".repeat(20);
        let found = habits(&read(&format!("a,b\n{rows}")).unwrap()).unwrap();
        assert!((found.slowest_s - 0.5).abs() < 1e-12);
        let mean = found.variation.iter().sum::<f64>() / found.variation.len() as f64;
        assert!((mean - 1.0).abs() < 1e-12);
        assert!((found.variation[3] - 1.6).abs() < 1e-12 && (found.variation[83] - 1.6).abs() < 1e-12);
        // The later of two: 1.6 of 1 unless both are early, which happens nine times of sixteen.
        let wait_s = plan(&situation(&found, 2)).unwrap().plan.options[0].wait_s;
        assert!((wait_s - 0.5 * (0.8 * 9.0 / 16.0 + 1.6 * 7.0 / 16.0 - 1.0)).abs() < 1e-9, "{wait_s}");
    }

    #[test]
    fn rounds_as_they_were_do_not_beat_the_bound() {
        let mut dice = Dice::new(6);
        let mut compared = 0;
        for _ in 0..200 {
            let wide = dice.unit();
            let workers: Vec<Worker> = (0..2 + dice.below(7))
                .map(|index| {
                    let usual = 0.1 + 0.3 * dice.unit();
                    let own_s = (0..40).map(|_| Some(usual * (1.0 + wide * (dice.unit() - 0.5)))).collect();
                    Worker { name: format!("w{index}"), own_s, ..Worker::default() }
                })
                .collect();
            let answer = plan(&situation(&habits(&workers).unwrap(), workers.len() as u32)).unwrap();
            let verdict =
                judge(&Watched { workers, rounds_left: 9, prices: Prices::default() }).unwrap().plan;
            // Where somebody gets slower, only the latest rounds are judged.
            if verdict.findings.iter().all(|finding| finding.since.is_none()) {
                assert!(
                    answer.bound <= verdict.round_s * (1.0 + 1e-9),
                    "{} {}",
                    answer.bound,
                    verdict.round_s
                );
                compared += 1;
            }
        }
        assert!(compared > 100, "{compared}");
    }

    #[test]
    fn nothing_measured_has_no_parts() {
        assert_eq!(habits(&[]), None);
        assert_eq!(habits(&read("a,b\n,0\n").unwrap()), None);
    }
}
