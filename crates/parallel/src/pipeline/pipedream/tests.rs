//! Against the plain recurrences, and what is refused.

use super::plain::{Pieces, objective};
use super::*;
use crate::dice::Dice;
use crate::pipeline::layers::Layer;

/// A small network: some layers feed some later ones, all hang together.
fn network(dice: &mut Dice) -> Layers {
    let count = 2 + dice.below(8);
    let layer = |index: usize, dice: &mut Dice| Layer {
        id: format!("n{index}"),
        name: if index > 0 && dice.below(9) == 0 { "__getitem__(0)".into() } else { "Linear".into() },
        // Some take no time, so that states tie.
        forward_s: dice.below(4) as f64,
        backward_s: dice.below(5) as f64 + dice.unit(),
        activation_bytes: dice.below(40) as f64,
        parameter_bytes: (dice.below(3) * dice.below(60)) as f64,
    };
    let layers = (0..count).map(|index| layer(index, dice)).collect();
    let mut edges = vec![];
    for to in 1..count {
        edges.push((to - 1 - dice.below(to.min(3)), to));
        if dice.below(3) == 0 {
            edges.push((dice.below(to), to));
        }
    }
    Layers { layers, edges }
}

fn request<'a>(layers: &'a Layers, dice: &mut Dice) -> Request<'a> {
    let level = |dice: &mut Dice| Level { machines: 1 + dice.below(4), bandwidth: 5.0 + dice.unit() * 60.0 };
    Request {
        layers,
        levels: (0..1 + dice.below(3)).map(|_| level(dice)).collect(),
        straight: dice.below(4) == 0,
        memory_bytes: (dice.below(3) == 0).then(|| 50.0 + dice.unit() * 800.0),
        activation_ratio: (dice.below(3) == 0).then(|| 0.5 + dice.unit()),
        fewer_machines: dice.below(4) == 0,
    }
}

/// The pace of a plan as somebody would work it out who was given only the plan.
fn pace(request: &Request, plan: &Partition) -> f64 {
    let states = states(request.layers).unwrap();
    let mut paces: Vec<(Range<usize>, f64)> =
        plan.levels.last().unwrap().iter().map(|piece| (piece.states.clone(), piece.compute_s)).collect();
    let mut within = 1.0;
    for (depth, (level, pieces)) in request.levels.iter().zip(plan.levels.iter().rev()).enumerate() {
        let outer = plan.levels.iter().rev().nth(depth + 1);
        for ((range, pace), piece) in paces.iter_mut().zip(pieces) {
            assert_eq!(*range, piece.states);
            let copies = piece.replicas as f64;
            let until = |figures: &[f64], end: usize| if end == 0 { 0.0 } else { figures[end - 1] };
            let learned =
                until(&states.parameter_bytes, range.end) - until(&states.parameter_bytes, range.start);
            let sync = 4.0 * (copies - 1.0) * learned / (level.bandwidth * copies);
            let is_first = outer.map_or(range.start == 0, |outer| {
                outer.iter().any(|piece| piece.states.start == range.start)
            });
            *pace = (*pace + if is_first { sync / within } else { sync }) / copies;
            if let Some(ratio) = request.activation_ratio.filter(|_| !is_first) {
                let hands =
                    |end: usize| 2.0 * states.handed_bytes[end - 1] / (level.bandwidth * copies) / ratio;
                *pace = pace.max(hands(range.start));
                if range.end < states.len() {
                    *pace = pace.max(hands(range.end));
                }
            }
        }
        let groups: Vec<Range<usize>> = match outer {
            Some(outer) => outer.iter().map(|piece| piece.states.clone()).collect(),
            None => std::iter::once(0..states.len()).collect(),
        };
        paces = groups
            .into_iter()
            .map(|group| {
                let inside =
                    paces.iter().filter(|(range, _)| group.start <= range.start && range.end <= group.end);
                let slowest = inside.map(|(_, pace)| *pace).fold(0.0, f64::max);
                (group, slowest)
            })
            .collect();
        within = level.machines as f64;
    }
    paces[0].1
}

#[test]
fn small_networks_give_what_the_plain_recurrences_give() {
    let mut dice = Dice::new(11);
    let (mut planned, mut refused, mut short) = (0, 0, 0);
    for round in 0..3000 {
        let layers = network(&mut dice);
        let request = request(&layers, &mut dice);
        let Ok(states) = states(&layers) else { continue };
        let plain = objective(&request, &states, Pieces::Sound);
        match partition(&request) {
            Ok(answer) => {
                planned += 1;
                let same = |one: f64, other: f64| (one - other).abs() <= 1e-12 * other.max(1.0);
                assert!(same(answer.objective, plain), "round {round}: {} for {plain}", answer.objective);
                let own = pace(&request, &answer.plan);
                assert!(
                    same(answer.objective, own),
                    "round {round}: {} of a plan with {own}",
                    answer.objective
                );
                assert!(answer.bound <= answer.objective, "round {round}");
                assert!(answer.bound > 0.0 || answer.objective == 0.0, "round {round}");
                let mut spread: Vec<usize> =
                    answer.plan.stages.iter().flat_map(|stage| stage.layers.clone()).collect();
                spread.sort_unstable();
                assert_eq!(spread, (0..layers.layers.len()).collect::<Vec<_>>(), "round {round}");
            }
            Err(refusal) => {
                refused += 1;
                assert!(plain.is_infinite(), "round {round}: {plain} was refused");
                if let Refusal::NoRoom { least_bytes, .. } = refusal {
                    short += 1;
                    let with = |bytes| Request { memory_bytes: Some(bytes), ..request.clone() };
                    assert!(
                        partition(&with(least_bytes)).is_ok(),
                        "round {round}: {least_bytes} is not enough"
                    );
                    assert!(
                        partition(&with(least_bytes - 1.0)).is_err(),
                        "round {round}: {least_bytes} is too much"
                    );
                }
            }
        }
    }
    assert!(
        planned > 2000 && refused > short && short > 10,
        "{planned} planned, {refused} refused, {short} of them short of memory"
    );
}

#[test]
fn the_bound_holds_by_itself() {
    // The search starts from it, so it is held against the plain recurrences here.
    let mut dice = Dice::new(12);
    for round in 0..2000 {
        let layers = network(&mut dice);
        let request = request(&layers, &mut dice);
        let Ok(states) = states(&layers) else { continue };
        let plain = objective(&request, &states, Pieces::Sound);
        let (bound, by) = bound::bound(&request, &states);
        assert!(bound <= plain * (1.0 + 1e-12), "round {round}: {bound} by {by} is above {plain}");
    }
}

#[test]
fn pieces_that_are_none_of_the_network_are_not_counted() {
    // The published code counts them inside a level. They can only look better, and do on odd networks; on none of
    // the profiles published with it do they matter.
    let mut dice = Dice::new(13);
    let mut differ = 0;
    for _ in 0..1000 {
        let layers = network(&mut dice);
        let request = request(&layers, &mut dice);
        let Ok(states) = states(&layers) else { continue };
        let (sound, any) =
            (objective(&request, &states, Pieces::Sound), objective(&request, &states, Pieces::Any));
        assert!(any <= sound);
        differ += u32::from(any < sound);
    }
    assert!((1..100).contains(&differ), "{differ} of 1000");
}

#[test]
fn groups_are_never_better_and_their_plans_are_plans_of_the_network() {
    let mut dice = Dice::new(14);
    for round in 0..1000 {
        let layers = network(&mut dice);
        let asked = Request { memory_bytes: None, straight: false, ..request(&layers, &mut dice) };
        let (Ok(fine), Ok(groups)) = (partition(&asked), group::chains(&layers)) else { continue };
        let coarse = partition(&Request { layers: &groups.layers, ..asked }).unwrap();
        assert!(coarse.objective >= fine.objective * (1.0 - 1e-12), "round {round}");
        assert!((coarse.plan.single_s - fine.plan.single_s).abs() < 1e-9, "round {round}");
        let stages = coarse.plan.stages.iter().flat_map(|stage| groups.spread(&stage.layers));
        let mut spread: Vec<usize> = stages.collect();
        spread.sort_unstable();
        assert_eq!(spread, (0..layers.layers.len()).collect::<Vec<_>>(), "round {round}");
    }
}

fn chain(times: &[f64]) -> Layers {
    let layer = |(index, &time): (usize, &f64)| Layer {
        id: format!("n{index}"),
        name: "Linear".into(),
        forward_s: time,
        backward_s: 0.0,
        activation_bytes: 10.0,
        parameter_bytes: 10.0 * time,
    };
    let edges = (1..times.len()).map(|to| (to - 1, to)).collect();
    Layers { layers: times.iter().enumerate().map(layer).collect(), edges }
}

fn plain_request(layers: &Layers, machines: usize) -> Request<'_> {
    Request {
        layers,
        levels: vec![Level { machines, bandwidth: 1e12 }],
        straight: false,
        memory_bytes: None,
        activation_ratio: None,
        fewer_machines: false,
    }
}

#[test]
fn a_chain_is_cut_where_it_balances() {
    let layers = chain(&[1.0, 2.0, 3.0, 1.0, 5.0]);
    let answer = partition(&Request { straight: true, ..plain_request(&layers, 3) }).unwrap();
    assert_eq!(answer.objective, 5.0);
    assert_eq!(answer.gap(), 0.0);
    assert_eq!(answer.bound_by, "the slowest layer");
    assert_eq!(answer.plan.single_s, 12.0);
    assert_eq!(answer.plan.stages.last().unwrap().layers, [4]);
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let layers = chain(&[1.0, 2.0, 3.0, 1.0, 5.0]);
    let asked = Request { straight: true, memory_bytes: Some(20.0), ..plain_request(&layers, 3) };
    let refusal = partition(&asked).unwrap_err();
    // Two minibatches of the first layer or one of the next two; the last stage keeps nothing.
    assert_eq!(refusal, Refusal::NoRoom { layer: "n0".into(), least_bytes: 40.0, bytes: 20.0 });
    assert!(refusal.to_string().contains("give 40 or allow replicas"), "{refusal}");
    assert!(partition(&Request { memory_bytes: Some(40.0), ..asked.clone() }).is_ok());
    assert!(partition(&Request { memory_bytes: Some(39.0), ..asked }).is_err());
}

#[test]
fn refusals_name_the_subject_and_the_remedy() {
    let layers = chain(&[1.0, 2.0]);
    let said = |change: &dyn Fn(&mut Request)| {
        let mut asked = plain_request(&layers, 2);
        change(&mut asked);
        partition(&asked).unwrap_err().to_string()
    };
    assert!(said(&|asked| asked.levels[0].machines = 0).contains("level 1 has no machines"));
    assert!(said(&|asked| asked.levels[0].machines = 5000).contains("arrange them in more levels"));
    assert!(said(&|asked| asked.levels[0].bandwidth = -1.0).contains("bandwidth of -1"));
    assert!(said(&|asked| asked.levels.clear()).contains("at least one level"));
    assert!(said(&|asked| asked.activation_ratio = Some(0.0)).contains("divided by 0"));
    assert!(said(&|asked| asked.memory_bytes = Some(f64::NAN)).contains("NaN bytes of memory"));
    let straight = said(&|asked| {
        asked.straight = true;
        asked.levels[0].machines = 3;
    });
    assert!(straight.contains("at most 2 stages, not 3"), "{straight}");
}

#[test]
fn the_deepest_search_that_is_allowed_stays_on_the_stack() {
    let layers = chain(&vec![1.0; MOST_MACHINES]);
    let answer = partition(&Request { straight: true, ..plain_request(&layers, MOST_MACHINES) }).unwrap();
    assert_eq!(answer.plan.stages.len(), MOST_MACHINES);
}
