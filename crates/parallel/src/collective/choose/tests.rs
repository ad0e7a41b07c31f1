use super::*;
use crate::collective::nccl::Generation;
use crate::collective::tiers::{Exit, Tiers};
use crate::fabric::Link;

fn with<T>(tiers: &Tiers, per_node: u32, ask: impl FnOnce(&Ground) -> T) -> T {
    let nodes = tiers.ranks() / per_node;
    ask(&Ground::of_tiers(tiers.clone(), nodes, Some(Generation::Hopper)).unwrap())
}

fn flat() -> Tiers {
    Tiers::flat(16, Link { bandwidth: 25e9, latency_s: 5e-6 }).unwrap()
}

#[test]
fn ranges_meet_at_the_byte_where_the_best_changes() {
    let tiers = flat();
    let plan = with(&tiers, 16, |ground| plan(ground, Operation::AllReduce, &usual_sizes()).unwrap().plan);
    assert_eq!((plan.ranges[0].from_bytes, plan.ranges.last().unwrap().to_bytes), (0, None));
    for pair in plan.ranges.windows(2) {
        let border = pair[0].to_bytes.unwrap();
        assert_eq!(border + 1, pair[1].from_bytes);
        let best = |bytes: u64| tiers.best(Operation::AllReduce, bytes as f64).0;
        assert_eq!((best(border), best(border + 1)), (pair[0].algorithm, pair[1].algorithm));
    }
    let order: Vec<_> = plan.ranges.iter().map(|range| range.algorithm).collect();
    assert_eq!(order, [Algorithm::RecursiveDoubling, Algorithm::Rabenseifner]);
    for priced in &plan.sizes {
        let range = plan
            .ranges
            .iter()
            .find(|range| (range.from_bytes..=range.to_bytes.unwrap_or(u64::MAX)).contains(&priced.bytes));
        assert_eq!(range.unwrap().algorithm, priced.best);
    }
}

#[test]
fn several_changes_between_two_powers_of_two_are_all_found() {
    let found = ranges(|bytes| (bytes >= 70) as u8 + (bytes >= 90) as u8);
    assert_eq!(found, [(0, Some(69), 0), (70, Some(89), 1), (90, None, 2)]);
}

#[test]
fn a_tuner_file_has_ten_columns_and_no_gaps() {
    let (inside, between) =
        (Link { bandwidth: 400e9, latency_s: 2e-6 }, Link { bandwidth: 50e9, latency_s: 8e-6 });
    let tiers = Tiers::hosts(128, 8, inside, between, Exit::Rail).unwrap();
    let text = with(&tiers, 8, |ground| tuner(ground, Operation::AllReduce).unwrap());
    let mut next = 0u64;
    let mut reached = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split(',').collect();
        assert_eq!(
            (words.len(), words[0], &words[5..]),
            (10, "allreduce", &["-1", "16", "128", "-1", "-1"][..])
        );
        assert_eq!(words[1].parse(), Ok(next));
        let to: u64 = words[2].parse().unwrap();
        reached = to == u64::MAX;
        next = to.wrapping_add(1);
    }
    assert!(reached && text.lines().count() > 1, "{text}");
    let refused = with(&tiers, 8, |ground| tuner(ground, Operation::AllToAll));
    assert!(refused.unwrap_err().to_string().contains("all-to-all"));
}

#[test]
fn absurd_sizes_are_refused() {
    let said = |sizes: &[u64]| {
        with(&flat(), 16, |ground| plan(ground, Operation::AllReduce, sizes).unwrap_err().to_string())
    };
    assert!(said(&[0]).contains("a message of 0 bytes"));
    assert!(said(&[1 << 50]).contains("1 TiB"));
    assert!(said(&[]).contains("0 sizes"));
}
