use super::*;
use crate::run::{Setup, run, run_with_course};
use crate::workload::generate::{Recipe, demo_cluster, generate};
use crate::workload::{Cluster, Submission, Truth, Workload};
use crate::world::{Act, Delays, Faults};
use consort_sched::stock;
use std::sync::Arc;

fn setup(cluster: &Cluster, workload: &Workload, policy: &str) -> Setup {
    let policy = stock::find(&format!("{policy}/best-fit")).unwrap().policy();
    let mut setup = Setup::new(cluster, workload, policy);
    let delays = Delays { start: Span::seconds(20), stop: Span::seconds(5), ..Delays::default() };
    let faults = Faults { refuse: 0.05, late: 0.05, late_seconds: 60, ..Faults::default() };
    setup.world = setup.world.delayed(delays).breaking(faults, 3);
    setup
}

fn generated(jobs: u32) -> (Cluster, Workload) {
    let cluster = demo_cluster();
    let workload = generate(&Recipe { seed: 4, jobs, ..Recipe::default() }, &cluster);
    (cluster, workload)
}

#[test]
fn what_is_in_use_adds_up_to_what_was_used_for_all_and_for_each() {
    let (cluster, workload) = generated(600);
    for policy in ["fifo", "las", "shortest-remaining"] {
        let (outcome, course) = run_with_course(setup(&cluster, &workload, policy), &mut |_| {}).unwrap();
        assert_eq!(outcome.stuck.len(), 0);
        assert_eq!(course.in_use().total(), outcome.used, "{policy}");
        assert_eq!(course.tenants().map(|(_, used)| used.total()).sum::<u128>(), outcome.used);
        assert!(course.in_use().peak() <= cluster.devices() * 1000);
        let curve = course.curve(course.in_use());
        assert!((256..=512).contains(&curve.means.len()), "{}", curve.means.len());
        let last = curve.length_s - curve.width_s * (curve.means.len() - 1) as f64;
        let seconds = |part: usize| if part + 1 == curve.means.len() { last } else { curve.width_s };
        let sum: f64 = curve.means.iter().enumerate().map(|(part, mean)| mean * seconds(part)).sum();
        assert!((sum / (outcome.used as f64 / 1e9) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn looking_changes_nothing() {
    let (cluster, workload) = generated(300);
    let plain = run(setup(&cluster, &workload, "las"), &mut |_| {}).unwrap();
    let (looked_at, _) = run_with_course(setup(&cluster, &workload, "las"), &mut |_| {}).unwrap();
    assert_eq!((plain.state_hash, plain.records), (looked_at.state_hash, looked_at.records));
}

fn job(label: &str, at: i64, devices: u32, run: i64) -> Submission {
    let mut spec = JobSpec::gang(label, devices, Shape::of("h200"));
    spec.estimate = Some(Span::seconds(run));
    Submission {
        label: label.into(),
        at: Time::seconds(at),
        spec: Arc::new(spec),
        after: vec![],
        truth: Truth::runs(Span::seconds(run)),
    }
}

#[test]
fn a_small_run_keeps_who_was_where() {
    let cluster = Cluster::uniform("h200", 1, 2);
    let submissions = vec![job("a", 100, 2, 10), job("b", 101, 1, 5)];
    let workload = Workload { submissions, ..Workload::default() };
    let setup = Setup::new(&cluster, &workload, stock::find("fifo/best-fit").unwrap().policy());
    let (_, course) = run_with_course(setup, &mut |_| {}).unwrap();
    let seconds = |time: Time| (time - course.start()).as_seconds();
    let told = course.stays().unwrap().iter().map(|stay| {
        (stay.allocation.ask.job.0, stay.devices.len(), seconds(stay.from), seconds(stay.to), stay.outcome)
    });
    let done = Some(Outcome::Succeeded);
    assert_eq!(told.collect::<Vec<_>>(), [(1, 2, 0.0, 10.0, done), (2, 1, 10.0, 15.0, done)]);
    assert_eq!(course.waiting().total(), 9_000_000_000);
    assert_eq!((course.waiting().peak(), course.in_use().peak()), (1, 2000));
    let curve = course.curve(course.in_use());
    assert_eq!((curve.length_s, curve.means[0]), (15.0, 2000.0));
}

#[test]
fn what_runs_on_a_lost_node_is_in_use_until_that_is_known() {
    let cluster = Cluster::uniform("h200", 3, 4);
    let width = |number: i64| 1 + (number as u32 * 5) % 8;
    let submissions =
        (0..12).map(|number| job(&format!("j{number}"), number * 20, width(number), 200)).collect();
    let workload = Workload { submissions, ..Workload::default() };
    let mut setup = setup(&cluster, &workload, "fifo");
    setup.world.act_at(Time::seconds(90), Act::Die(NodeId(1)));
    setup.world.act_at(Time::seconds(600), Act::Repair(NodeId(1)));
    let (outcome, course) = run_with_course(setup, &mut |_| {}).unwrap();
    assert_eq!((outcome.stuck.len(), outcome.records.len()), (0, 12));
    assert_eq!(course.in_use().total(), outcome.used);
    let stays = course.stays().unwrap();
    assert!(stays.iter().any(|stay| stay.outcome == Some(Outcome::Stopped)), "something was lost");
    assert!(stays.iter().all(|stay| stay.outcome.is_some() && stay.from <= stay.to));
}

#[test]
fn a_large_run_says_why_it_does_not() {
    let (cluster, workload) = generated(50);
    let (_, course) = run_with_course(setup(&cluster, &workload, "fifo"), &mut |_| {}).unwrap();
    assert_eq!(course.stays(), Err(TooMany::Devices(192)));
    let cluster = Cluster::uniform("h200", 1, 8);
    let submissions = (0..201).map(|number| job(&format!("j{number}"), number, 1, 1)).collect();
    let workload = Workload { submissions, ..Workload::default() };
    let (_, course) = run_with_course(setup(&cluster, &workload, "fifo"), &mut |_| {}).unwrap();
    assert_eq!(course.stays(), Err(TooMany::Jobs));
}

#[test]
fn nothing_at_all_has_a_course_too() {
    let cluster = Cluster::uniform("h200", 1, 8);
    let (_, course) = run_with_course(setup(&cluster, &Workload::default(), "fifo"), &mut |_| {}).unwrap();
    assert!(course.curve(course.in_use()).means.is_empty() && course.stays().unwrap().is_empty());
}
