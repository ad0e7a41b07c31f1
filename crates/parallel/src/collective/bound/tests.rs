use super::*;
use crate::collective::cost;
use crate::collective::tiers::{Exit, Tiers, tests::host};
use crate::collective::wires;
use crate::dice::Dice;
use crate::fabric::{Fabric, Level, Link};

fn link(dice: &mut Dice) -> Link {
    Link { bandwidth: 1e9 + dice.unit() * 4e11, latency_s: dice.unit() * 2e-5 }
}

/// Hosts in leaves on a spine, alike or not.
fn random(dice: &mut Dice) -> Fabric {
    let (island, alike) = (1 + dice.below(4) as u32, dice.unit() < 0.5);
    let (leaves, devices) = (1 + dice.below(3), island * (1 + dice.below(3) as u32));
    let uplink = |dice: &mut Dice| (dice.unit() < 0.5).then(|| 1e9 + dice.unit() * 1e11);
    let levels = vec![
        Level { name: "spine".into(), link: link(dice), uplink: None },
        Level { name: "leaf".into(), link: link(dice), uplink: uplink(dice) },
    ];
    let mut hosts = vec![];
    for index in 0..2 + dice.below(6) {
        let leaf = format!("l{}", if alike { index % leaves } else { dice.below(leaves) });
        let more = if alike { devices } else { island * (1 + dice.below(3) as u32) };
        hosts.push(host(&format!("h{index}"), &[&leaf], more, island));
    }
    let count = hosts.len();
    let measured = (dice.unit() < 0.3)
        .then(|| (0..count).map(|_| (0..count).map(|_| 1e9 + dice.unit() * 1e11).collect()).collect());
    Fabric { levels, node: link(dice), island: link(dice), hosts, measured }
}

#[test]
fn no_algorithm_beats_the_bound_of_its_fabric() {
    let mut dice = Dice::new(17);
    let mut tight = [f64::INFINITY; 5];
    for round in 0..600 {
        let fabric = random(&mut dice);
        let tiers = Tiers::of(&fabric).unwrap();
        let bounds = Bounds::of(&wires::of(&fabric), tiers.floor_s).unwrap();
        compare(&tiers, &bounds, &mut tight, &format!("{round} {fabric:?}"));
    }
    // A bound that is never near anything would be worth nothing.
    assert!(tight.iter().all(|&ratio| ratio < 1.6), "{tight:?}");
}

#[test]
fn no_algorithm_beats_the_bound_of_its_tiers() {
    let (mut dice, mut tight) = (Dice::new(23), [f64::INFINITY; 5]);
    for _ in 0..300 {
        let exit = if dice.unit() < 0.5 { Exit::Rail } else { Exit::Shared };
        let node = 1 + dice.below(8) as u32;
        let tiers =
            Tiers::hosts(node * (2 + dice.below(6) as u32), node, link(&mut dice), link(&mut dice), exit);
        let tiers = tiers.unwrap();
        let bounds = Bounds::of(&wires::of_tiers(&tiers), tiers.floor_s).unwrap();
        compare(&tiers, &bounds, &mut tight, &format!("{tiers:?}"));
    }
    assert!(tight.iter().all(|&ratio| ratio < 1.6), "{tight:?}");
}

fn compare(tiers: &Tiers, bounds: &Bounds, tight: &mut [f64; 5], what: &str) {
    for operation in Operation::ALL {
        for power in [0, 10, 20, 30, 36] {
            let bytes = libm::exp2(f64::from(power));
            let (bound, why) = bounds.time(operation, bytes);
            assert!(bound > 0.0 && !why.is_empty());
            for (algorithm, time) in tiers.times(operation, bytes) {
                assert!(
                    time >= bound * (1.0 - 1e-9),
                    "{algorithm:?} {operation:?} {time} {bound} {why} {what}"
                );
                tight[operation as usize] = tight[operation as usize].min(time / bound);
            }
        }
    }
}

#[test]
fn ranks_that_are_alike_have_the_bound_of_the_closed_form() {
    let link = Link { bandwidth: 25e9, latency_s: 5e-6 };
    let tiers = Tiers::flat(12, link).unwrap();
    let bounds = Bounds::of(&wires::of_tiers(&tiers), tiers.floor_s).unwrap();
    for operation in Operation::ALL {
        let small = cost::bound(operation, 12, 1.0, link);
        assert_eq!(bounds.time(operation, 1.0).0, small);
        let free = cost::bound(operation, 12, 1e9, Link { latency_s: 0.0, ..link });
        assert!((bounds.time(operation, 1e9).0 - free).abs() < 1e-12 * free, "{operation:?}");
    }
    assert!((bounds.halves(1e9) - 2.0 * 11.0 / 12.0 * 1e9 / 25e9).abs() < 1e-12);
}

#[test]
fn one_slow_host_holds_up_an_all_reduce_less_than_both_halves() {
    // Rank 0 has 1, the others 100: a tree with rank 0 as a leaf takes bytes / 1, both halves nearly twice that.
    let names = (0..5).map(|vertex| format!("v{vertex}")).collect();
    let mut wires = Wires { ranks: 4, names, ..Wires::default() };
    for rank in 0..4 {
        let speed = if rank == 0 { 1.0 } else { 100.0 };
        wires.links.extend([(rank, 4, speed), (4, rank, speed)]);
    }
    let groups = (0..4).map(|rank| vec![rank]).collect();
    wires.divisions.push(cut::Division { name: "ranks".into(), groups });
    let bounds = Bounds::of(&wires, 0.0).unwrap();
    assert_eq!(bounds.time(Operation::AllReduce, 1.0), (1.0, "links of v0"));
    assert_eq!(bounds.halves(1.0), 1.5);
}
