//! Plays the Philly workload under the peers named on the command line.

use consort_sim::{
    peers::helios,
    report::Report,
    run::{Setup, run},
    workload::helios as reader,
};
fn main() {
    let data = std::env::var("CONSORT_BENCH_DATA").unwrap();
    let divide: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let pols: Vec<String> = std::env::args().skip(2).collect();
    let jobs = reader::read_jobs(format!("{data}/philly/jobs.csv.gz")).unwrap();
    let groups = reader::read_groups(format!("{data}/philly/vcs.csv")).unwrap();
    for policy in pols {
        let mut runs = vec![];
        for g in &groups {
            let mine: Vec<_> = jobs
                .iter()
                .filter(|j| j.group == g.name && j.submit_s >= 0 && j.submit_s <= 5270340)
                .cloned()
                .collect();
            let cluster = helios::cluster(g.nodes / divide);
            let setup = Setup {
                inputs: cluster.inputs(),
                devices: cluster.devices(),
                policy: helios::policy(&policy, &mine).unwrap(),
                world: helios::world(&policy, &cluster, &mine),
                crash_every: None,
            };
            let out = run(setup, &mut |_| {}).unwrap();
            let r = (cluster.devices(), out);
            let one = Report::of(&policy, 0, std::slice::from_ref(&r));
            println!(
                "{} {} {} jct {:.2} q {:.2} p99 {} mk {} pre {} plans {} cpu {:.3}",
                g.name,
                policy,
                one.jobs,
                one.avg_jct_s,
                one.avg_queue_s,
                one.p99_jct_s,
                one.makespan_s,
                one.preemptions,
                one.plan_calls,
                one.cpu_s
            );
            runs.push(r);
        }
        let all = Report::of(&policy, 0, &runs);
        println!("{all:#?}");
    }
}
