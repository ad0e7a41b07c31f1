use super::*;
use crate::workload::tests::example;

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let text = example(include_str!("../philly.rs"), "json");
    let workload = parse("cluster_job_log", text.as_bytes()).unwrap();
    let job = &workload.submissions[0];
    assert_eq!((job.label.as_str(), job.at), ("application_1", Time::ZERO));
    assert_eq!((job.spec.tenant.as_str(), job.spec.queue.as_str()), ("ce2f4c", "ee9e8c"));
    assert_eq!(job.truth, Truth::runs(Span::seconds(60 + 3_600)));
    assert_eq!(job.spec.stages[0].roles[0].count.max, 2);
    assert!(workload.notes.is_empty());
}

#[test]
fn jobs_that_cannot_run_are_counted() {
    let job = |id: u32, attempts: &str| {
        format!(
            r#"{{"status": "Failed", "vc": "v", "jobid": "{id}", "attempts": [{attempts}],
                "submitted_time": "2017-10-07 01:11:3{id}", "user": "u"}}"#
        )
    };
    let attempt = |start: &str, end: &str, gpus: &str| {
        format!(
            r#"{{"start_time": {start}, "end_time": {end}, "detail": [{{"ip": "m", "gpus": [{gpus}]}}]}}"#
        )
    };
    let (one, two) = (r#""2017-10-07 01:12:00""#, r#""2017-10-07 01:13:00""#);
    let slip = attempt("null", one, "");
    let good = attempt(one, two, r#""gpu0""#);
    let text = [
        job(1, ""),
        job(2, &attempt(one, "null", r#""gpu0""#)),
        job(3, &attempt(two, one, r#""gpu0""#)),
        job(4, &attempt(one, two, "")),
        job(5, &format!("{slip},{good}")),
        job(6, &attempt(r#""None""#, one, r#""gpu0""#)),
    ];
    let workload = parse("cluster_job_log", format!("[{}]", text.join(",")).as_bytes()).unwrap();
    assert_eq!(workload.submissions.len(), 1);
    assert_eq!(workload.submissions[0].truth, Truth::runs(Span::seconds(60)));
    let expected = [
        "skipped 1 of 6 jobs: never started",
        "skipped 1 of 6 jobs: the last attempt has no end",
        "skipped 2 of 6 jobs: no attempt has a start and an end after it",
        "skipped 1 of 6 jobs: no device is named",
    ];
    assert_eq!(workload.notes, expected);
}

#[test]
fn machines_are_told_apart_by_their_memory() {
    let rows = "m31,8, 24GB\nm32,2, 12GB\n";
    let cluster = parse_cluster("machines.csv", rows.as_bytes()).unwrap();
    assert_eq!((cluster.devices(), cluster.devices_of("gpu-24GB")), (10, 8));
    assert_eq!(cluster.kinds[0].memory_bytes, 12_000_000_000);
    let named = format!("machineId, number of GPUs, single GPU mem\n{rows}");
    assert_eq!(parse_cluster("machines.csv", named.as_bytes()), Ok(cluster));
}
