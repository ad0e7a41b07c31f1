//! The plan as it is told.

use super::Request;
use super::score::Scorer;
use super::search::Found;
use crate::pipeline::schedule::{Schedule, Span};
use serde::Serialize;

/// Who does what.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// In which order stages work on microbatches.
    pub schedule: String,
    /// Parts of the network on each stage.
    pub chunks: usize,
    /// Microbatches of one iteration.
    pub microbatches: usize,
    /// In the order of the pipeline.
    pub stages: Vec<Stage>,
    /// One iteration.
    pub iteration_s: f64,
    /// Samples a second, where the batch is known.
    pub samples_per_s: Option<f64>,
    /// The same iteration by data parallelism alone, where that fits.
    pub data_parallel_s: Option<f64>,
    /// The same iteration on the fastest device alone, whatever its memory.
    pub one_device_s: f64,
    /// Whether this is data parallelism and nothing else.
    pub is_data_parallel: bool,
    /// What to do, in a sentence.
    pub advice: String,
    /// When each stage does what, its exchange of gradients not among it.
    #[serde(skip)]
    pub spans: Vec<Vec<Span>>,
    /// The schedule itself.
    #[serde(skip)]
    pub order: Option<Schedule>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Parts of the network, more than one where stages are visited more than once.
    pub parts: Vec<Part>,
    /// `host:number` in order of their replicas; consecutive ones share layers where `tensor` is above 1.
    pub devices: Vec<String>,
    /// What they are.
    pub kinds: Vec<String>,
    /// How many share the samples.
    pub replicas: usize,
    /// By replica: the part of the samples it gets; one number where all are alike.
    pub shares: Vec<f64>,
    /// How many devices share each layer.
    pub tensor: usize,
    /// Whether forward is repeated before backward.
    pub recompute: bool,
    /// Computing in one iteration.
    pub compute_s: f64,
    /// What it sends to other stages in one iteration, forward and backward.
    pub sent_bytes: f64,
    /// Exchange of gradients in one iteration.
    pub exchange_s: f64,
    /// The most that a device needs.
    pub memory_bytes: f64,
    /// What that device has; absent when it was said to have no end.
    pub memory_of_bytes: Option<f64>,
}

/// A stretch of the network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Its number in the order of the network.
    pub number: usize,
    /// Ids of its layers, in order.
    pub layers: Vec<String>,
    /// What the first is called.
    pub first: String,
    /// What the last is called.
    pub last: String,
    /// Their indices in the profile.
    #[serde(skip)]
    pub indices: Vec<usize>,
}

/// Data parallelism within so much of the best is simpler and therefore better advice.
const SIMPLER: f64 = 1.02;

/// What to do, in a sentence.
pub fn advice(best_s: f64, data_parallel_s: Option<f64>, is_data_parallel: bool, devices: usize) -> String {
    match data_parallel_s {
        Some(_) if is_data_parallel && devices > 1 => "just use data parallel".into(),
        Some(_) if devices == 1 => "one device is best: the others would cost more than they do".into(),
        Some(other) if other <= best_s * SIMPLER => {
            let more = 100.0 * (other / best_s - 1.0).max(0.0);
            format!("data parallel is simpler and takes only {more:.1} % longer: `--data-parallel` plans it")
        }
        Some(other) => format!("{:.2} times as fast as data parallel", other / best_s),
        None => "data parallel alone does not fit into memory, or cannot divide the batch".into(),
    }
}

pub(super) fn tell(request: &Request, scorer: &mut Scorer<'_>, found: &Found) -> Plan {
    let (candidate, scored) = &found.best;
    let is_data_parallel = candidate.groups.len() == 1 && candidate.groups[0].tensor == 1;
    let used = candidate.groups.iter().map(|group| group.devices.len()).sum();
    let data_parallel_s = found.data_parallel.as_ref().map(|(_, scored)| scored.time_s);
    let line = &scorer.lines[0];
    let alone = scorer.fleet.devices.iter().map(|device| line.times(device.kind, 0, line.pieces()).total());
    let one_device_s = alone.fold(f64::INFINITY, f64::min) * scorer.rules.minibatches;
    Plan {
        schedule: match candidate.groups.len() {
            1 => "none".into(),
            _ if candidate.is_fitted => format!("{}, fitted", candidate.schedule),
            _ => candidate.schedule.to_string(),
        },
        chunks: candidate.schedule.chunks(),
        microbatches: candidate.microbatches,
        stages: stages(request, scorer, found),
        iteration_s: scored.time_s,
        samples_per_s: request.samples.map(|samples| samples as f64 / scored.time_s),
        data_parallel_s,
        one_device_s,
        is_data_parallel,
        advice: advice(scored.time_s, data_parallel_s, is_data_parallel, used),
        spans: scorer.spans(candidate).unwrap_or_default(),
        order: (candidate.groups.len() > 1).then_some(candidate.schedule),
    }
}

fn stages(request: &Request, scorer: &Scorer<'_>, found: &Found) -> Vec<Stage> {
    let (candidate, scored) = &found.best;
    let Some(shapes) = scorer.shapes(candidate) else { return vec![] };
    let parts = scorer.parts(candidate, &shapes);
    let traffic = scorer.traffic(candidate, &shapes, &parts);
    let line = &scorer.lines[candidate.line];
    let stage = |group: usize| {
        let here: Vec<usize> = (0..parts.len()).filter(|&part| traffic.group_of[part] == group).collect();
        let part = |&number: &usize| {
            let (from, to) = (candidate.cuts[number], candidate.cuts[number + 1]);
            let indices = line.order[line.places[from]..line.places[to]].to_vec();
            let name = |index: Option<&usize>| {
                index.map_or(String::new(), |&index| {
                    let layer = &request.layers.layers[index];
                    if layer.name.is_empty() { layer.id.clone() } else { layer.name.clone() }
                })
            };
            Part {
                number,
                layers: indices.iter().map(|&index| request.layers.layers[index].id.clone()).collect(),
                first: name(indices.first()),
                last: name(indices.last()),
                indices,
            }
        };
        let crosses = |boundary: usize| {
            let (one, other) = (traffic.group_of[boundary], traffic.group_of[boundary + 1]);
            one != other && (one == group || other == group)
        };
        let sent = (0..parts.len() - 1).filter(|&boundary| crosses(boundary));
        let sent = sent.map(|boundary| line.crossing[candidate.cuts[boundary + 1]]).sum::<f64>();
        let shape = &shapes[group];
        let kinds = &scorer.fleet.kinds;
        let fullest = scored.memory[group].iter().zip(&shape.kinds).max_by(|(one, of), (other, than)| {
            let part = |needed: &f64, kind: usize| needed / kinds[kind].memory_bytes;
            part(one, of.0).total_cmp(&part(other, than.0))
        });
        let (memory_bytes, has) =
            fullest.map_or((0.0, f64::INFINITY), |(needed, (kind, _))| (*needed, kinds[*kind].memory_bytes));
        Stage {
            parts: here.iter().map(part).collect(),
            devices: candidate.groups[group].devices.iter().map(|&it| scorer.fleet.name(it)).collect(),
            kinds: shape.kinds.iter().map(|(kind, _)| kinds[*kind].name.clone()).collect(),
            replicas: shape.replicas,
            shares: shares(scorer, candidate, group, &parts, &here),
            tensor: shape.tensor,
            recompute: candidate.groups[group].recompute,
            compute_s: here.iter().map(|&part| parts[part].times.sum_s()).sum::<f64>()
                * candidate.microbatches as f64,
            sent_bytes: sent * scorer.rules.minibatches,
            exchange_s: traffic.after_s[group],
            memory_bytes,
            memory_of_bytes: Some(has).filter(|has| has.is_finite()),
        }
    };
    (0..candidate.groups.len()).map(stage).collect()
}

/// By replica, where kinds are unlike.
fn shares(
    scorer: &Scorer<'_>,
    candidate: &super::score::Candidate,
    group: usize,
    parts: &[super::cost::Part],
    here: &[usize],
) -> Vec<f64> {
    let group = &candidate.groups[group];
    let Some(shape) = scorer.fleet.shape(&group.devices, group.tensor) else { return vec![] };
    if shape.kinds.len() == 1 {
        return vec![1.0 / shape.replicas as f64];
    }
    let Some(&part) = here.first() else { return vec![] };
    let of = |device: usize| {
        let kind = scorer.fleet.devices[device].kind;
        let at = shape.kinds.iter().position(|(other, _)| *other == kind);
        at.map_or(0.0, |at| parts[part].shares[at])
    };
    group.devices.chunks(group.tensor).map(|replica| of(replica[0])).collect()
}
