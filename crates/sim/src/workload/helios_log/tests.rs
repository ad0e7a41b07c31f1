use super::*;
use crate::workload::tests::example;
use consort_types::Time;

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let text = example(include_str!("../helios_log.rs"), "csv");
    let workload = parse("cluster_log.csv", text.as_bytes()).unwrap();
    let job = &workload.submissions[0];
    assert_eq!(
        (job.label.as_str(), job.at, &job.truth),
        ("1425511", Time::ZERO, &Truth::runs(Span::seconds(240)))
    );
    assert_eq!((job.spec.tenant.as_str(), job.spec.queue.as_str()), ("uXBbc", "vcJkd"));
    assert_eq!(job.spec.stages[0].roles[0].count.max, 4);
    assert!(workload.notes.is_empty());
}

#[test]
fn jobs_that_never_ran_are_counted() {
    let text = "job_id,user,vc,gpu_num,state,submit_time,start_time,duration\n\
                1,u,v,0,COMPLETED,2020-06-10 00:00:05,2020-06-10 00:00:05,10\n\
                2,u,v,1,CANCELLED,2020-06-10 00:00:05,None,0\n\
                3,u,v,1,CANCELLED,2020-06-10 00:00:05,,\n\
                4,u,v,1,COMPLETED,2020-06-10 00:00:09,2020-06-10 00:00:09,10.0\n\
                5,u,v,1,COMPLETED,2020-06-09 23:59:59,2020-06-10 00:00:09,0\n";
    let workload = parse("cluster_log.csv", text.as_bytes()).unwrap();
    let jobs: Vec<(&str, Time)> =
        workload.submissions.iter().map(|job| (job.label.as_str(), job.at)).collect();
    assert_eq!(jobs, [("5", Time::ZERO), ("4", Time::seconds(10))]);
    let expected = ["skipped 1 of 5 rows: no devices requested", "skipped 2 of 5 rows: never started"];
    assert_eq!(workload.notes, expected);
}
