use super::*;
use crate::workload::tests::example;

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let text = example(include_str!("../swf.rs"), "swf");
    let workload = parse("log.swf", text.as_bytes()).unwrap();
    let [first, second] = &workload.submissions[..] else { panic!("two jobs are expected") };
    assert_eq!((first.label.as_str(), first.at), ("1", Time::ZERO));
    assert_eq!((first.spec.tenant.as_str(), first.spec.queue.as_str()), ("u3", "q1"));
    assert_eq!(first.spec.estimate, Some(Span::seconds(7_200)));
    assert_eq!(first.truth, Truth::runs(Span::seconds(3_600)));
    assert_eq!(first.spec.stages[0].roles[0].count.max, 8);
    assert_eq!((second.after.as_slice(), second.spec.estimate), (&[(0, Condition::Ended)][..], None));
    assert_eq!(workload.notes, ["ignored in 1 of 2 lines: the think time"]);
    let cluster = parse_cluster("log.swf", text.as_bytes()).unwrap();
    assert_eq!((cluster.nodes.len(), cluster.devices()), (64, 128));
}

#[test]
fn lines_that_cannot_run_are_counted() {
    let line = |number: u32, run: &str, processors: &str, status: u32, after: &str| {
        format!(
            "{number} {number} 0 {run} -1 -1 -1 {processors} -1 -1 {status} -1 -1 -1 -1 -1 {after} -1\r\n"
        )
    };
    let text = [
        "; a remark in whatever encoding\n\n".into(),
        line(1, "10.5", "4", 1, "-1"),
        line(1, "5", "4", 2, "-1"),
        line(2, "0", "4", 5, "-1"),
        line(3, "-1", "4", 1, "-1"),
        line(4, "9", "-1", 0, "-1"),
        line(5, "9", "0", 0, "-1"),
        line(6, "0", "1", 1, "4"),
    ];
    let mut bytes = text.concat().into_bytes();
    bytes[3] = 0xff;
    let workload = parse("log.swf", &bytes).unwrap();
    let labels: Vec<&str> = workload.submissions.iter().map(|job| job.label.as_str()).collect();
    assert_eq!(labels, ["1", "6"]);
    assert_eq!(workload.submissions[0].truth, Truth::runs(Span(10_500_000_000)));
    assert_eq!(workload.submissions[0].spec.tenant, "default");
    let expected = [
        "skipped 1 of 7 lines: part of a job that was interrupted",
        "skipped 1 of 7 lines: cancelled before it started",
        "skipped 1 of 7 lines: no run time is known",
        "skipped 2 of 7 lines: no processors requested",
        "ignored in 1 of 7 lines: the wait for a job that is left out or comes later",
    ];
    assert_eq!(workload.notes, expected);
}

#[test]
fn odd_machines_share_what_they_have() {
    let counts = |text: &str| -> Vec<u32> {
        let cluster = parse_cluster("log.swf", text.as_bytes()).unwrap();
        cluster.nodes.iter().map(|node| node.devices[0].count).collect()
    };
    assert_eq!(counts("; MaxNodes: 3 (one broke)\n; MaxProcs: 8\n"), [3, 3, 2]);
    assert_eq!(counts("; MaxProcs: 2\n"), [1, 1]);
    assert_eq!(counts("; MaxNodes: 2\n"), [1, 1]);
    assert_eq!(counts("; MaxNodes: 9\n; MaxProcs: 2\n"), [1, 1]);
}
