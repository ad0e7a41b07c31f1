//! A point as stages with devices, in the form of every other plan.

use super::Request;
use super::points::{self, Point};
use crate::pipeline::schedule::{Schedule, Span};
use crate::pipeline::whole;

/// The stages of a point. Devices are named by their rank, those that share a layer next to each other.
pub fn stages(request: &Request, point: &Point) -> Vec<whole::Stage> {
    let layers = points::parts(request, point).unwrap_or_default();
    let cost = points::cost(request, point);
    let schedule = schedule(point);
    let (stages, parts) = (point.pipeline as usize, layers.len());
    let width = point.tensor * point.data;
    let microbatches = f64::from(point.microbatches);
    let stage = |stage: usize| {
        let here: Vec<usize> = (0..parts).filter(|&part| schedule.device_of(part, stages) == stage).collect();
        let boundaries = here.iter().map(|&part| usize::from(part > 0) + usize::from(part + 1 < parts));
        let handed = request.shape.handed_bytes() * request.batch as f64;
        let ranks = stage as u32 * width..(stage as u32 + 1) * width;
        whole::Stage {
            parts: here.iter().map(|&number| part(request, &layers, number)).collect(),
            devices: ranks.map(|rank| format!("rank{rank}")).collect(),
            kinds: vec![],
            replicas: point.data as usize,
            shares: vec![1.0 / f64::from(point.data)],
            tensor: point.tensor as usize,
            recompute: point.recompute,
            compute_s: here.iter().map(|&part| cost.parts[part].sum_s()).sum::<f64>() * microbatches,
            sent_bytes: if stages > 1 { boundaries.sum::<usize>() as f64 * handed } else { 0.0 },
            exchange_s: cost.after_s[stage],
            memory_bytes: points::memory_on(request, point, &layers, stage as u32),
            memory_of_bytes: Some(request.memory_bytes).filter(|has| has.is_finite()),
        }
    };
    (0..stages).map(stage).collect()
}

/// A part: the embedding is layer 0, the head the one behind the last.
fn part(request: &Request, layers: &[u32], number: usize) -> whole::Part {
    let before: u32 = layers[..number].iter().sum();
    let from = if number == 0 { 0 } else { before + 1 };
    let is_last = number + 1 == layers.len();
    let to = before + layers[number] + u32::from(is_last);
    let name = |index: u32| match index {
        0 => "embedding".to_string(),
        index if index > request.shape.layers => "head".into(),
        index => format!("layer{index}"),
    };
    whole::Part {
        number,
        layers: (from..=to).map(name).collect(),
        first: name(from),
        last: name(to),
        indices: (from as usize..=to as usize).collect(),
    }
}

/// In which order stages work.
pub fn schedule(point: &Point) -> Schedule {
    match point.chunks {
        1 => Schedule::OneForwardOneBackward,
        chunks => Schedule::Interleaved { chunks },
    }
}

/// When each stage does what; empty where that is too much to simulate.
pub fn spans(request: &Request, point: &Point) -> Vec<Vec<Span>> {
    let mut spans = vec![vec![]; point.pipeline as usize];
    points::run(request, point, |stage, span| spans[stage].push(span));
    spans
}

/// As every other plan.
pub fn whole(request: &Request, point: &Point, data_parallel_s: Option<f64>) -> whole::Plan {
    let is_data_parallel = point.tensor == 1 && point.pipeline == 1;
    let alone = request.shape.operations() * request.batch as f64 / request.operations_per_s;
    whole::Plan {
        schedule: if point.pipeline == 1 { "none".into() } else { schedule(point).to_string() },
        chunks: point.chunks as usize,
        microbatches: point.microbatches as usize,
        stages: stages(request, point),
        iteration_s: point.iteration_s,
        samples_per_s: Some(request.batch as f64 / point.iteration_s),
        data_parallel_s,
        one_device_s: alone,
        is_data_parallel,
        advice: whole::advice(point.iteration_s, data_parallel_s, is_data_parallel, request.devices as usize),
        spans: spans(request, point),
        order: (point.pipeline > 1).then(|| schedule(point)),
    }
}
