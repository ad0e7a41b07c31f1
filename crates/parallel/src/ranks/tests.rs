use super::export::{Form, write};
use super::*;
use crate::dice::Dice;
use crate::fabric::{self, Fabric};

/// A random table; every speed one of a few, so that there are ties, or any.
fn table(count: usize, symmetric: bool, classes: bool, dice: &mut Dice) -> Vec<Vec<f64>> {
    let mut table = vec![vec![0.0; count]; count];
    for from in 0..count {
        for to in (0..count).filter(|&to| to != from) {
            let speed = match classes {
                true => [5.0, 10.0, 25.0, 50.0, 100.0][dice.below(5)],
                false => 1.0 + 99.0 * dice.unit(),
            };
            table[from][to] = if symmetric && to < from { table[to][from] } else { speed };
        }
    }
    table
}

/// The best slowest link and time around, by trying all orders.
fn by_trying(table: &[Vec<f64>]) -> (f64, f64) {
    fn grow(table: &[Vec<f64>], order: &mut Vec<usize>, best: &mut (f64, f64)) {
        if order.len() == table.len() {
            let (slow, around) = figures(order, |from, to| table[from][to]);
            if slow > best.0 || (slow == best.0 && around < best.1) {
                *best = (slow, around);
            }
            return;
        }
        for next in 1..table.len() {
            if !order.contains(&next) {
                order.push(next);
                grow(table, order, best);
                order.pop();
            }
        }
    }
    let mut best = (0.0, f64::INFINITY);
    grow(table, &mut vec![0], &mut best);
    best
}

fn is_order(order: &[usize], count: usize) -> bool {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().eq(0..count)
}

#[test]
fn exhaustive_search_is_the_best_of_all_orders() {
    let mut dice = Dice::new(1);
    for round in 0..120 {
        let count = 2 + round % 7;
        let table = table(count, round % 2 == 0, round % 3 > 0, &mut dice);
        let (slow, around) = by_trying(&table);
        let found = ring(&table, None).unwrap();
        assert!(is_order(&found.plan.order, count));
        assert_eq!((found.objective, found.bound), (slow, slow));
        assert!((found.plan.around_s - around).abs() <= 1e-12 * around, "{table:?}");
    }
}

#[test]
fn bounds_are_never_beaten_and_the_search_is_near_the_best() {
    let mut dice = Dice::new(2);
    let (mut same, mut rounds) = (0, 0);
    for round in 0..60 {
        let count = 4 + round % 11;
        let table = table(count, round % 2 == 0, round % 3 > 0, &mut dice);
        let best = ring(&table, None).unwrap();
        let ceiling = bound::bottleneck(&table).unwrap();
        assert!(ceiling.value >= best.objective, "{table:?}");
        assert!(bound::around(&table, best.objective) <= best.plan.around_s, "{table:?}");
        let (order, _) = search::ring(&table, ceiling.value, None);
        assert!(is_order(&order, count));
        let (slow, around) = figures(&order, |from, to| table[from][to]);
        assert!(slow <= best.objective);
        rounds += 1;
        same += usize::from(slow == best.objective && around <= best.plan.around_s * 1.000_001);
    }
    assert!(same * 100 >= rounds * 95, "{same} of {rounds}");
}

#[test]
fn hosts_without_a_way_around_are_refused() {
    let mut broken = vec![vec![0.0; 3]; 3];
    assert_eq!(ring(&broken, None), Err(Refusal::DeadEnd(0)));
    (broken[0][1], broken[1][0], broken[1][2], broken[2][1]) = (1.0, 1.0, 1.0, 1.0);
    assert_eq!(ring(&broken, None), Err(Refusal::NoRing));
    assert_eq!(ring(&[], None), Err(Refusal::Table(0)));
    assert_eq!(ring(&[vec![1.0, 2.0], vec![1.0]], None), Err(Refusal::Table(2)));
    // Two halves of nine that one host joins.
    let mut halves = vec![vec![0.0; 19]; 19];
    for one in 0..19 {
        for other in (0..19).filter(|&other| other != one) {
            let same = one == 18 || other == 18 || (one < 9) == (other < 9);
            halves[one][other] = if same { 10.0 } else { 0.0 };
        }
    }
    assert_eq!(ring(&halves, None), Err(Refusal::NoRing));
}

/// A tree with hosts in a random order.
fn tree(pods: usize, leaves: usize, hosts: usize, dice: &mut Dice) -> Fabric {
    let mut lines = vec![];
    for host in 0..pods * leaves * hosts {
        let (leaf, pod) = (host % (pods * leaves), host % pods);
        lines.push(format!("  - {{name: n{host}, domains: {{pod: p{pod}, leaf: l{leaf}}}}}\n"));
    }
    for at in (1..lines.len()).rev() {
        lines.swap(at, dice.below(at + 1));
    }
    let levels = "levels: [{name: top, bandwidth: 10GB/s}, {name: pod, bandwidth: 25GB/s}, {name: leaf, bandwidth: 50GB/s}]";
    fabric::read(&format!("{levels}\nhosts:\n{}", lines.concat())).unwrap()
}

#[test]
fn a_tree_is_walked_domain_by_domain_and_that_is_the_best() {
    let mut dice = Dice::new(3);
    for (pods, leaves, hosts) in [(2, 2, 2), (1, 3, 3), (2, 1, 4), (3, 1, 1), (2, 3, 2), (1, 1, 5), (2, 2, 3)]
    {
        let fabric = tree(pods, leaves, hosts, &mut dice);
        let found = plan(&fabric, &Wish::default()).unwrap();
        let best = ring(&fabric.matrix(), None).unwrap();
        assert_eq!((found.objective, found.bound), (best.objective, best.objective));
        let Plan { planned, around_bound_s, .. } = &found.plan;
        assert!((planned.around_s - best.plan.around_s).abs() <= 1e-12 * planned.around_s);
        assert!((planned.around_s - around_bound_s).abs() <= 1e-12 * planned.around_s);
    }
}

#[test]
fn a_large_tree_reaches_its_bound_and_beats_the_order_of_names() {
    let fabric = tree(4, 4, 16, &mut Dice::new(4));
    let found = plan(&fabric, &Wish { tensor: Some(8), ..Wish::default() }).unwrap();
    let Plan { planned, by_name, around_bound_s, groups, .. } = &found.plan;
    assert!(planned.around_s <= around_bound_s * (1.0 + 1e-12));
    assert!(planned.around_s < by_name.around_s / 2.0);
    let data = groups.iter().find(|group| group.kind == "data").unwrap();
    let top = &data.crossings[0];
    assert_eq!((top.level.as_str(), top.planned), ("top", 8 * 4));
    assert!(top.by_name > 10 * top.planned);
    assert_eq!(groups[0].crossings.len(), 1, "tensor groups stay inside islands: {:?}", groups[0]);
}

#[test]
fn measured_pairs_change_the_order() {
    let text = "hosts: [{name: 'n{}', count: 4, devices: 1}]
measured: [{between: [n1, n2], bandwidth: 1GB/s}, {between: [n3, n4], bandwidth: 1GB/s}]";
    let found = plan(&fabric::read(text).unwrap(), &Wish::default()).unwrap();
    let names: Vec<&str> = found.plan.hosts.iter().map(|seat| seat.host.as_str()).collect();
    assert_eq!(names, ["n1", "n3", "n2", "n4"]);
    assert_eq!((found.objective, found.plan.by_name.bottleneck), (50e9, 1e9));
}

#[test]
fn stages_begin_where_rings_close_best() {
    // Leaves of 1, 4 and 3 hosts: stages of 4 fit if the ring is turned by one.
    let text = "levels: [top, leaf]
hosts: [{name: a1, domains: {leaf: a}}, {name: 'b{}', count: 4, domains: {leaf: b}}, {name: 'c{}', count: 3, domains: {leaf: c}}]";
    let wish = Wish { pipeline: Some(2), ..Wish::default() };
    let found = plan(&fabric::read(text).unwrap(), &wish).unwrap();
    let names: Vec<&str> = found.plan.hosts.iter().map(|seat| seat.host.as_str()).collect();
    assert_eq!(names, ["b1", "b2", "b3", "b4", "c1", "c2", "c3", "a1"]);
}

#[test]
fn one_host_is_a_ring_inside_itself() {
    let found = plan(&fabric::read("hosts: [{name: a}]").unwrap(), &Wish::default()).unwrap();
    assert_eq!((found.objective, found.bound, found.plan.hosts[0].to_next), (450e9, 450e9, 450e9));
    let two = fabric::read("hosts: [{name: a, devices: 8, island: 4}]").unwrap();
    assert_eq!(plan(&two, &Wish::default()).unwrap().objective, 64e9);
}

#[test]
fn launchers_get_what_they_read() {
    let text = "levels: [top, leaf]
hosts: [{name: 'n{}', count: 4, devices: 2, domains: {leaf: x}}, {name: m, devices: 2, domains: {leaf: y}}]";
    let found = plan(&fabric::read(text).unwrap(), &Wish::default()).unwrap().plan;
    assert!(write(&found, Form::Hostfile).starts_with("m slots=2\nn1 slots=2\n"));
    assert!(
        write(&found, Form::Rankfile).starts_with("rank 0=m slot=0\nrank 1=m slot=1\nrank 2=n1 slot=0\n")
    );
    assert!(write(&found, Form::Slurm).starts_with("m\nm\nn1\nn1\n"));
    assert!(write(&found, Form::Torchrun).ends_with("m 0\nn1 1\nn2 2\nn3 3\nn4 4\n"));
    assert_eq!(write(&found, Form::Slurm).lines().count(), 10);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let mut dice = Dice::new(9);
    let table = table(30, false, false, &mut dice);
    let shown = || serde_json::to_string(&ring(&table, None).unwrap()).unwrap();
    assert_eq!(shown(), shown());
}
