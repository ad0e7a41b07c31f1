use super::*;
use crate::workload::tests::example;
use consort_types::{Count, Form, Qos};

fn read(text: &str) -> Workload {
    parse("jobs.yaml", text).unwrap()
}

#[test]
fn the_example_in_the_documentation_is_read_as_it_says() {
    let workload = read(&example(include_str!("../job_list.rs"), "yaml"));
    let find = |label: &str| workload.submissions.iter().find(|job| job.label == label).unwrap();
    let stage = |label: &str| &find(label).spec.stages[0];
    let role = |label: &str| &stage(label).roles[0];
    let labels: Vec<_> = workload.submissions.iter().map(|job| job.label.as_str()).collect();
    assert_eq!(labels, ["a", "c", "d", "e", "f", "g", "b", "h", "i"]);

    assert_eq!(find("a").spec.as_ref(), &JobSpec::gang("a", 8, Shape::of("h200")));
    assert_eq!(find("a").truth, Truth::runs(Span::seconds(3600)));

    assert_eq!(role("b").count, Count { min: 2, max: 8 });
    assert_eq!(role("b").shapes, [Shape::of("h200"), Shape::of("mi300x")]);
    assert_eq!(find("b").spec.deadline, Some(Time::seconds(600 + 6 * 3600)));
    assert_eq!(find("b").spec.estimate, Some(Span::seconds(7200)));

    assert_eq!((role("c").shapes[0].share, role("c").shapes[0].memory_bytes), (500, 40 << 30));
    assert_eq!(find("c").spec.qos, Qos::BestEffort);
    assert_eq!((role("d").count.max, role("d").shapes[0].devices), (4, 2));
    assert_eq!(role("d").shapes[0].within.as_deref(), Some("nvlink"));
    assert_eq!(stage("e").form, Form::Bag { tasks: 100 });
    assert_eq!(stage("f").form, Form::Service { replicas: 3 });
    assert_eq!(find("f").truth.lengths, [Truth::FOREVER]);
    assert_eq!((find("g").truth.failures, find("g").spec.retries), (2, 3));
    assert_eq!(find("h").after, [(0, Condition::Succeeded), (5, Condition::Ended)]);

    let full = find("i");
    assert_eq!(full.spec.stages[1].after, [0]);
    assert_eq!(full.spec.stages[1].roles[0].shapes.len(), 2);
    assert_eq!(full.spec.stages[1].roles[1].count, Count::exactly(2));
    assert_eq!(full.truth.lengths, [Span::seconds(600), Span::seconds(5 * 3600)]);
    assert_eq!((full.spec.tenant.as_str(), full.spec.queue.as_str()), ("red", "urgent"));
    assert_eq!((full.spec.priority, full.spec.qos), (5, Qos::Guaranteed));
    let tenants: Vec<_> = workload.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    assert_eq!(tenants, ["default", "red"]);
}

#[test]
fn jobs_of_one_instant_keep_the_order_of_the_file() {
    let text = "[{name: b, run: 1s}, {name: a, run: 1s}, {name: c, at: 0s, run: 1s, after: b}]";
    let labels: Vec<_> = read(text).submissions.into_iter().map(|job| job.label).collect();
    assert_eq!(labels, ["b", "a", "c"]);
}

#[test]
fn a_bomb_of_aliases_is_refused_at_its_first_anchor() {
    let mut bomb = String::from("- &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (this, last) in "bcdefghijk".chars().zip("abcdefghij".chars()) {
        bomb += &format!("- &{this} [{}]\n", vec![format!("*{last}"); 10].join(", "));
    }
    let error = parse("bomb.yaml", &bomb).unwrap_err().to_string();
    assert!(error.starts_with("bomb.yaml:1:"), "{error}");
    assert!(
        error.ends_with("is an anchor or an alias, which are not supported; write the value out"),
        "{error}"
    );
}

#[test]
fn depth_is_bounded_whatever_the_brackets() {
    for text in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000), "? ".repeat(10_000)] {
        let error = parse("deep.yaml", &text).unwrap_err();
        assert!(error.line == 1, "{error}");
    }
}

#[test]
fn a_job_may_say_beside_its_devices_whatever_a_shape_may() {
    let text = "[{name: a, run: 1s, kind: h200, mem: 2GiB, precision: [fp8, bf16], on_oom: larger}]";
    let workload = parse("jobs.yaml", text).unwrap();
    let shape = &workload.submissions[0].spec.stages[0].roles[0].shapes[0];
    assert_eq!(shape.host.memory_bytes, 2 << 30);
    assert_eq!(shape.precisions.len(), 2);
}

#[test]
fn every_field_of_a_job_list_is_read() {
    let ours = fields::FIELDS.iter().filter(|field| field.formats & fields::LIST != 0);
    for name in ours.map(|field| field.name) {
        let rest = ["name: a", "run: 1s"].into_iter().filter(|rest| !rest.starts_with(&format!("{name}:")));
        let text = format!("[{{{}, {name}: [[]]}}]", rest.collect::<Vec<_>>().join(", "));
        let error = parse("jobs.yaml", &text).expect_err(name).to_string();
        assert!(!error.contains("unknown field"), "{error}");
    }
}
