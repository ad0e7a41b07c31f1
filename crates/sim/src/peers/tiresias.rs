//! The simulator of Tiresias (NSDI'19) with its `count` placement, which counts devices and ignores where they are.
//!
//! Its `fifo` is strict. Its `shortest` is preemptive and looks at every submission and completion: everybody, in
//! order of remaining time, takes devices from an empty cluster for as long as they last; who gets none waits or is
//! preempted, at no cost. Its `dlas` is our own least-attained-service order, without blocking.

use crate::workload::tiresias::TiresiasJob;
use crate::workload::{Cluster, Submission, tiresias};
use crate::world::VirtualWorld;
use consort_sched::belief::length;
use consort_sched::policy::{Order, Pipeline, Policy, Reclaim, order, place, reclaim, size};
use consort_sched::{Doing, Draft};
use consort_types::*;
use std::sync::Arc;

/// What the devices are called here.
pub const KIND: &str = "gpu";
/// Devices of every node in their clusters.
const NODE: u32 = 4;
/// The replayed policies, by the names of the benchmark.
pub const POLICIES: [&str; 3] = ["fifo", "shortest", "dlas"];

/// Preemptive shortest-remaining-time-first over device counts.
struct Shortest;

impl Policy for Shortest {
    fn name(&self) -> &str {
        "shortest"
    }

    fn fill(&self, draft: &mut Draft<'_>) {
        let (view, now) = (draft.view(), draft.now());
        // Who leaves keeps its devices for another moment; a plan made in it looks again when they are back.
        let kept =
            view.granted().filter(|&id| view.ask(id).is_some_and(|ask| ask.doing() != Doing::Releasing));
        let left = |id| length::work_left(&view, id, now).expect("every length is declared");
        let mut everybody: Vec<(Span, AskId)> = view.waiting().chain(kept).map(|id| (left(id), id)).collect();
        everybody.sort_unstable();
        let mut budget = view.usable_devices();
        let mut chosen = vec![];
        for (_, id) in everybody {
            let ask = view.ask(id).expect("it waits or runs");
            let (width, waits) = (ask.class().width(), ask.doing() == Doing::Waiting);
            if width <= budget {
                budget -= width;
                if waits {
                    chosen.push(ask);
                }
            } else if !waits {
                // Refused only while it is being brought up for somebody else's devices; the next event looks again.
                let _ = draft.stop(id, StopCause::Yield);
            }
        }
        for ask in chosen {
            if let Some(placement) = draft.find_room(&place::BestFit, &ask, &[ask.class().width() as u32]) {
                let started = draft.start(ask.id(), placement);
                debug_assert_eq!(started, Ok(()));
            }
        }
    }
}

/// One of the three.
pub fn policy(name: &str) -> Option<Arc<dyn Policy>> {
    let pipeline = |order: Arc<dyn Order>, reclaim: Vec<Box<dyn Reclaim>>| {
        let (size, place) = (Box::new(size::Widest), Arc::new(place::BestFit));
        Arc::new(Pipeline { name: name.into(), order, size, place, reclaim })
    };
    Some(match name {
        "fifo" => pipeline(Arc::new(order::Fifo), vec![]),
        "dlas" => pipeline(Arc::<order::LeastAttained>::default(), vec![Box::new(reclaim::Level)]),
        "shortest" => Arc::new(Shortest),
        _ => return None,
    })
}

/// Their cluster with so many devices; the queue blocks for `fifo` alone.
pub fn cluster(policy: &str, devices: u32) -> Cluster {
    let mut cluster = Cluster::uniform(KIND, devices / NODE, NODE);
    let strict = policy == "fifo";
    cluster.queues.push(QueueSpec { name: "default".into(), priority: 0, strict, tenants: vec![] });
    cluster
}

/// Their world: restarts are free, and lengths are known.
pub fn world(cluster: &Cluster, jobs: &[TiresiasJob]) -> VirtualWorld {
    let submissions: Arc<[Submission]> = jobs
        .iter()
        .map(|job| {
            let mut submission = tiresias::to_submission(job, KIND);
            let length = submission.truth.lengths[0];
            let spec = Arc::make_mut(&mut submission.spec);
            (spec.estimate, spec.restart_cost) = (Some(length), Span::ZERO);
            submission
        })
        .collect();
    VirtualWorld::new(cluster, submissions)
}
