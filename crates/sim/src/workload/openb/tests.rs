use super::*;
use crate::workload::tests::{bench_data, example};
use crate::workload::{read_cluster, read_workload};

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
    assert_eq!(role(second).count.max, 1);
    let kinds: Vec<Option<String>> = role(second).shapes.into_iter().map(|shape| shape.kind).collect();
    assert_eq!(kinds, [Some("V100M16".into()), Some("V100M32".into())]);
    assert!(workload.notes.is_empty());
}

#[test]
fn the_public_lists_are_read_whole() {
    let Some(data) = bench_data("the_public_lists_are_read_whole") else { return };
    let cluster = read_cluster(data.join("openb/nodes_gpu.csv.gz")).unwrap();
    assert_eq!((cluster.nodes.len(), cluster.devices()), (1_213, 6_212));
    assert_eq!(read_cluster(data.join("openb/nodes_all.csv.gz")).unwrap().nodes.len(), 1_523);
    let workload = read_workload(data.join("openb/pods_default.csv.gz")).unwrap();
    assert_eq!(workload.notes.len(), 2, "{:?}", workload.notes);
    let variants = std::fs::read_dir(data.join("openb/variants")).unwrap();
    let files: Vec<_> = variants.map(|entry| entry.unwrap().path()).collect();
    let timeless = files.iter().filter(|path| {
        let (name, bytes) = crate::workload::read::bytes(path).unwrap();
        assert!(parse_pods(&name, &bytes).unwrap().len() > 1_000);
        read_workload(path).is_err_and(|error| error.message.contains("no column `creation_time`"))
    });
    assert_eq!((files.len(), timeless.count()), (22, 4));
}
