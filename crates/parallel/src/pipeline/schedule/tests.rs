//! Orders, times and bounds beside slower and simpler ways to the same answers.

mod best;
mod naive;

use super::*;
use crate::dice::Dice;

/// All schedules, with several numbers of parts.
pub(super) const ALL: [Schedule; 7] = [
    Schedule::GPipe,
    Schedule::OneForwardOneBackward,
    Schedule::Interleaved { chunks: 2 },
    Schedule::Interleaved { chunks: 3 },
    Schedule::ZeroBubbleH1,
    Schedule::ZeroBubbleH2,
    Schedule::ZeroBubbleV,
];

/// A pipe of unlike parts, with delays and exchanges.
fn unlike(dice: &mut Dice, devices: usize, microbatches: usize, chunks: usize) -> Pipe {
    let count = devices * chunks;
    let mut times = |most: f64| (dice.unit() * most * 64.0).floor() / 64.0;
    Pipe {
        devices,
        microbatches,
        parts: (0..count)
            .map(|_| Times {
                forward_s: 0.1 + times(2.0),
                backward_s: 0.1 + times(2.0),
                weight_s: times(2.0),
            })
            .collect(),
        send_s: (1..count).map(|_| times(0.5)).collect(),
        after_s: (0..devices).map(|_| times(1.5)).collect(),
    }
}

/// A pipe that this schedule takes.
fn for_schedule(dice: &mut Dice, schedule: Schedule, devices: usize, most: usize) -> Pipe {
    let microbatches = match schedule {
        Schedule::Interleaved { .. } => devices * (1 + dice.below(most.div_ceil(devices))),
        _ => 1 + dice.below(most),
    };
    unlike(dice, devices, microbatches, schedule.chunks())
}

#[test]
fn times_equal_those_of_a_naive_simulator() {
    let mut dice = Dice::new(11);
    for round in 0..1400 {
        let schedule = ALL[round % ALL.len()];
        let devices = 1 + dice.below(5);
        let pipe = for_schedule(&mut dice, schedule, devices, 9);
        let orders = order(schedule, &pipe).unwrap();
        let played = play(&orders, &pipe).unwrap();
        let (spans, makespan_s) = naive::relax(&orders, &pipe);
        assert!((played.makespan_s - makespan_s).abs() < 1e-9, "{schedule} {pipe:?}");
        for (mine, naive) in played.devices.iter().flatten().zip(spans.iter().flatten()) {
            assert!((mine.from_s - naive.0).abs() < 1e-9 && (mine.to_s - naive.1).abs() < 1e-9);
        }
        assert_eq!(makespan(&orders, &pipe), Ok(played.makespan_s));
        assert!(bound(&pipe) <= played.makespan_s + 1e-9, "{schedule} {pipe:?}");
    }
}

#[test]
fn any_order_that_can_be_played_is_played_as_naively() {
    let mut dice = Dice::new(12);
    let (mut played_well, mut blocked) = (0, 0);
    for round in 0..900 {
        let schedule = ALL[round % ALL.len()];
        let devices = 1 + dice.below(3);
        let pipe = for_schedule(&mut dice, schedule, devices, 4);
        let mut orders = order(schedule, &pipe).unwrap();
        for _ in 0..1 + dice.below(4) {
            let device = dice.below(pipe.devices);
            let at = dice.below(orders[device].len() - 1);
            orders[device].swap(at, at + 1);
        }
        match play(&orders, &pipe) {
            Ok(played) => {
                let (_, makespan_s) = naive::relax(&orders, &pipe);
                assert!((played.makespan_s - makespan_s).abs() < 1e-9, "{orders:?} {pipe:?}");
                played_well += 1;
            }
            Err(Refusal::Blocked { device, action, .. }) => {
                assert!(orders[device].contains(&action));
                assert!(naive::is_blocked(&orders, &pipe), "{orders:?} {pipe:?}");
                blocked += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(played_well > 100 && blocked > 100, "{played_well} {blocked}");
}

#[test]
fn a_fitted_order_is_never_worse_and_never_holds_more() {
    let mut dice = Dice::new(13);
    let (mut published_sum, mut fitted_sum, mut bound_sum) = ([0.0; 7], [0.0; 7], [0.0; 7]);
    for round in 0..140 {
        let schedule = ALL[round % ALL.len()];
        let devices = 1 + dice.below(5);
        let pipe = for_schedule(&mut dice, schedule, devices, 12);
        let published = play(&order(schedule, &pipe).unwrap(), &pipe).unwrap();
        let answer = fitted(schedule, &pipe).unwrap();
        let found = play(&answer.plan, &pipe).unwrap();
        assert_eq!(found.makespan_s, answer.objective);
        assert!(found.makespan_s <= published.makespan_s && answer.bound <= found.makespan_s + 1e-9);
        assert!(found.held.iter().zip(&published.held).all(|(found, limit)| found <= limit), "{pipe:?}");
        let at = round % ALL.len();
        published_sum[at] += published.makespan_s;
        fitted_sum[at] += found.makespan_s;
        bound_sum[at] += answer.bound;
    }
    for (at, schedule) in ALL.iter().enumerate() {
        let part = |sums: [f64; 7]| sums[at] / bound_sum[at];
        println!(
            "{schedule}: published {:.3}, fitted {:.3} of the bound",
            part(published_sum),
            part(fitted_sum)
        );
    }
}

#[test]
fn what_cannot_be_run_is_refused_in_a_sentence() {
    let times = Times { forward_s: 1.0, backward_s: 1.0, weight_s: 1.0 };
    let refused = |schedule, pipe: Pipe| order(schedule, &pipe).unwrap_err().to_string();
    let interleaved = Schedule::Interleaved { chunks: 2 };
    assert_eq!(
        refused(interleaved, Pipe::even(4, 6, 2, times, 0.0)),
        "interleaving needs a multiple of 4 microbatches, one for each device; 8 would do instead of 6"
    );
    assert_eq!(
        refused(interleaved, Pipe::even(4, 8, 1, times, 0.0)),
        "there are 4 parts; this schedule needs 8"
    );
    assert_eq!(
        refused(Schedule::GPipe, Pipe::even(0, 8, 1, times, 0.0)),
        "a pipeline needs a device, a part on each and a microbatch; give at least one of each"
    );
    for schedule in ALL {
        let chunks = schedule.chunks();
        assert!(order(schedule, &Pipe::even(2, 0, chunks, times, 0.0)).is_err());
        for wrong in [f64::NAN, -1.0, f64::INFINITY, 1e300] {
            let mut pipe = Pipe::even(2, 2, chunks, times, 0.0);
            pipe.parts[1].weight_s = wrong;
            let refusal = order(schedule, &pipe).unwrap_err();
            assert!(matches!(refusal, Refusal::Time { .. }), "{refusal}");
            assert!(order(schedule, &Pipe::even(2, 2, chunks, times, wrong)).is_err());
            assert_eq!(bound(&pipe), 0.0);
        }
        let large = Pipe::even(2000, 4000, chunks, times, 0.0);
        assert!(matches!(order(schedule, &large), Err(Refusal::TooLarge { .. })));
        let huge = Pipe { devices: usize::MAX, microbatches: usize::MAX, ..Pipe::default() };
        assert!(matches!(order(schedule, &huge), Err(Refusal::TooLong { .. })));
    }
    assert!(order(Schedule::Interleaved { chunks: 0 }, &Pipe::even(2, 2, 0, times, 0.0)).is_err());
}

#[test]
fn orders_that_are_not_whole_are_refused() {
    let times = Times { forward_s: 1.0, backward_s: 1.0, weight_s: 1.0 };
    let pipe = Pipe::even(2, 2, 1, times, 0.0);
    let orders = order(Schedule::ZeroBubbleH1, &pipe).unwrap();
    let played = |change: fn(&mut Vec<Vec<Action>>)| {
        let mut orders = orders.clone();
        change(&mut orders);
        play(&orders, &pipe).unwrap_err().to_string()
    };
    assert_eq!(
        played(|orders| orders[0].reverse()),
        "device 0 stops at the weight gradient of part 0 on microbatch 1, since the backward of part 0 on microbatch 1 \
         never comes; move it behind"
    );
    assert_eq!(
        played(|orders| orders[1]
            .retain(|action| *action != Action { work: Work::Forward, part: 1, microbatch: 0 })),
        "no device does the forward of part 1 on microbatch 0; add it"
    );
    assert_eq!(
        played(|orders| orders[1].push(Action { work: Work::Forward, part: 1, microbatch: 1 })),
        "duplicate forward of part 1 on microbatch 1; remove one"
    );
    assert_eq!(
        played(|orders| orders[1].push(Action { work: Work::Forward, part: 0, microbatch: 1 })),
        "part 0 is on devices 0 and 1; give all its work to one of them"
    );
    assert_eq!(
        played(|orders| orders[1].push(Action { work: Work::Forward, part: 2, microbatch: 1 })),
        "device 1 does the forward of part 2 on microbatch 1, which this pipeline does not have; leave it out"
    );
    assert_eq!(played(|orders| orders.truncate(1)), "there are 1 orders; this schedule needs 2");
}

#[test]
fn names_are_those_that_people_type() {
    let names: Vec<String> = ALL.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["gpipe", "1f1b", "interleaved", "interleaved", "zb-h1", "zb-h2", "zb-v"]);
    assert_eq!(serde_json::to_string(&Schedule::ZeroBubbleV).unwrap(), "\"zb-v\"");
    assert_eq!(
        serde_json::to_string(&Schedule::Interleaved { chunks: 2 }).unwrap(),
        "{\"interleaved\":{\"chunks\":2}}"
    );
}
