use super::*;
use crate::workload::tests::example;
use consort_types::DeviceGroup;

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let cluster = parse("example", &example(include_str!("../cluster_file.rs"), "yaml")).unwrap();
    assert_eq!(cluster.settings.levels.len(), 2);
    assert_eq!(cluster.settings.levels[1], LevelSpec { name: "rack".into(), link: Some("leaf".into()) });
    assert_eq!(cluster.settings.island_link.as_deref(), Some("nvlink"));
    assert_eq!(cluster.kinds.len(), 3);
    assert_eq!(cluster.kinds[0].memory_bytes, 141 << 30);
    assert_eq!(cluster.nodes.len(), 38);
    assert_eq!(cluster.devices(), 32 * 8 + 4 * 10 + 2);

    let node = |name: &str| cluster.nodes.iter().find(|node| node.name == name).unwrap();
    assert_eq!(node("h1").domains, ["east", "r1"]);
    assert_eq!(node("h16").domains, ["east", "r1"]);
    assert_eq!(node("h17").domains, ["east", "r2"]);
    assert_eq!(node("h32").devices[0].island, 8);
    assert_eq!(node("m10").domains, ["west", "r3"]);
    assert_eq!(node("m13").domains, ["west", "r4"]);
    assert_eq!(node("m13").devices[0].island, 4);
    assert_eq!(node("m13").devices[1].island, 0);
    assert_eq!(node("spare").devices.len(), 1);

    let red = &cluster.tenants[0].quotas;
    assert_eq!(red[0], Quota { kind: "h200".into(), guarantee: 128, ceiling: Some(200) });
    assert_eq!(red[1], Quota { kind: "mi300x".into(), guarantee: 16, ceiling: None });
    assert!(cluster.queues[0].strict && cluster.queues[0].tenants == ["red"]);
    assert!(!cluster.queues[1].strict && cluster.queues[1].tenants.is_empty());
}

#[test]
fn ceilings_for_hosts_stand_beside_kinds() {
    let quotas = |quotas: &str| {
        let file =
            format!("nodes: [{{name: a, devices: {{x: 1}}}}]\ntenants: [{{name: t, quotas: {quotas}}}]");
        parse("c.yaml", &file)
            .map(|cluster| cluster.tenants[0].quotas.clone())
            .map_err(|error| error.to_string())
    };
    let quota = |kind: &str, ceiling| Quota { kind: kind.into(), guarantee: 0, ceiling: Some(ceiling) };
    let read = quotas("{cpus: {ceiling: 64}, host_memory: {ceiling: 2TiB}}");
    assert_eq!(read, Ok(vec![quota("cpus", 64), quota("mem", 2 << 40)]));
    let refused = "`cpus` cannot be guaranteed, expected a ceiling alone like `{ceiling: 64}`";
    for file in ["{cpus: 64}", "{cpus: {guarantee: 1, ceiling: 64}}"] {
        assert!(quotas(file).is_err_and(|error| error.ends_with(refused)), "{file}");
    }
    assert!(quotas("{mem: {ceiling: 64}}").is_err_and(|error| error.contains("a unit, like 64GiB")));
}

#[test]
fn the_shortest_cluster_declares_its_kinds_by_using_them() {
    let cluster = parse("c.yaml", "nodes: [{name: a, devices: {x: 2, y: 1}}]").unwrap();
    let kinds: Vec<_> = cluster.kinds.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, ["x", "y"]);
    assert_eq!(cluster.nodes[0].devices[0], DeviceGroup { kind: "x".into(), count: 2, island: 0 });
}

#[test]
fn nodes_may_have_features() {
    let text = "nodes: [{name: a, devices: {h200: 8}, features: [nvme, ib]}, {name: b, devices: {h200: 8}, features: ib}, {name: c, devices: {h200: 8}}]";
    let cluster = parse("c.yaml", text).unwrap();
    let features: Vec<&[String]> = cluster.nodes.iter().map(|node| &node.features[..]).collect();
    assert_eq!(features, [&["ib".to_string(), "nvme".to_string()][..], &["ib".to_string()], &[]]);
}
