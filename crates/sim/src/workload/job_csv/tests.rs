use super::*;
use crate::workload::{job_list, tests::example};

#[test]
fn a_row_means_what_the_same_fields_mean_in_a_job_list() {
    let table = example(include_str!("../job_csv.rs"), "csv");
    let list = "
        - {name: a, at: 0s, run: 1h, devices: 8, kind: h200, tenant: red}
        - {name: b, at: 10m, run: 3h, devices: 2-8, kind: [h200, mi300x], tenant: blue, deadline: +6h}
        - {name: c, at: 1h, run: 20m, devices: 1, after: [a, b]}";
    assert_eq!(parse("jobs.csv", table.as_bytes()), job_list::parse("jobs.yaml", list));
}

#[test]
fn every_column_is_understood_in_any_order_with_marks_blanks_and_quotes() {
    let table = "\u{feff}after,failures,retries,restart_cost,time_limit,estimate,deadline,qos,priority,queue,tenant,\
        replicas,tasks,within,memory,share,kind,devices_per_worker,devices,run,at,name\r\n\
        \r\n\
        ,1,2,7s,3h,2h,9h,guaranteed,-4,q,t,,12,node,40GiB,0.25,\"x;y\",2, 3 ,1h,60,\"a, \"\"b\"\"\"\r\n";
    let list = r#"[{name: 'a, "b"', at: 60, run: 1h, workers: 3, devices_per_worker: 2, kind: [x, y], share: 0.25,
        memory: 40GiB, within: node, tasks: 12, tenant: t, queue: q, priority: -4, qos: guaranteed, deadline: 9h,
        estimate: 2h, time_limit: 3h, restart_cost: 7s, retries: 2, failures: 1}]"#;
    assert_eq!(parse("jobs.csv", table.as_bytes()), job_list::parse("jobs.yaml", list));
}

#[test]
fn every_column_is_looked_up() {
    let mut known = KNOWN;
    let mut read = Columns::NAMES.to_vec();
    known.sort_unstable();
    read.sort_unstable();
    assert_eq!(known[..], read[..]);
}
