//! The experiment of FGD (ATC'23) on the openb lists: pods arrive one by one, never leave, and are dropped when they do not
//! fit; what counts is how much of the devices is allocated in the end.
//!
//! Its policies only place: `random` and `fgd` are ours, [`BestFit`] is the paper's baseline. What is typical, and what is
//! fragmented, is counted here apart from the policy that tries to avoid it.

use crate::dice::Dice;
use crate::workload::openb::{Pod, to_shapes};
use consort_sched::policy::order::Fifo;
use consort_sched::policy::place::{Asked, LeastFragments, Need, Place, Random};
use consort_sched::policy::size::Widest;
use consort_sched::{Pipeline, Policy};
use consort_types::{Grant, NodeId};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The policies of the experiment.
pub const POLICIES: [&str; 3] = ["random", "bestfit", "fgd"];

/// How far arrivals go beyond what there is, in percent of all devices.
const ARRIVED: u64 = 130;

/// One of [`POLICIES`]. FGD is told what is typical of the mix, as in the paper.
pub fn policy(name: &str, typical: &[Typical], seed: u64) -> Option<Arc<dyn Policy>> {
    let place: Arc<dyn Place> = match name {
        "random" => Arc::new(Random { seed }),
        "bestfit" => Arc::new(BestFit),
        "fgd" => {
            let asked = typical
                .iter()
                .map(|typical| Asked { shapes: to_shapes(&typical.pod), weight: typical.count });
            Arc::new(LeastFragments { asked: Some(asked.collect()) })
        }
        _ => return None,
    };
    let (order, size, reclaim) = (Arc::new(Fifo), Box::new(Widest), vec![]);
    Some(Arc::new(Pipeline { name: name.into(), order, size, place, reclaim }))
}

/// The paper's best fit, for single members: the node with the least left of processors and devices together, the tightest device in it.
/// Processors count in parts of 128, devices in parts of 8, which is what the largest nodes have.
pub struct BestFit;

impl BestFit {
    /// What is left of a node once a member is there, in parts that make both sums whole numbers.
    fn left(need: &Need<'_>, node: NodeId) -> u64 {
        let taken = u64::from(need.devices) * u64::from(need.share);
        let cpu = need.host_left(node).cpu_milli.saturating_sub(need.host.cpu_milli);
        cpu + 16 * (need.idle(node) - taken)
    }

    fn node(need: &Need<'_>) -> Option<NodeId> {
        let nodes = need.nodes().filter(|&node| need.has_room(node));
        nodes.min_by_key(|&node| Self::left(need, node))
    }
}

impl Place for BestFit {
    fn place(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        let mut grants = vec![];
        need.take(Self::node(need)?, 1, &mut grants);
        Some(grants)
    }

    fn part(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        let node = Self::node(need)?;
        let (device, _) = need.parts(node).min_by_key(|&(_, free)| free)?;
        let mut grants = vec![];
        need.grant(node, &[device], &mut grants);
        Some(grants)
    }

    fn seat(&self, need: &Need<'_>) -> Option<Vec<Grant>> {
        let mut grants = vec![];
        need.grant(Self::node(need)?, &[], &mut grants);
        Some(grants)
    }

    fn cost(&self, need: &Need<'_>, grants: &[Grant]) -> Option<i64> {
        Some(Self::left(need, need.node_of(grants.first()?)) as i64)
    }
}

/// A shape that many pods have.
pub struct Typical {
    /// One of them.
    pub pod: Pod,
    /// How many there are.
    pub count: u64,
}

/// The most frequent shapes that together cover 95 % of the pods. Shapes that are equally frequent: the larger first.
pub fn typical(pods: &[Pod]) -> Vec<Typical> {
    let mut shapes: BTreeMap<_, (&Pod, u64)> = BTreeMap::new();
    for pod in pods {
        let shape = (pod.cpu_milli, pod.gpu_milli, pod.gpus, &pod.models);
        shapes.entry(shape).or_insert((pod, 0)).1 += 1;
    }
    let mut shapes: Vec<_> = shapes.into_iter().collect();
    shapes.sort_by_key(|(shape, (_, count))| Reverse((*count, *shape)));
    let (mut covered, mut typical) = (0, vec![]);
    for (_, (pod, count)) in shapes {
        if covered * 100 >= 95 * pods.len() as u64 {
            break;
        }
        covered += count;
        typical.push(Typical { pod: pod.clone(), count });
    }
    typical
}

/// Who arrives, in order, by position in the list: everybody and repeats drawn at random, or as many as may arrive.
pub fn arrivals(pods: &[Pod], devices: u64, seed: u64) -> Vec<usize> {
    let mut dice = Dice::new(seed);
    let most = devices * 1000 * ARRIVED / 100;
    let asks = |index: usize| u64::from(pods[index].gpus) * u64::from(pods[index].gpu_milli);
    let mut order: Vec<usize> = (0..pods.len()).collect();
    let mut arrived: u64 = order.iter().map(|&index| asks(index)).sum();
    while arrived > most && !order.is_empty() {
        let gone = order.swap_remove(dice.below(order.len() as u64) as usize);
        arrived -= asks(gone);
    }
    while arrived < most && !pods.is_empty() {
        let next = dice.below(pods.len() as u64) as usize;
        if arrived + asks(next) > most {
            break;
        }
        arrived += asks(next);
        order.push(next);
    }
    for index in (1..order.len()).rev() {
        order.swap(index, dice.below(index as u64 + 1) as usize);
    }
    order
}

/// What is left of a node.
pub struct Left {
    /// Its model.
    pub model: String,
    /// Thousandths of a processor.
    pub cpu_milli: u64,
    /// Thousandths of each device.
    pub devices: Vec<u16>,
}

/// How much of a node is useless for what is typical, in thousandths of a device times the number of typical pods.
pub fn fragmented(left: &Left, typical: &[Typical]) -> u64 {
    let idle: u64 = left.devices.iter().map(|&free| u64::from(free)).sum();
    let each = typical.iter().map(|Typical { pod, count }| {
        let fits = |free: &&u16| **free >= pod.gpu_milli;
        let is_allowed = pod.models.is_empty() || pod.models.contains(&left.model);
        let is_useless = pod.gpus == 0
            || left.cpu_milli < pod.cpu_milli
            || !is_allowed
            || left.devices.iter().filter(fits).count() < pod.gpus as usize;
        let short = || left.devices.iter().filter(|free| !fits(free)).map(|&free| u64::from(free)).sum();
        count * if is_useless { idle } else { short() }
    });
    each.sum()
}
