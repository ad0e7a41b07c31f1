use super::*;
use crate::workload::tests::bench_data;

const PHILLY: &str = "job_id,submit_s,duration_s,gpus,vc,est_s\n0,-5,100,8,aa,-3\n1,7,50,1,bb,60\n";

#[test]
fn rows_become_gangs_of_single_devices() {
    let jobs = parse_jobs("jobs.csv", PHILLY.as_bytes()).unwrap();
    assert_eq!((jobs[0].submit_s, jobs[0].est_s, jobs[0].deadline_s), (-5, -3, None));
    let first = to_submission(&jobs[0], "v100");
    assert_eq!(first.at, Time::seconds(-5));
    assert_eq!(first.truth, Truth::runs(Span::seconds(100)));
    assert_eq!(first.spec.estimate, Some(Span::seconds(1)));
    assert_eq!(first.spec.restart_cost, Span::seconds(30));
    assert_eq!(first.spec.stages[0].roles[0].count.max, 8);
    assert_eq!(first.spec.stages[0].roles[0].shapes, [Shape::of("v100")]);
    assert_eq!([1, 2, 8, 9].map(restart_cost_s), [7, 30, 30, 60]);
}

#[test]
fn the_public_tables_are_read_whole() {
    let Some(data) = bench_data("the_public_tables_are_read_whole") else { return };
    let jobs = read_jobs(data.join("philly/jobs.csv.gz")).unwrap();
    let groups = read_groups(data.join("philly/vcs.csv")).unwrap();
    assert_eq!((jobs.len(), groups.len()), (82_247, 11));
    assert_eq!(groups.iter().map(|group| group.nodes).sum::<u32>(), 352);
    let listed = |job: &&HeliosJob| groups.iter().any(|group| group.name == job.group);
    let window = jobs.iter().filter(|job| (0..=5_270_340).contains(&job.submit_s)).filter(listed);
    assert_eq!(window.count(), 68_503);

    let jobs = read_jobs(data.join("elasticflow-itp/jobs.csv.gz")).unwrap();
    let groups = read_groups(data.join("elasticflow-itp/bench_nodes.csv")).unwrap();
    assert_eq!((jobs.len(), groups.len()), (69_351, 10));
    assert!(jobs.iter().all(|job| job.deadline_s.is_some()));
    let seconds: i64 = jobs.iter().map(|job| job.duration_s * i64::from(job.gpus)).sum();
    assert_eq!(seconds / 360, 16_327_197, "1,632,719.7 device hours");
}
