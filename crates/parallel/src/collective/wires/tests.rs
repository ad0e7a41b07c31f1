use super::*;
use crate::collective::cut;
use crate::collective::tiers::tests::{fabric, host};

#[test]
fn one_device_stands_for_all_that_are_alike() {
    let alike = of(&fabric());
    assert_eq!((alike.ranks, &alike.typical[..]), (32, &[0][..]));
    let mut odd = fabric();
    odd.hosts[3] = host("d", &["l2"], 4, 4);
    assert_eq!(of(&odd).typical.len(), 3);
    odd.measured = Some(vec![vec![1e9; 4]; 4]);
    assert_eq!(of(&odd).typical.len(), 4);
}

#[test]
fn standing_for_others_changes_no_cut() {
    let mut odd = fabric();
    odd.hosts[3] = host("d", &["l2"], 4, 4);
    for fabric in [fabric(), odd] {
        let wires = of(&fabric);
        let all = Wires { typical: vec![], ..wires.clone() };
        let (few, all) = (cut::narrowest(&wires).unwrap(), cut::narrowest(&all).unwrap());
        assert_eq!(few.inv_x, all.inv_x);
        assert!(few.flows < all.flows);
    }
}

#[test]
fn the_narrow_way_out_of_a_leaf_is_the_cut() {
    let cut = cut::narrowest(&of(&fabric())).unwrap();
    assert_eq!((cut.ranks_inside, cut.out), (16, 60e9));
}

#[test]
fn groups_cover_every_rank_once() {
    for division in &of(&fabric()).divisions {
        let mut ranks: Vec<usize> =
            division.groups.iter().flatten().copied().filter(|&vertex| vertex < 32).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, (0..32).collect::<Vec<_>>());
    }
}
