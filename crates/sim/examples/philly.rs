use consort_sim::bench::*;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let data = std::env::var("CONSORT_BENCH_DATA").unwrap().into();
    let pol = if a.len() > 2 { a[2].split(',').map(String::from).collect() } else { vec![] };
    let r = Request {
        scenario: a[0].clone(),
        cases: if a.len() > 1 && a[1] != "-" { a[1].split(',').map(String::from).collect() } else { vec![] },
        policies: pol,
        seeds: vec![],
        data,
    };
    for row in run(&r, &mut |_, _, _| {}).unwrap() {
        let m = &row.report;
        println!(
            "{} {} jobs {} fin {} jct {:.2} q {:.2} p99 {} mk {} pre {} plans {} ev {} cpu {:.3} hash {:x} anchor {:?} rss {:?} misses {:?}",
            row.case,
            row.policy,
            m.jobs,
            m.finished,
            m.avg_jct_s,
            m.avg_queue_s,
            m.p99_jct_s,
            m.makespan_s,
            m.preemptions,
            m.plan_calls,
            m.events,
            m.cpu_s,
            m.state_hash,
            row.anchor.map(|a| a.value),
            m.peak_rss_mib,
            row.misses
        );
    }
}
