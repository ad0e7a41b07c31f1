//! The trace-driven simulator of Helios (SC'21): FIFO, SJF and QSSF without preemption, SRTF with.
//!
//! Quirks that are kept: a job of up to one node's devices sits on one node; a wider one takes wholly free nodes,
//! lowest first, and its remainder goes to the emptiest other node. The first job that does not fit blocks the
//! rest. QSSF skips its sort when everybody in the queue has just arrived. SRTF looks once a second while anything
//! waits, and sees the end of a job one second late. See [`srtf`] for the latter.

pub mod srtf;

use crate::workload::helios::{HeliosJob, to_submission};
use crate::workload::{Cluster, Submission};
use crate::world::{Delays, VirtualWorld};
use consort_sched::policy::{Key, Need, Order, Pipeline, Place, Policy, order, size};
use consort_sched::{Draft, View};
use consort_types::*;
use std::sync::Arc;

/// Devices of every node in their clusters.
const NODE: u32 = 8;
/// What the devices are called here.
pub const KIND: &str = "gpu";

/// The four replayed policies, by the names of the benchmark.
pub const POLICIES: [&str; 4] = ["fifo", "sjf", "qssf", "srtf"];

/// Their placement.
pub struct WholeNodes;

impl Place for WholeNodes {
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        let total = need.total();
        if need.free() < total {
            return None;
        }
        let mut grants = Vec::with_capacity(total as usize);
        if total <= NODE {
            need.take(need.tightest(total)?, total, &mut grants);
            return Some(grants);
        }
        let whole: Vec<NodeId> = need.nodes_with(NODE).take((total / NODE) as usize).collect();
        if whole.len() < (total / NODE) as usize {
            return None;
        }
        whole.iter().for_each(|&node| need.take(node, NODE, &mut grants));
        let rest = total % NODE;
        if rest > 0 {
            let others = (rest..=NODE).rev().flat_map(|free| need.nodes_with(free));
            let last = others.into_iter().find(|node| !whole.contains(node))?;
            need.take(last, rest, &mut grants);
        }
        Some(grants)
    }
}

/// QSSF with the predictions it is given.
struct Qssf {
    usual: Pipeline,
    /// For a queue in which everybody has just arrived.
    fresh: Pipeline,
}

struct ByPrediction(Arc<[i64]>);
struct ByWidth;

fn width(view: &View<'_>, ask: AskId) -> i64 {
    view.ask(ask).map_or(0, |ask| ask.class().width() as i64)
}

impl Order for ByPrediction {
    fn key(&self, view: &View<'_>, ask: AskId, _now: Time) -> Key {
        let width = width(view, ask);
        Key { level: self.0[ask.job.index()] * width, rank: width }
    }
}

impl Order for ByWidth {
    fn key(&self, view: &View<'_>, ask: AskId, _now: Time) -> Key {
        Key { level: width(view, ask), rank: 0 }
    }
}

impl Policy for Qssf {
    fn name(&self) -> &str {
        "qssf"
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        let (view, now) = (draft.view(), draft.now());
        let is_fresh = |ask: &AskId| view.ask(*ask).is_some_and(|ask| ask.submitted() == now);
        let joined = view.waiting().rev().take_while(is_fresh).count();
        if view.waiting_count() > joined {
            return self.usual.fill(draft);
        }
        self.fresh.fill(draft);
        if view.waiting().any(|ask| !draft.starts(ask)) {
            draft.wake_at(now + Span::seconds(1));
        }
    }
}

fn strict(name: &str, order: impl Order + 'static) -> Pipeline {
    Pipeline {
        name: name.into(),
        order: Arc::new(order),
        size: Box::new(size::Widest),
        place: Arc::new(WholeNodes),
        reclaim: vec![],
    }
}

/// One of the four, for these jobs in this order.
pub fn policy(name: &str, jobs: &[HeliosJob]) -> Option<Arc<dyn Policy>> {
    Some(match name {
        "fifo" => Arc::new(strict("fifo", order::Fifo)),
        "sjf" => Arc::new(strict("sjf", order::Shortest)),
        "qssf" => {
            let predictions: Arc<[i64]> = jobs.iter().map(|job| job.est_s).collect();
            let usual = strict("qssf", ByPrediction(predictions));
            Arc::new(Qssf { usual, fresh: strict("qssf", ByWidth) })
        }
        "srtf" => Arc::new(srtf::Srtf),
        _ => return None,
    })
}

/// One of their clusters: one strict queue.
pub fn cluster(nodes: u32) -> Cluster {
    let mut cluster = Cluster::uniform(KIND, nodes, NODE);
    cluster.queues.push(QueueSpec { name: "default".into(), priority: 0, strict: true, tenants: vec![] });
    cluster
}

/// Their world: job lengths are known to the policies that use them.
pub fn world(policy: &str, cluster: &Cluster, jobs: &[HeliosJob]) -> VirtualWorld {
    let submissions: Arc<[Submission]> = jobs
        .iter()
        .map(|job| {
            let mut submission = to_submission(job, KIND);
            let spec = Arc::make_mut(&mut submission.spec);
            spec.tenant = "default".into();
            spec.estimate = Some(Span::seconds(job.duration_s));
            submission
        })
        .collect();
    let ended = if policy == "srtf" { Span::seconds(1) } else { Span::ZERO };
    VirtualWorld::new(cluster, submissions).delayed(Delays { ended, ..Delays::default() })
}
