use super::*;
use consort_types::{DeviceGroup, Grant};

fn spec(name: &str, count: u32) -> NodeSpec {
    let group = |kind: &str, count| DeviceGroup { kind: kind.into(), count, island: 0 };
    NodeSpec {
        name: name.into(),
        domains: vec![],
        devices: vec![group("a100", count), group("cpu", 2)],
        features: vec![],
        host: Host::NONE,
    }
}

fn found(name: &str, used: u32, condition: Condition) -> Found {
    Found {
        spec: spec(name, 4),
        condition,
        address: name.into(),
        used: BTreeMap::from([("a100".into(), used)]),
        host_used: Host::NONE,
        full: false,
        resources: BTreeMap::new(),
    }
}

fn census() -> Census {
    let mut census = Census::new(OnDrain::Move);
    census.joined(NodeId(0), DeviceId(0), &spec("n1", 4));
    census.joined(NodeId(1), DeviceId(6), &spec("n2", 4));
    census
}

fn both(one: Condition, other: Condition) -> [Found; 2] {
    [found("n1", 0, one), found("n2", 0, other)]
}

fn ours(devices: &[u32]) -> Ours {
    let mut ours = Ours::default();
    let grant = |&device: &u32| Grant { device: DeviceId(device), share: WHOLE, memory_bytes: 0 };
    ours.add(&devices.iter().map(grant).collect::<Vec<_>>(), true);
    ours
}

#[test]
fn nothing_new_is_nothing_said() {
    let mut census = census();
    assert_eq!(census.compare(&both(Condition::Up, Condition::Up), &ours(&[])), []);
}

#[test]
fn work_of_ours_is_not_foreign() {
    let mut census = census();
    let used = [found("n1", 3, Condition::Up), found("n2", 0, Condition::Up)];
    let shares =
        |shares: &[u16]| Input::ForeignUse { node: NodeId(0), shares: shares.into(), host: Host::NONE };
    assert_eq!(census.compare(&used, &ours(&[0, 3])), [shares(&[0, 0, 1000, 0, 0, 0])]);
    assert_eq!(census.compare(&used, &ours(&[0, 3])), []);
    assert_eq!(census.compare(&used, &ours(&[0, 1, 3])), [shares(&[0; 6])]);
    assert_eq!(census.compare(&used, &ours(&[])), [shares(&[0, 1000, 1000, 1000, 0, 0])]);
    assert_eq!(census.compare(&used, &ours(&[0, 1, 2, 3])), [shares(&[0; 6])], "more than is used");
}

#[test]
fn processors_and_memory_of_others_are_foreign() {
    let host = Host { cpu_milli: 8_000, memory_bytes: 64 << 30 };
    let node = || NodeSpec { host, ..spec("n1", 4) };
    let mut census = Census::new(OnDrain::Move);
    census.joined(NodeId(0), DeviceId(0), &node());
    let used = |cpus: u64, gib: u64| {
        let host_used = Host { cpu_milli: cpus * 1000, memory_bytes: gib << 30 };
        [Found { spec: node(), host_used, ..found("n1", 0, Condition::Up) }]
    };
    let foreign = |cpus: u64, gib: u64| {
        let host = Host { cpu_milli: cpus * 1000, memory_bytes: gib << 30 };
        Input::ForeignUse { node: NodeId(0), shares: vec![0; 6], host }
    };
    let hosts = |cpus: u64, gib: u64, runs: bool| {
        let mut ours = Ours::default();
        let pools = [(6, cpus * 1000), (7, gib << 30)];
        let grants = pools.map(|(at, memory_bytes)| Grant { device: DeviceId(at), share: 0, memory_bytes });
        ours.add(&grants, runs);
        ours
    };
    let (none, begins, runs) = (hosts(0, 0, true), hosts(2, 8, false), hosts(2, 8, true));
    assert_eq!(census.compare(&used(3, 16), &none), [foreign(3, 16)]);
    assert_eq!(census.compare(&used(3, 16), &begins), [], "Slurm does not count it yet");
    assert_eq!(census.compare(&used(5, 24), &begins), [], "now it does");
    assert_eq!(census.compare(&used(5, 24), &runs), []);
    assert_eq!(census.compare(&used(4, 24), &runs), [foreign(2, 16)], "one of them left");
    assert_eq!(census.compare(&used(2, 8), &runs), [foreign(0, 0)]);
    assert_eq!(census.compare(&used(99, 999), &none), [foreign(8, 64)], "no more than there is");
}

#[test]
fn a_node_goes_and_comes_back() {
    let mut census = census();
    let none = ours(&[]);
    let silent = both(Condition::Silent, Condition::Up);
    assert_eq!(census.compare(&silent, &none), [Input::NodeSilent(NodeId(0))]);
    assert_eq!(census.compare(&silent, &none), []);
    assert_eq!(census.compare(&both(Condition::Up, Condition::Up), &none), [Input::NodeReturned(NodeId(0))]);
    let down = both(Condition::Down, Condition::Up);
    assert_eq!(census.compare(&down, &none), [Input::NodeFenced(NodeId(0))]);
    assert_eq!(census.compare(&down, &none), []);
    let up = both(Condition::Up, Condition::Up);
    assert_eq!(census.compare(&up, &none), [Input::NodeJoined(spec("n1", 4))]);
    assert_eq!(census.compare(&up, &none), [], "not twice before it is answered");
    census.joined(NodeId(0), DeviceId(0), &spec("n1", 4));
    assert_eq!(census.compare(&up, &none), []);
}

#[test]
fn a_node_that_the_scheduler_gave_up_itself_joins_again() {
    let mut census = census();
    let none = ours(&[]);
    census.compare(&both(Condition::Silent, Condition::Up), &none);
    let back = census.compare(&both(Condition::Up, Condition::Up), &none);
    census.refused(&back[0]);
    assert_eq!(
        census.compare(&both(Condition::Up, Condition::Up), &none),
        [Input::NodeJoined(spec("n1", 4))]
    );
}

#[test]
fn a_drained_node_says_why() {
    let mut census = census();
    let drained = both(Condition::Closed("drained in Slurm: fan".into()), Condition::Up);
    let said = census.compare(&drained, &ours(&[]));
    let [Input::DeviceHealth { node: NodeId(0), ill }] = &said[..] else { panic!("{said:?}") };
    assert_eq!((ill.len(), &*ill[0].why), (6, "drained in Slurm: fan"));
    assert_eq!(census.compare(&drained, &ours(&[])), []);
    let well = Input::DeviceHealth { node: NodeId(0), ill: vec![] };
    assert_eq!(census.compare(&both(Condition::Up, Condition::Up), &ours(&[])), [well]);
    census.on_drain = OnDrain::Finish;
    assert_eq!(census.compare(&drained, &ours(&[])), [Input::Drain(NodeId(0))]);
    assert_eq!(census.compare(&both(Condition::Up, Condition::Up), &ours(&[])), [Input::Undrain(NodeId(0))]);
}

#[test]
fn new_gone_and_changed_nodes() {
    let mut census = census();
    let mut three = both(Condition::Up, Condition::Up).to_vec();
    three.push(found("n3", 0, Condition::Up));
    assert_eq!(census.compare(&three, &ours(&[])), [Input::NodeJoined(spec("n3", 4))]);
    assert_eq!(census.compare(&three, &ours(&[])), []);
    census.joined(NodeId(2), DeviceId(12), &spec("n3", 4));
    three.pop();
    assert_eq!(census.compare(&three, &ours(&[])), [Input::NodeFenced(NodeId(2))]);
    // Slurm no longer has it: it leaves, once nothing of ours can be left on it.
    census.set_occupied(Occupied::These(["n3".to_string()].into()));
    assert_eq!(census.compare(&three, &ours(&[])), []);
    census.set_occupied(Occupied::default());
    assert_eq!(census.compare(&three, &ours(&[])), [Input::NodeLeft(NodeId(2))]);
    assert_eq!(census.compare(&three, &ours(&[])), [], "said once");
    census.refused(&Input::NodeLeft(NodeId(2)));
    assert_eq!(
        census.compare(&three, &ours(&[])),
        [Input::NodeLeft(NodeId(2))],
        "or again, if it was refused"
    );
    census.left(NodeId(2));
    assert_eq!(census.compare(&three, &ours(&[])), []);
    three.push(found("n3", 0, Condition::Up));
    assert_eq!(census.compare(&three, &ours(&[])), [Input::NodeJoined(spec("n3", 4))], "a new node");
    census.refused(&Input::NodeJoined(spec("n3", 4)));
    three.pop();
    // A device less: the node is given up, and joins as it is now.
    three[0].spec = spec("n1", 3);
    let said = census.compare(&three, &ours(&[0]));
    assert!(
        matches!(&said[..], [Input::DeviceHealth { ill, .. }] if ill.len() == 6),
        "its work is moved first: {said:?}"
    );
    assert_eq!(census.compare(&three, &ours(&[])), [Input::NodeFenced(NodeId(0))]);
    assert_eq!(census.compare(&three, &ours(&[])), [Input::NodeJoined(spec("n1", 3))]);
    // Another place: when it runs nothing.
    three[1].spec.domains = vec!["s1".into()];
    assert_eq!(census.compare(&three, &ours(&[6])), []);
    assert_eq!(census.compare(&three, &ours(&[])), [Input::NodeFenced(NodeId(1))]);
}

#[test]
fn a_kind_nobody_knew_is_declared_first() {
    let mut census = census();
    let mut nodes = both(Condition::Up, Condition::Up).to_vec();
    let mut new = found("n9", 0, Condition::Up);
    new.spec.devices[0].kind = "h200".into();
    nodes.push(new.clone());
    let said = census.compare(&nodes, &ours(&[]));
    assert!(
        matches!(&said[..], [Input::SetKind(kind), Input::NodeJoined(_)] if kind.name == "h200"),
        "{said:?}"
    );
}

#[test]
fn devices_are_found_where_their_node_joined_last() {
    let mut census = census();
    let at = |census: &Census, device| census.locate(DeviceId(device)).map(|(n, k)| format!("{n} {k}"));
    assert_eq!(at(&census, 0).as_deref(), Some("n1 a100"));
    assert_eq!(at(&census, 5).as_deref(), Some("n1 cpu"));
    assert_eq!(at(&census, 6).as_deref(), Some("n2 a100"));
    assert_eq!(at(&census, 12), None);
    let nothing = NodeSpec { devices: vec![], ..spec("n3", 0) };
    census.joined(NodeId(2), DeviceId(12), &nothing);
    census.joined(NodeId(0), DeviceId(12), &spec("n1", 1));
    assert_eq!((at(&census, 0), at(&census, 15)), (None, None), "nobody has these any more");
    assert_eq!(at(&census, 14).as_deref(), Some("n1 cpu"));
}

/// A fence says that nothing of ours can be there, so a node that changed or vanished is not fenced while something may be.
#[test]
fn what_may_be_occupied_is_not_fenced_for_having_changed() {
    for occupied in [Occupied::These(BTreeSet::from(["n1".to_owned(), "n2".to_owned()])), Occupied::Any] {
        let mut census = census();
        census.set_occupied(occupied);
        let mut changed = vec![found("n1", 0, Condition::Up)];
        changed[0].spec = spec("n1", 3);
        let said = census.compare(&changed, &ours(&[]));
        assert!(matches!(said[..], [Input::DeviceHealth { .. }, Input::DeviceHealth { .. }]), "{said:?}");
        census.set_occupied(Occupied::default());
        let said = census.compare(&changed, &ours(&[]));
        assert_eq!(said, [Input::NodeFenced(NodeId(0)), Input::NodeFenced(NodeId(1))]);
    }
}

/// What is left of an earlier attempt keeps a fenced node out, whether its devices are known or only its node.
#[test]
fn a_fenced_node_joins_clean() {
    let mut census = census();
    census.compare(&both(Condition::Down, Condition::Up), &ours(&[0]));
    let is_join = |inputs: Vec<Input>| inputs.iter().any(|input| matches!(input, Input::NodeJoined(_)));
    assert!(!is_join(census.compare(&both(Condition::Up, Condition::Up), &ours(&[0]))));
    for occupied in [Occupied::These(BTreeSet::from(["n1".to_owned()])), Occupied::Any] {
        census.set_occupied(occupied);
        assert!(!is_join(census.compare(&both(Condition::Up, Condition::Up), &ours(&[]))));
    }
    census.set_occupied(Occupied::default());
    assert!(is_join(census.compare(&both(Condition::Up, Condition::Up), &ours(&[]))));
}
