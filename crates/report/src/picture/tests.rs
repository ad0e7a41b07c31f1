//! Pictures hold what they were given, and nothing that was named becomes markup.

use super::*;

fn bar(from_s: f64, to_s: f64, name: &str, group: usize) -> Bar {
    Bar { from_s, to_s, name: name.into(), group }
}

fn schedule() -> Lanes {
    let lane = |name: &str, bars| Lane { name: name.into(), bars };
    Lanes {
        title: "two <devices>".into(),
        lanes: vec![
            lane("a", vec![bar(0.0, 1.0, "F0", 0), bar(1.0, 2.0, "F1", 0)]),
            lane("b & c", vec![bar(1.0, 3.0, "B0", 1)]),
        ],
        groups: vec!["forward".into(), "backward".into()],
        mark: Some((2.5, "bound".into())),
    }
}

#[test]
fn lanes_say_what_each_bar_is() {
    let svg = lanes(&schedule());
    assert!(svg.starts_with("<svg xmlns") && svg.contains("two &lt;devices&gt;"), "{svg}");
    assert!(svg.contains("B0 (backward) on b &amp; c, from 1 s to 3 s"), "{svg}");
    assert!(svg.contains("bound: 2.5 s") && !svg.contains("<devices>"), "{svg}");
}

#[test]
fn many_lanes_are_cut_and_it_is_said() {
    let lane = |index: usize| Lane { name: index.to_string(), bars: vec![] };
    let many = Lanes { lanes: (0..1000).map(lane).collect(), ..schedule() };
    assert!(lanes(&many).contains("the first 256 of 1000"));
}

#[test]
fn the_slowest_link_is_marked() {
    let member = |name: &str, domain: &str| (name.to_string(), domain.to_string());
    let members = vec![member("n1", "l1"), member("n2", "l1"), member("n3", "l2")];
    let svg = ring(&Ring { title: "ring".into(), members, links: vec![5e9, 1e9, 2e9] });
    assert!(svg.contains("n2 to n3: 1 GB/s, the slowest") && svg.contains("3: n3 in l2"), "{svg}");
}

#[test]
fn parts_and_curves_say_their_names() {
    let svg = stacks(&Stacks {
        title: "time".into(),
        bars: vec![("dense".into(), vec![(0, 0.1), (1, 0.05)])],
        groups: vec!["compute".into(), "wait".into()],
        mark: Some((0.1, "bound".into())),
    });
    assert!(svg.contains("dense: wait 50 ms") && svg.contains("150 ms"), "{svg}");
    let svg = curves(&Curves {
        title: "time".into(),
        lines: vec![("ring".into(), vec![(1024.0, 1e-5), (1e6, 1e-3)])],
    });
    assert!(svg.contains("<title>ring</title>") && svg.contains("16 KiB"), "{svg}");
    let one = vec![("tree".into(), vec![(1e6, 1e-3)]), ("ring".into(), vec![(1e6, 2e-3)])];
    let svg = curves(&Curves { title: "time".into(), lines: one });
    assert!(svg.contains("<title>tree</title>") && svg.contains("<title>ring</title>"), "{svg}");
}

#[test]
fn nothing_to_draw_is_drawn() {
    let none = || vec![];
    lanes(&Lanes { title: String::new(), lanes: vec![], groups: none(), mark: None });
    ring(&Ring { title: String::new(), members: vec![], links: vec![] });
    curves(&Curves { title: String::new(), lines: vec![] });
    stacks(&Stacks { title: String::new(), bars: vec![], groups: none(), mark: None });
}
