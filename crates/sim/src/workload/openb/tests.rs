use super::*;
use crate::workload::tests::{bench_data, example};
use crate::workload::{Submission, Truth};
use crate::workload::{read_cluster, read_workload};
use consort_types::{Host, Shape, Span};

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let text = example(include_str!("../openb.rs"), "csv");
    let pods = parse_pods("pods.csv", text.as_bytes()).unwrap();
    assert_eq!(
        (pods[0].cpu_milli, pods[0].memory_mib, pods[0].scheduled),
        (12_000, 16_384, Some(Time::seconds(60)))
    );
    let workload = to_workload(&pods);
    let [first, second] = &workload.submissions[..] else { panic!("two jobs are expected") };
    assert_eq!((first.at, &first.truth), (Time::ZERO, &Truth::runs(Span::seconds(3_540))));
    assert_eq!((first.spec.qos, second.spec.qos), (Qos::Standard, Qos::BestEffort));
    let role = |submission: &Submission| submission.spec.stages[0].roles[0].clone();
    assert_eq!((role(first).shapes[0].share, role(first).shapes[0].devices), (460, 1));
    assert_eq!(role(first).shapes[0].host, Host { cpu_milli: 12_000, memory_bytes: 16 << 30 });
    assert_eq!(role(second).count.max, 1);
    let kinds: Vec<Option<String>> = role(second).shapes.into_iter().map(|shape| shape.kind).collect();
    assert_eq!(kinds, [Some("V100M16".into()), Some("V100M32".into())]);
    assert!(workload.notes.is_empty());
}

#[test]
fn pods_without_a_device_take_only_of_the_node() {
    let header = PODS.join(",");
    let text = format!(
        "{header}\na,500,1,0,0,T4,LS,Running,0,9,1\nb,0,0,0,0,,LS,Running,0,9,1\nc,1,1,2,500,,LS,Failed,0,9,1\n\
         d,1,1,1,1,,LS,Pending,0,9,\ne,1,1,1,1,,LS,Running,0,,1\n"
    );
    let workload = parse("pods.csv", text.as_bytes()).unwrap();
    let [a, c] = &workload.submissions[..] else { panic!("two jobs are expected") };
    let host = Host { cpu_milli: 500, memory_bytes: 1 << 20 };
    assert_eq!(a.spec.stages[0].roles[0].shapes, [Shape { devices: 0, host, ..Shape::any() }]);
    let shape = &c.spec.stages[0].roles[0].shapes[0];
    assert_eq!((shape.devices, shape.share), (2, WHOLE));
    let expected = [
        "skipped 1 of 5 pods: no resources requested",
        "skipped 1 of 5 pods: never scheduled",
        "skipped 1 of 5 pods: no start or no end",
        "ignored in 1 of 5 pods: the part of several devices, which became whole",
    ];
    assert_eq!(workload.notes, expected);
}

#[test]
fn nodes_say_what_their_machines_have() {
    let text = b"sn,cpu_milli,memory_mib,gpu,model\na,32000,1024,2,P100\nb,64000,2048,0,\n";
    let cluster = to_cluster(&parse_nodes("nodes.csv", text).unwrap());
    assert_eq!((cluster.devices_of("P100"), cluster.nodes[1].devices.len()), (2, 0));
    assert_eq!(cluster.nodes[1].host, Host { cpu_milli: 64_000, memory_bytes: 2 << 30 });
}

#[test]
fn the_public_lists_are_read_whole() {
    let Some(data) = bench_data("the_public_lists_are_read_whole") else { return };
    let cluster = read_cluster(data.join("openb/nodes_gpu.csv.gz")).unwrap();
    assert_eq!((cluster.nodes.len(), cluster.devices()), (1_213, 6_212));
    assert_eq!(read_cluster(data.join("openb/nodes_all.csv.gz")).unwrap().nodes.len(), 1_523);
    let workload = read_workload(data.join("openb/pods_default.csv.gz")).unwrap();
    assert_eq!(workload.notes, ["skipped 897 of 8,152 pods: never scheduled"]);
    let variants = std::fs::read_dir(data.join("openb/variants")).unwrap();
    let files: Vec<_> = variants.map(|entry| entry.unwrap().path()).collect();
    let timeless = files.iter().filter(|path| {
        let (name, bytes) = crate::workload::read::bytes(path).unwrap();
        assert!(parse_pods(&name, &bytes).unwrap().len() > 1_000);
        read_workload(path).is_err_and(|error| error.message.contains("missing column `creation_time`"))
    });
    assert_eq!((files.len(), timeless.count()), (22, 4));
}
