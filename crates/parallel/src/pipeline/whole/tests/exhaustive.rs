//! Every plan there is on tiny chains, against the planner and its bound.

use super::super::*;
use super::{chain, fabric, kind};
use crate::dice::Dice;

/// A tiny request: three or four layers, three devices of two kinds on two hosts, sometimes short of memory.
fn request(dice: &mut Dice) -> Request {
    let layers: Vec<(f64, f64, f64)> = (0..3 + dice.below(2))
        .map(|_| (0.5 + dice.unit(), 1.0 + 20.0 * dice.unit(), 100.0 * dice.unit()))
        .collect();
    let hosts: &[(u32, &str)] =
        [&[(2, "a"), (1, "b")][..], &[(1, "a"), (2, "b")], &[(3, "a")], &[(1, "a"), (1, "b")]][dice.below(4)];
    let inside = 5.0 + 100.0 * dice.unit();
    let between = 5.0 + 50.0 * dice.unit();
    let memory = [1e9, 400.0, 900.0][dice.below(3)];
    let kinds = vec![kind("a", 1.0, memory), kind("b", 0.3 + dice.unit(), memory * (0.5 + dice.unit()))];
    Request {
        microbatches: Microbatches::AtMost(4),
        samples: Some(12),
        ..Request::new(chain(&layers), fabric(hosts, inside, between), kinds)
    }
}

/// All ways to deal devices to so many groups, some to none.
fn deals(devices: usize, groups: usize) -> Vec<Vec<Vec<usize>>> {
    let mut deals = vec![];
    for number in 0..(groups + 1).pow(devices as u32) {
        let mut deal = vec![vec![]; groups + 1];
        let mut rest = number;
        for device in 0..devices {
            deal[rest % (groups + 1)].push(device);
            rest /= groups + 1;
        }
        deal.pop();
        if deal.iter().all(|group| !group.is_empty()) {
            deals.push(deal);
        }
    }
    deals
}

/// All ways to cut so many pieces into so many parts.
fn cuts(pieces: usize, parts: usize) -> Vec<Vec<usize>> {
    if parts == 1 {
        return vec![vec![0, pieces]];
    }
    let before = (parts - 1..pieces).flat_map(|last| cuts(last, parts - 1));
    before.map(|mut cuts| [&std::mem::take(&mut cuts)[..], &[pieces]].concat()).collect()
}

/// The fastest plan that fits, of all.
fn best_of_all(ready: &Ready) -> Option<(f64, Candidate)> {
    let mut scorer = Scorer::new(&ready.fleet, &ready.lines, ready.rules);
    let mut best: Option<(f64, Candidate)> = None;
    for groups in 1..=ready.fleet.devices.len() {
        for schedule in SCHEDULES {
            let all = cuts_for(ready.lines[0].pieces(), groups * schedule.chunks());
            for deal in deals(ready.fleet.devices.len(), groups) {
                for cuts in &all {
                    for options in 0..4usize.pow(groups as u32) {
                        let group = |(index, devices): (usize, &Vec<usize>)| {
                            let option = options / 4usize.pow(index as u32) % 4;
                            Group { devices: devices.clone(), tensor: 1 + option % 2, recompute: option > 1 }
                        };
                        let groups: Vec<Group> = deal.iter().enumerate().map(group).collect();
                        for &microbatches in &[1, 2, 3, 4] {
                            let (cuts, groups) = (cuts.clone(), groups.clone());
                            let candidate =
                                Candidate { line: 0, schedule, is_fitted: false, microbatches, cuts, groups };
                            let scored = scorer.score(&candidate).filter(score::Scored::fits);
                            if let Some(scored) = scored
                                && best.as_ref().is_none_or(|(time, _)| scored.time_s < *time)
                            {
                                best = Some((scored.time_s, candidate));
                            }
                        }
                    }
                }
            }
        }
    }
    best
}

fn cuts_for(pieces: usize, parts: usize) -> Vec<Vec<usize>> {
    if parts > pieces { vec![] } else { cuts(pieces, parts) }
}

#[test]
fn the_planner_finds_the_best_of_all_plans_and_the_bound_is_below() {
    let mut dice = Dice::new(11);
    let (mut found, mut best_found) = (0, 0);
    for round in 0..60 {
        let request = request(&mut dice);
        let answer = plan(&request);
        let best = Ready::of(&request).ok().and_then(|ready| best_of_all(&ready));
        let (Some((best, which)), Ok(answer)) = (&best, &answer) else {
            assert!(answer.is_err() && best.is_none(), "round {round}: {answer:?} against {best:?}");
            continue;
        };
        let (bound, _) = Ready::of(&request).unwrap().bound(&request);
        assert!(bound <= best * (1.0 + 1e-9), "round {round}: the bound {bound} is above {best}");
        assert!(
            answer.objective >= best * (1.0 - 1e-9),
            "round {round}: {} is below {best}",
            answer.objective
        );
        assert!(
            answer.objective <= best * 1.03,
            "round {round}: {} where {which:?} is best",
            answer.objective
        );
        found += 1;
        best_found += usize::from(answer.objective <= best * (1.0 + 1e-9));
    }
    assert!(best_found * 10 >= found * 9, "the best was found in {best_found} of {found} rounds only");
}
