//! How much of a cluster with shared devices can be allocated before nothing fits: FGD's experiment on the openb lists.

use super::{Anchor, BenchError, Progress, Row, Scenario};
use crate::peers::openb::{self as peer, Left, Typical};
use crate::report::{Report, peak_rss_mib};
use crate::workload::openb::{Node, Pod, parse_nodes, parse_pods, to_cluster, to_shapes};
use crate::workload::{ReadError, read};
use consort_sched::Scheduler;
use consort_types::*;
use cpu_time::ThreadTime;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

pub(super) const OPENB: Scenario = Scenario {
    name: "frag-openb",
    about: "1,213 nodes whose devices are shared, filled until nothing fits: how much is allocated, how much is in pieces",
    cases: &[
        "default",
        "gpushare40",
        "gpushare80",
        "multigpu20",
        "multigpu40",
        "gpuspec10",
        "gpuspec25",
        "cpu050",
        "cpu200",
    ],
    more_cases: &[
        "cpu037",
        "cpu072",
        "cpu100",
        "cpu235",
        "cpu250",
        "cpu300",
        "gpushare20",
        "gpushare60",
        "gpushare100",
        "gpuspec05",
        "gpuspec20",
        "gpuspec33",
        "multigpu30",
        "multigpu50",
    ],
    policies: &peer::POLICIES,
    takes_any: false,
    needs_data: true,
};

/// The seeds of the published results; another generator, so means are compared.
const SEEDS: std::ops::RangeInclusive<u64> = 42..=51;
/// How far from the published mean is close enough, in points.
const SLACK: f64 = 0.4;
/// What FGD must reach on the default mix.
const FGD: f64 = 95.0;
/// CPU time that a run of FGD may take.
const FGD_CPU_S: f64 = 1.0;

pub(super) fn run(
    data: &Path,
    cases: &[String],
    policies: &[String],
    seeds: &[u64],
    progress: &mut Progress<'_>,
) -> Result<Vec<Row>, BenchError> {
    let folder = data.join("openb");
    let (file, bytes) = read::bytes(&folder.join("nodes_gpu.csv.gz"))?;
    let nodes = parse_nodes(&file, &bytes)?;
    let published = published(&folder.join("reference/fgd_atc23.csv.gz"))?;
    let seeds: Vec<u64> = if seeds.is_empty() { SEEDS.collect() } else { seeds.to_vec() };
    let mut rows = vec![];
    for case in cases {
        let path = match case.as_str() {
            "default" => folder.join("pods_default.csv.gz"),
            case => folder.join(format!("variants/pods_{case}.csv.gz")),
        };
        let (file, bytes) = read::bytes(&path)?;
        let pods = parse_pods(&file, &bytes)?;
        let mix = Mix { typical: peer::typical(&pods), nodes: &nodes, pods: &pods };
        for policy in policies {
            let theirs = published.iter().find(|row| row.0 == *case && row.1 == *policy).map(|row| row.2);
            let first = rows.len();
            for (index, &seed) in seeds.iter().enumerate() {
                progress(&format!("{case} {policy}"), index as u64, seeds.len() as u64);
                rows.push(mix.row(case, policy, seed, theirs)?);
            }
            judge(&mut rows[first..], policy, theirs);
        }
    }
    Ok(rows)
}

/// Bars are about means; the last row of a policy tells what is missed.
fn judge(rows: &mut [Row], policy: &str, theirs: Option<f64>) {
    let figures: Vec<f64> = rows.iter().filter_map(|row| row.figure("alloc_pct")).collect();
    let mean = figures.iter().sum::<f64>() / figures.len().max(1) as f64;
    let Some(last) = rows.last_mut() else { return };
    let told = format!("on average {mean:.2} % is allocated");
    if let Some(theirs) = theirs {
        let is_off = if policy == "fgd" { mean < theirs - SLACK } else { (mean - theirs).abs() > SLACK };
        last.misses.extend(is_off.then(|| format!("{told}, published are {theirs:.2} %")));
    }
    if policy == "fgd" && last.case == "default" && mean < FGD {
        last.misses.push(format!("{told}, the bar is {FGD} %"));
    }
    for row in rows.iter_mut().filter(|row| row.policy == "fgd" && row.report.cpu_s > FGD_CPU_S) {
        row.misses.push(format!("cpu_s is {:.2}, the bar is {FGD_CPU_S}", row.report.cpu_s));
    }
}

struct Mix<'a> {
    nodes: &'a [Node],
    pods: &'a [Pod],
    typical: Vec<Typical>,
}

impl Mix<'_> {
    fn row(&self, case: &str, policy: &str, seed: u64, theirs: Option<f64>) -> Result<Row, BenchError> {
        let models: BTreeSet<&str> = self.nodes.iter().map(|node| node.model.as_str()).collect();
        let specs: Vec<Option<Arc<JobSpec>>> = self.pods.iter().map(|pod| spec(pod, &models)).collect();
        let devices: u64 = self.nodes.iter().map(|node| u64::from(node.gpus)).sum();
        let arrivals = peer::arrivals(self.pods, devices, seed);
        let mut floor = Floor::new(self, policy, seed)?;
        let began = ThreadTime::now();
        arrivals.iter().filter_map(|&index| specs[index].as_ref()).for_each(|spec| floor.arrive(spec));
        let cpu = began.elapsed();
        let mut report = Report::of(policy, seed, &[]);
        report.jobs = arrivals.len() as u64;
        (report.plan_calls, report.events) = (floor.plans, floor.scheduler.view().seen());
        (report.cpu_s, report.peak_rss_mib) = (cpu.as_secs_f64(), peak_rss_mib());
        report.state_hash = floor.scheduler.state_hash();
        let all = (devices * 1000) as f64;
        let weight: u64 = self.typical.iter().map(|typical| typical.count).sum();
        let (allocated, fragmented) = floor.counted(self);
        let more = vec![
            ("alloc_pct", 100.0 * allocated as f64 / all),
            ("frag_pct", 100.0 * fragmented as f64 / (all * weight as f64)),
            ("placed", floor.placed as f64),
        ];
        let anchor = theirs.map(|value| Anchor {
            who: "FGD's authors, mean of 10 seeds".into(),
            metric: "alloc_pct".into(),
            value,
        });
        let (case, policy) = (case.to_string(), policy.to_string());
        Ok(Row { case, policy, seed, report, anchor, misses: vec![], jobs: vec![], more, is_barred: true })
    }
}

/// What a pod submits; none if no node has a model that it accepts.
fn spec(pod: &Pod, models: &BTreeSet<&str>) -> Option<Arc<JobSpec>> {
    let mut shapes = to_shapes(pod);
    shapes.retain(|shape| shape.kind.as_deref().is_none_or(|kind| models.contains(kind)));
    let mut spec = JobSpec::gang(pod.name.as_str(), 1, shapes.first()?.clone());
    spec.stages[0].roles[0].shapes = shapes;
    Some(Arc::new(spec))
}

/// The cluster as it fills.
struct Floor {
    scheduler: Scheduler,
    now: Time,
    plans: u64,
    placed: u64,
}

impl Floor {
    fn new(mix: &Mix<'_>, policy: &str, seed: u64) -> Result<Floor, BenchError> {
        let policy = peer::policy(policy, &mix.typical, seed).expect("one of the policies");
        let scheduler = Scheduler::new(policy, Capabilities::default());
        let mut floor = Floor { scheduler, now: Time::ZERO, plans: 0, placed: 0 };
        for input in to_cluster(mix.nodes).inputs() {
            let is_taken = floor.say(input);
            assert!(is_taken, "the cluster is in order");
        }
        Ok(floor)
    }

    /// Whether it was accepted.
    fn say(&mut self, input: Input) -> bool {
        let accepted = self.scheduler.accept(self.now, input);
        let is_taken = accepted.is_ok();
        accepted.into_iter().for_each(|event| self.scheduler.apply(&event));
        is_taken
    }

    /// A pod comes, and stays or is sent away.
    fn arrive(&mut self, spec: &Arc<JobSpec>) {
        self.now = self.now + Span::seconds(1);
        let job = self.scheduler.view().next_job();
        if !self.say(Input::Submit(spec.clone())) {
            return;
        }
        let plan = self.scheduler.plan(self.now);
        self.plans += 1;
        if plan.is_empty() {
            let is_gone = self.say(Input::Cancel(job));
            assert!(is_gone, "it waits");
        } else {
            self.placed += 1;
            self.scheduler.apply(&Event::new(self.now, Fact::Planned(plan)));
        }
        self.scheduler.forget_outboxes();
    }

    /// Thousandths of a device that are allocated, and how much of the rest is in pieces.
    fn counted(&self, mix: &Mix<'_>) -> (u64, u64) {
        let view = self.scheduler.view();
        let mut left: Vec<Left> = mix.nodes.iter().map(whole).collect();
        let mut allocated = 0;
        for ask in view.granted().filter_map(|id| view.ask(id)) {
            let shape = &ask.spec().stages[0].roles[0].shapes[0];
            for grant in ask.grants().iter().filter(|grant| !grant.is_of_host()) {
                let (node, position) = view.locate(grant.device);
                left[node.index()].devices[position as usize] -= grant.share;
                allocated += u64::from(grant.share);
            }
            if let Some(grant) = ask.grants().first() {
                left[view.locate(grant.device).0.index()].cpu_milli -= shape.host.cpu_milli;
            }
        }
        (allocated, left.iter().map(|left| peer::fragmented(left, &mix.typical)).sum())
    }
}

fn whole(node: &Node) -> Left {
    let devices = vec![WHOLE; node.gpus as usize];
    Left { model: node.model.clone(), cpu_milli: node.cpu_milli, devices }
}

/// Mix, our name of the policy, and the mean allocation when 130 % have arrived.
fn published(path: &Path) -> Result<Vec<(String, String, f64)>, BenchError> {
    if !path.exists() {
        return Ok(vec![]);
    }
    let (file, bytes) = read::bytes(path)?;
    let fail = |message: &str| BenchError::Data(ReadError::whole(&file, message.to_string()));
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let headers = reader.headers().map_err(|error| fail(&error.to_string()))?.clone();
    let mut rows = vec![];
    for row in reader.records() {
        let row = row.map_err(|error| fail(&error.to_string()))?;
        let text = |name: &str| {
            let position = headers.iter().position(|header| header == name);
            position
                .and_then(|position| row.get(position))
                .ok_or_else(|| fail(&format!("expected a column {name}")))
        };
        let policy = text("policy")?.to_lowercase();
        if text("metric")? == "alloc_pct" && text("arrived_pct")? == "130" {
            let mean = text("mean10")?.parse().map_err(|_| fail("expected a number in column mean10"))?;
            rows.push((text("workload")?.to_string(), policy, mean));
        }
    }
    Ok(rows)
}
