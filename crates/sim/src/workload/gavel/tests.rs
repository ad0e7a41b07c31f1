use super::*;
use crate::workload::read_workload;
use crate::workload::tests::{bench_data, example};
use consort_types::Time;

const GAVEL: &str = "LM (batch size 10)\tpython main.py --cuda\tfolder\t--steps\t1\t5000\t1\t1\t-1.000000\t0\n\
                     LM (batch size 10)\tpython main.py \"\tfolder\t--steps\t1\t100\t1\t2\t1.5\t60.5\n";

fn table() -> Throughputs {
    let text = example(include_str!("throughputs.rs"), "json");
    Throughputs::parse("simulation_throughputs.json", text.as_bytes()).unwrap()
}

#[test]
fn lengths_follow_from_steps_and_throughputs() {
    let workload = parse("jobs.trace", GAVEL.as_bytes(), Some(&table())).unwrap();
    let [first, second] = &workload.submissions[..] else { panic!("two jobs are expected") };
    assert_eq!((first.label.as_str(), first.spec.name.as_str()), ("0", "LM (batch size 10)"));
    assert_eq!((first.at, &first.truth), (Time::ZERO, &Truth::runs(Span::seconds(100))));
    assert_eq!((first.spec.deadline, second.at), (None, Time(60_500_000_000)));
    assert_eq!(second.spec.deadline, Some(second.at + Span::seconds(3)));
    assert_eq!(workload.notes, ["ignored in 1 of 2 lines: the priority weight"]);
    assert!(needs_throughputs(GAVEL.as_bytes()));
}

#[test]
fn a_throughput_of_nothing_leaves_a_job_out() {
    let table =
        Throughputs::parse("t.json", br#"{"v100": {"('LM (batch size 10)', 1)": {"null": 0.0}}}"#).unwrap();
    let workload = parse("jobs.trace", GAVEL.as_bytes(), Some(&table)).unwrap();
    assert!(workload.submissions.is_empty());
    assert_eq!(workload.notes, ["skipped 2 of 2 lines: the throughput of its type on v100 is 0"]);
}

#[test]
fn shockwave_says_durations_itself() {
    let line = "LM (batch size 10)\tpython\tfolder\t--steps\t1\t134583\t2\tgns\t1\t-1.000000\t1418\t55\n";
    let workload = parse("jobs.trace", line.as_bytes(), None).unwrap();
    let job = &workload.submissions[0];
    assert_eq!((job.at, &job.truth), (Time::seconds(55), &Truth::runs(Span::seconds(1_418))));
    assert_eq!(job.spec.stages[0].roles[0].count.max, 2);
    assert_eq!(workload.notes, ["ignored in 1 of 1 lines: the batch size that changes while it runs"]);
    assert!(!needs_throughputs(line.as_bytes()));
}

#[test]
fn the_public_workloads_of_gavel_and_shockwave_are_read_whole() {
    let test = "the_public_workloads_of_gavel_and_shockwave_are_read_whole";
    let Some(data) = bench_data(test) else { return };
    let gavel = read_workload(data.join("gavel/traces/max_min_fairness.trace")).unwrap();
    assert_eq!(gavel.submissions.len(), 96);
    for (folder, count) in [("gavel", 8), ("shockwave", 5)] {
        let files = std::fs::read_dir(data.join(folder).join("traces")).unwrap();
        let paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        let traces = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "trace"));
        let workloads: Vec<Workload> = traces.map(|path| read_workload(path).unwrap()).collect();
        assert_eq!(workloads.len(), count);
        assert!(workloads.iter().all(|workload| !workload.submissions.is_empty()));
    }
}
