use super::*;
use crate::workload::read_workload;
use crate::workload::tests::{bench_data, example};
use consort_types::Time;

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let text = example(include_str!("../sia.rs"), "csv");
    let workload = parse("workload-1.csv", text.as_bytes()).unwrap();
    let [first, second] = &workload.submissions[..] else { panic!("two jobs are expected") };
    assert_eq!((first.label.as_str(), first.spec.name.as_str()), ("cifar10-0", "cifar10"));
    assert_eq!((first.at, first.spec.stages[0].roles[0].count.max), (Time::seconds(107), 6));
    assert_eq!(first.truth, Truth::runs(Span::seconds(1_800)));
    assert_eq!((second.at, &second.truth), (Time(110_500_000_000), &Truth::runs(Span(600_500_000_000))));
}

#[test]
fn time_of_devices_is_spread_over_them() {
    let text = "name,time,application,num_replicas,gpu_time\na,0,bert,4,100\nb,1,bert,0,100\n";
    let workload = parse("w.csv", text.as_bytes()).unwrap();
    assert_eq!(workload.submissions[0].truth, Truth::runs(Span::seconds(25)));
    assert_eq!(workload.notes, ["skipped 1 of 2 rows: no devices requested"]);
}

#[test]
fn the_pool_counts_from_its_first_job() {
    let text = "timestamp,duration,num_gpus,gpu_time,cluster\n\
                2017-10-09 07:01:55,66.0,1,66.0,11cb48\n2017-10-09 07:01:50,2951.0,8,1,\n";
    let workload = parse_pool("philly.csv", text.as_bytes()).unwrap();
    let [first, second] = &workload.submissions[..] else { panic!("two jobs are expected") };
    assert_eq!((first.label.as_str(), first.at, first.spec.queue.as_str()), ("1", Time::ZERO, "default"));
    assert_eq!(
        (second.label.as_str(), second.at, second.spec.queue.as_str()),
        ("0", Time::seconds(5), "11cb48")
    );
}

#[test]
fn the_public_pool_is_read_whole_and_published_workloads_are_refused() {
    let test = "the_public_pool_is_read_whole_and_published_workloads_are_refused";
    let Some(data) = bench_data(test) else { return };
    let pool = read_workload(data.join("sia/philly_jobs.csv.gz")).unwrap();
    assert_eq!(pool.submissions.len(), 82_247);
    for file in ["sia/workloads/philly/workload-1.csv", "pollux/workloads/workload-1.csv"] {
        let error = read_workload(data.join(file)).unwrap_err();
        assert!(error.message.starts_with("missing column `duration` or `gpu_time`"), "{error}");
    }
}
