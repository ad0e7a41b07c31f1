use super::*;

const TWO: &str = "levels:
  - {name: spine, bandwidth: 100Gb/s, latency: 5us}
  - {name: leaf, bandwidth: 400Gb/s, latency: 2us, uplink: 1600Gb/s}
node: {bandwidth: 64GB/s, latency: 1us}
island: {bandwidth: 450GB/s, latency: 1us, devices: 4}
hosts:
  - {name: 'node{}', count: 4, from: 1, devices: 8, kind: h100, domains: {leaf: {name: 'l{}', every: 2}}}
measured:
  - {between: [node1, node2], bandwidth: 380Gb/s}
  - {from: node1, to: node3, bandwidth: 40Gb/s}
";

fn said(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn everything_that_can_be_written() {
    let fabric = read(TWO).unwrap();
    assert_eq!(fabric.levels[1].uplink, Some(200e9));
    assert_eq!(fabric.hosts[3].domains, ["l2"]);
    assert_eq!((fabric.hosts[0].devices, fabric.hosts[0].island), (8, 4));
    let speed = |from, to| fabric.between(from, to).bandwidth;
    assert_eq!(
        [speed(0, 1), speed(1, 0), speed(0, 2), speed(2, 0), speed(2, 3)],
        [47.5e9, 47.5e9, 5e9, 12.5e9, 50e9]
    );
    assert_eq!(fabric.between(0, 2).latency_s, 5e-6);
    assert_eq!(fabric.inside(0, 0, 3), fabric.island);
    assert_eq!(fabric.inside(0, 3, 4), fabric.node);
    assert!(!fabric.is_tree());
    assert_eq!(fabric.matrix()[0], [0.0, 47.5e9, 5e9, 12.5e9]);
}

#[test]
fn most_may_be_left_out() {
    let fabric = read("hosts: [{name: a}, {name: b, devices: 2}]").unwrap();
    assert_eq!(fabric.levels[0].name, "network");
    assert_eq!((fabric.hosts[0].devices, fabric.hosts[1].island), (8, 2));
    let fabric = read("levels: [core, pod]\nhosts: [{names: [a, b], domains: {pod: p1}}]").unwrap();
    assert_eq!((fabric.told(0).bandwidth, fabric.told(1).bandwidth), (25e9, 50e9));
    assert!(fabric.is_tree());
}

#[test]
fn a_narrow_uplink_is_what_is_left() {
    let text = "levels: [{name: spine, bandwidth: 40GB/s}, {name: leaf, uplink: 10GB/s}]
hosts: [{name: 'n{}', count: 2, domains: {leaf: {name: 'l{}', every: 1}}}]";
    assert_eq!(read(text).unwrap().between(0, 1).bandwidth, 10e9);
}

#[test]
fn only_some_hosts_in_another_order() {
    let fabric = read(TWO).unwrap();
    let some = fabric.only(&["node3".into(), "node1".into()]).unwrap();
    assert_eq!(some.between(1, 0).bandwidth, 5e9);
    assert_eq!(fabric.only(&["x".into()]), Err(Flaw::Unknown("x".into())));
    assert_eq!(fabric.only(&["node1".into(), "node1".into()]), Err(Flaw::HostTwice("node1".into())));
}

#[test]
fn fewer_devices_of_each_host() {
    let fabric = read(TWO).unwrap();
    let two = fabric.with_devices(2).unwrap();
    assert_eq!((two.devices(), two.hosts[0].island), (8, 2));
    assert_eq!(fabric.with_devices(9), Err(Flaw::Fewer("node1".into(), 8, 9)));
    assert_eq!(fabric.with_devices(6), Err(Flaw::Island("node1".into(), 6, 4)));
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    let cases = [
        ("hosts: []", "no hosts"),
        ("hosts: [{name: a}, {name: a}]", "duplicate host a"),
        ("levels: [x, x]\nhosts: [{name: a, domains: {x: b}}]", "duplicate level x"),
        ("levels: [x, y]\nhosts: [{name: a}]", "missing domain at level `y`"),
        (
            "levels: [{name: x, bandwidth: 0Gb/s}]\nhosts: [{name: a}]",
            "`bandwidth` is `0Gb/s`, expected a bandwidth above zero",
        ),
        ("levels: [{name: x, uplink: 1Gb/s}]\nhosts: [{name: a}]", "so that it has no uplink"),
        ("hosts: [{name: 'n{}', count: 200000}]", "`count` is `200000`"),
        ("hosts: [{name: a, devices: 6, island: 4}]", "islands of 4 do not divide the 6 devices of host a"),
        ("hosts: [{name: a}]\nmeasured: [{between: [a, b], bandwidth: 1Gb/s}]", "unknown host b"),
        ("hosts: [{name: a}]\nmeasured: [{between: [a, a], bandwidth: 1Gb/s}]", "a pair of a with itself"),
        ("hosts: [{name: a, device: 8}]", "did you mean `devices`?"),
        (
            "levels: [s, pod, leaf]\nhosts: [{name: a, domains: {pod: p, leaf: l}}, {name: b, domains: {pod: q, leaf: l}}]",
            "leaf l is in pod p and in pod q",
        ),
    ];
    for (text, expected) in cases {
        assert!(said(text).contains(expected), "{text}: {}", said(text));
    }
    assert!(said(&TWO.replace("40Gb/s", "40")).starts_with(":10:"), "{}", said(&TWO.replace("40Gb/s", "40")));
    let twice = TWO.replace("to: node3", "to: node2");
    assert!(said(&twice).contains("duplicate measurement from node1 to node2"));
}

#[test]
fn the_example_in_the_documentation_is_read() {
    let text = include_str!("../../../../../docs/files.md");
    let (_, example) = text.split_once("```topology.yaml\n").unwrap();
    let fabric = read(example.split("```").next().unwrap()).unwrap();
    assert_eq!((fabric.hosts.len(), fabric.between(2, 0).bandwidth), (16, 5e9));
}
