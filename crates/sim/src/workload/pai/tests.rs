use super::*;
use crate::workload::tests::example;
use consort_types::Span;

const JOB_TABLE: &str = "4f05,8cb3,5854,Terminated,1739100.0,1739262.0\nother,1,2,Waiting,1.0,\n";

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let text = example(include_str!("../pai.rs"), "csv");
    let workload = parse(("t.csv", text.as_bytes()), Some(("j.csv", JOB_TABLE.as_bytes()))).unwrap();
    let job = &workload.submissions[0];
    assert_eq!((job.label.as_str(), job.at, job.spec.tenant.as_str()), ("4f05", Time::ZERO, "5854"));
    assert_eq!(job.truth, Truth::runs(Span::seconds(100)));
    let [worker] = &job.spec.stages[0].roles[..] else { panic!("one role is expected") };
    assert_eq!((worker.name.as_str(), worker.count.max), ("worker", 2));
    assert_eq!(worker.shapes, [Shape { share: 500, ..Shape::of("T4") }]);
    assert_eq!(workload.notes, ["skipped 1 of 2 tasks: no devices requested"]);

    let headless = text.split_once('\n').unwrap().1;
    let same = parse(("t.csv", headless.as_bytes()), Some(("j.csv", JOB_TABLE.as_bytes())));
    assert_eq!(same, Ok(workload));
    let alone = parse(("t.csv", headless.as_bytes()), None).unwrap();
    assert_eq!(alone.submissions[0].spec.tenant, "default");
    assert_eq!(alone.notes[1], "there is no job table beside it, so every job is the tenant default's");
}

#[test]
fn tasks_of_one_job_are_one_gang_and_others_are_counted() {
    let text = "a,worker,2.0,Terminated,100.0,200.0,600.0,2.5,200.0,V100\n\
                b,tensorflow,1.0,Terminated,50.0,60.0,600.0,2.5,150.0,\n\
                a,evaluator,1.0,Failed,90.0,150.0,600.0,2.5,12.55,MISC\n\
                c,worker,,Terminated,1.0,2.0,600.0,2.5,100.0,T4\n\
                d,worker,1.0,Running,1.0,,600.0,2.5,100.0,T4\n\
                e,worker,1.0,Terminated,5.0,2.0,600.0,2.5,100.0,T4\n\
                f,worker,1.0,Terminated,5.0,8.0,600.0,2.5,,T4\n";
    let workload = parse(("t.csv", text.as_bytes()), Some(("j.csv", JOB_TABLE.as_bytes()))).unwrap();
    let [b, a] = &workload.submissions[..] else { panic!("two jobs are expected") };
    assert_eq!((b.at, a.at), (Time::ZERO, Time::seconds(40)));
    assert_eq!(a.truth, Truth::runs(Span::seconds(110)));
    let shapes: Vec<&Shape> = a.spec.stages[0].roles.iter().flat_map(|role| &role.shapes).collect();
    let whole = Shape { devices: 2, ..Shape::of("V100") };
    assert_eq!(shapes, [&whole, &Shape { share: 126, ..Shape::of("MISC") }]);
    assert_eq!(b.spec.stages[0].roles[0].shapes, [Shape { devices: 2, ..Shape::any() }]);
    let expected = [
        "skipped 1 of 7 tasks: no number of instances",
        "skipped 1 of 7 tasks: it has no start or no end",
        "skipped 1 of 7 tasks: it ended before it started",
        "skipped 1 of 7 tasks: no devices requested",
        "ignored in 1 of 7 tasks: the part of a device beside whole ones, which became whole",
        "2 of 2 jobs are not in j.csv: the tenant default's",
    ];
    assert_eq!(workload.notes, expected);
}

#[test]
fn tables_without_a_header_are_known_by_a_row() {
    let split = |row: &str| -> Vec<String> { row.split(',').map(String::from).collect() };
    let task = split("a,worker,2.0,Terminated,100.0,200.0,600.0,2.5,200.0,V100");
    let job = split("4f05,8cb3,5854,Failed,1739100.0,1739262.0");
    let machine = split("82e5,T4,96,512,2");
    assert!(is_task_table(&task) && !is_task_table(&job) && !is_task_table(&machine));
    assert!(is_job_table(&job) && !is_job_table(&task) && !is_job_table(&machine));
    assert!(is_machine_table(&machine) && !is_machine_table(&job) && !is_machine_table(&split("1,1,1,1,1")));
}

#[test]
fn machines_are_nodes() {
    let text = "82e5,T4,96,512,2\n82e6,V100,96,512,8\n";
    let cluster = parse_cluster("m.csv", text.as_bytes()).unwrap();
    assert_eq!((cluster.nodes.len(), cluster.devices(), cluster.devices_of("T4")), (2, 10, 2));
    let host = consort_types::Host { cpu_milli: 96_000, memory_bytes: 512 << 30 };
    assert_eq!(cluster.nodes[0].host, host);
}
