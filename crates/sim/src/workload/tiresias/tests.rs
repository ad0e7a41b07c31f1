use super::*;
use crate::workload::tests::bench_data;

#[test]
fn switches_are_counted_out() {
    let table = b"num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n2,3,4,128,254";
    let cluster = parse_cluster("c.csv", table, "v100").unwrap();
    assert_eq!((cluster.nodes.len(), cluster.devices()), (6, 24));
    assert_eq!(cluster.nodes[2].domains, ["s1"]);
    assert_eq!(cluster.nodes[3].domains, ["s2"]);
}

#[test]
fn the_public_table_is_read_whole() {
    let Some(data) = bench_data("the_public_table_is_read_whole") else { return };
    let jobs = read_jobs(data.join("tiresias/60_job.csv")).unwrap();
    assert_eq!(jobs.len(), 60);
    let expected = TiresiasJob {
        id: 1,
        gpus: 8,
        submit_s: 30,
        duration_s: 147,
        iterations: 133,
        network: "vgg11".into(),
    };
    assert_eq!(jobs[1], expected);
    let cluster = crate::workload::read_cluster(data.join("tiresias/n32g4.csv")).unwrap();
    assert_eq!(cluster.devices(), 128);
}
