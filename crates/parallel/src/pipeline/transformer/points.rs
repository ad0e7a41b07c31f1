//! Points of the search: every way to spread a transformer over devices that are alike, and what it costs.
//!
//! Ranks are laid out with the devices that share a layer next to each other, then replicas, then stages, as Megatron does.

use super::Request;
use crate::pipeline::schedule::{Pipe, Span, Times, order};
use crate::pipeline::whole::traffic::Traffic;
use serde::Serialize;

/// One way to do it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Replicas.
    pub data: u32,
    /// Devices that share a layer.
    pub tensor: u32,
    /// Stages.
    pub pipeline: u32,
    /// Parts on each stage.
    pub chunks: u32,
    /// Sequences in one microbatch of one replica.
    pub micro_batch: u32,
    /// Microbatches.
    pub microbatches: u32,
    /// Whether layers are computed again before backward.
    pub recompute: bool,
    /// One iteration.
    pub iteration_s: f64,
    /// On the device that needs most.
    pub memory_bytes: f64,
}

/// All of them, by the arithmetic.
pub fn all(request: &Request) -> Vec<Point> {
    let mut points = vec![];
    let divisors = |of: u32| (1..=of).filter(move |by| of.is_multiple_of(*by));
    for tensor in divisors(request.devices.min(request.per_host)) {
        if tensor > request.most_tensor || (request.only_data_parallel && tensor > 1) {
            break;
        }
        if !request.shape.heads.is_multiple_of(tensor) || !request.devices.is_multiple_of(tensor) {
            continue;
        }
        let rest = request.devices / tensor;
        for pipeline in divisors(rest).take_while(|&it| it <= request.shape.layers) {
            if request.only_data_parallel && pipeline > 1 {
                break;
            }
            let data = rest / pipeline;
            for micro_batch in [1, 2, 4, 8, 16, 32] {
                let each = u64::from(data) * micro_batch;
                if !request.batch.is_multiple_of(each) {
                    continue;
                }
                let microbatches = (request.batch / each) as u32;
                if request.microbatches.is_some_and(|wanted| wanted != microbatches) {
                    continue;
                }
                for chunks in [1, 2, 3, 4, 6, 8] {
                    for recompute in [false, true] {
                        let micro_batch = micro_batch as u32;
                        let mut point = Point {
                            data,
                            tensor,
                            pipeline,
                            chunks,
                            micro_batch,
                            microbatches,
                            recompute,
                            iteration_s: 0.0,
                            memory_bytes: 0.0,
                        };
                        if is_possible(request, &point) {
                            (point.iteration_s, point.memory_bytes) = judged(request, &point);
                            points.push(point);
                        }
                    }
                }
            }
        }
    }
    points
}

fn is_possible(request: &Request, point: &Point) -> bool {
    let (fewest, most) = request.chunks;
    let is_round = match point.pipeline {
        1 => point.chunks == 1,
        stages => {
            (fewest..=most).contains(&point.chunks)
                && (point.chunks == 1 || point.microbatches.is_multiple_of(stages))
        }
    };
    is_round && parts(request, point).is_some()
}

/// How many layers each part has: as even as can be, and as many fewer in the last as the head is worth. `None` when a part
/// would have none.
pub fn parts(request: &Request, point: &Point) -> Option<Vec<u32>> {
    let parts = point.pipeline * point.chunks;
    let layers = request.shape.layers;
    if parts > layers {
        return None;
    }
    if parts == 1 {
        return Some(vec![layers]);
    }
    let (layer, head) = (request.shape.layer(), request.shape.head());
    let worth = (head.forward + head.backward) / (layer.forward + layer.backward);
    // The fewest layers for the longest part, such that all find a place.
    let last = |most: u32| (f64::from(most) - worth).max(0.0) as u32;
    let most = (1..=layers).find(|&most| (parts - 1) * most + last(most) >= layers)?;
    let in_last = last(most).clamp(1, layers - (parts - 1));
    let (each, more) = ((layers - in_last) / (parts - 1), (layers - in_last) % (parts - 1));
    let mut list: Vec<u32> = (0..parts - 1).map(|part| each + u32::from(part < more)).collect();
    list.push(in_last);
    list.iter().all(|layers| *layers > 0).then_some(list)
}

/// What is simulated: every part, what crosses between them, and the exchange of gradients.
pub struct Cost {
    /// What each part takes for one microbatch.
    pub parts: Vec<Times>,
    /// How long a path is taken by what crosses it.
    pub send_s: f64,
    /// How much later it is there.
    pub latency_s: f64,
    /// By stage: its exchange of gradients.
    pub after_s: Vec<f64>,
}

/// The figures of a point.
pub fn cost(request: &Request, point: &Point) -> Cost {
    let (shape, tensor) = (&request.shape, f64::from(point.tensor));
    let sequences = f64::from(point.micro_batch);
    let speed = request.operations_per_s * tensor;
    let ring = |members: f64| if members > 1.0 { 2.0 * (members - 1.0) / members } else { 0.0 };
    let handed = shape.handed_bytes() * sequences;
    let sums = 2.0
        * (ring(tensor) * handed / request.inside.bandwidth
            + 2.0 * (tensor - 1.0) * request.inside.latency_s);
    let of = |layers: u32, is_last: bool| {
        let (layer, head) = (shape.layer(), shape.head());
        let many = f64::from(layers);
        let heads = if is_last { 1.0 } else { 0.0 };
        let forward_s = sequences * (many * layer.forward + heads * head.forward) / speed + many * sums;
        let backward = sequences * (many * layer.backward + heads * head.backward) / speed + many * sums;
        let again = if point.recompute { many * (sequences * layer.forward / speed + sums) } else { 0.0 };
        // 1F1B and its kin run backward as one, so that its halves need not be told apart.
        Times { forward_s, backward_s: backward + again, weight_s: 0.0 }
    };
    let layers = parts(request, point).unwrap_or_default();
    let last = layers.len().saturating_sub(1);
    let times = layers.iter().enumerate().map(|(part, &layers)| of(layers, part == last)).collect();
    // Stages are in one host only where a host holds several; a host's port carries what all its devices send.
    let width = point.tensor * point.data;
    let is_inside = request.devices <= request.per_host || width * 2 <= request.per_host;
    let link = if is_inside { request.inside } else { request.between };
    let ports = if is_inside { tensor } else { tensor / f64::from(request.per_host.min(width)) };
    let after_s = (0..point.pipeline).map(|stage| exchange(request, point, &layers, stage)).collect();
    Cost { parts: times, send_s: handed / ports / link.bandwidth, latency_s: link.latency_s, after_s }
}

/// By ring among the replicas of a host, then over hosts, whose port carries the gradients of all its devices.
fn exchange(request: &Request, point: &Point, layers: &[u32], stage: u32) -> f64 {
    if point.data == 1 {
        return 0.0;
    }
    let bytes = parameters(request, point, layers, stage) * f64::from(request.shape.number_bytes);
    let within = point.data.min((request.per_host / point.tensor).max(1));
    let hosts = (f64::from(point.data) / f64::from(within)).ceil();
    let ring = |members: f64| if members > 1.0 { 2.0 * (members - 1.0) / members } else { 0.0 };
    let tensor = f64::from(point.tensor);
    let steps = |members: f64| 2.0 * (members - 1.0).max(0.0);
    // As many groups share the port of a host as it has devices that hold different parts.
    let inside = ring(f64::from(within)) * bytes / tensor / request.inside.bandwidth;
    let between = ring(hosts) * bytes / request.between.bandwidth;
    inside
        + between
        + steps(f64::from(within)) * request.inside.latency_s
        + steps(hosts) * request.between.latency_s
}

/// Parameters of a stage, over all devices that share its layers.
fn parameters(request: &Request, point: &Point, layers: &[u32], stage: u32) -> f64 {
    let here: u32 = layers.iter().skip(stage as usize).step_by(point.pipeline as usize).sum();
    let mut parameters = f64::from(here) * request.shape.layer().parameters;
    if stage == 0 {
        parameters += request.shape.embedding().parameters;
    }
    if stage + 1 == point.pipeline {
        parameters += request.shape.head().parameters;
    }
    parameters
}

/// Seconds and bytes by the arithmetic: all microbatches through the longest stage, and the pipeline filled once, by as much
/// less as there are parts on a stage.
fn judged(request: &Request, point: &Point) -> (f64, f64) {
    let cost = cost(request, point);
    let (stages, chunks) = (point.pipeline as usize, point.chunks as usize);
    let stage = |stage: usize| {
        let parts = cost.parts.iter().skip(stage).step_by(stages);
        parts.map(Times::sum_s).sum::<f64>()
    };
    let longest = (0..stages).map(stage).fold(0.0, f64::max);
    let all: f64 = (0..stages).map(stage).sum();
    let sent = 2.0 * (stages as f64 - 1.0) * (cost.send_s + cost.latency_s);
    let fill = (all - longest) / chunks as f64 + sent;
    let after = cost.after_s.iter().copied().fold(0.0, f64::max);
    let time = f64::from(point.microbatches) * longest + fill + after;
    (time, memory(request, point))
}

/// On the stage that needs most.
fn memory(request: &Request, point: &Point) -> f64 {
    let layers = parts(request, point).unwrap_or_default();
    (0..point.pipeline).map(|stage| memory_on(request, point, &layers, stage)).fold(0.0, f64::max)
}

/// On a device of one stage.
pub fn memory_on(request: &Request, point: &Point, layers: &[u32], stage: u32) -> f64 {
    let (stages, chunks) = (f64::from(point.pipeline), f64::from(point.chunks));
    let number = f64::from(request.shape.number_bytes);
    let state = 2.0 * number + 12.0 / f64::from(point.data);
    let here: u32 = layers.iter().skip(stage as usize).step_by(point.pipeline as usize).sum();
    let ahead = stages - f64::from(stage);
    // 1F1B holds as many as there are stages behind; several parts make it a little more.
    let under_way = match point.chunks {
        1 => ahead,
        _ => (2.0 * (ahead - 1.0) + (chunks - 1.0) * stages + 1.0) / chunks,
    };
    let under_way = under_way.min(f64::from(point.microbatches));
    let layer = request.shape.layer();
    let each = if point.recompute { layer.handed_bytes } else { layer.kept_bytes };
    let again = if point.recompute { layer.kept_bytes } else { 0.0 };
    let head = if stage + 1 == point.pipeline { request.shape.head().kept_bytes } else { 0.0 };
    let kept = f64::from(here) * each * under_way + again + head;
    let tensor = f64::from(point.tensor);
    parameters(request, point, layers, stage) * state / tensor + kept * f64::from(point.micro_batch) / tensor
}

/// The same iteration, simulated to the last microbatch. Where there are more microbatches than can be simulated, what the
/// arithmetic says stays.
pub fn simulated(request: &Request, point: &Point) -> f64 {
    run(request, point, |_, _| ()).unwrap_or(point.iteration_s)
}

/// Simulates, and tells of every action by its stage. `None` where it is too much.
pub fn run(request: &Request, point: &Point, tell: impl FnMut(usize, Span)) -> Option<f64> {
    let schedule = super::told::schedule(point);
    let (stages, microbatches) = (point.pipeline as usize, point.microbatches as usize);
    if stages * microbatches * schedule.chunks() > MOST_ACTIONS {
        return None;
    }
    let cost = cost(request, point);
    let mut pipe = Pipe::even(stages, microbatches, schedule.chunks(), Times::default(), 0.0);
    pipe.parts.clone_from(&cost.parts);
    let orders = order(schedule, &pipe).ok()?;
    let sent = vec![(cost.send_s, cost.latency_s); cost.parts.len() - 1];
    let traffic = Traffic {
        groups: stages,
        microbatches,
        group_of: (0..cost.parts.len()).map(|part| schedule.device_of(part, stages)).collect(),
        parts: cost.parts,
        forward: sent.clone(),
        backward: sent,
        after_s: cost.after_s,
        splits: false,
    };
    traffic.run(&orders, tell)
}

/// The most actions of one simulation.
const MOST_ACTIONS: usize = 500_000;

/// The fastest first; of equals the smaller, then the simpler.
pub fn sort(points: &mut [Point]) {
    points.sort_by(|one, other| {
        let simple = |point: &Point| (point.pipeline, point.tensor, point.chunks, point.recompute);
        let by_time = one.iteration_s.total_cmp(&other.iteration_s);
        by_time.then(one.memory_bytes.total_cmp(&other.memory_bytes)).then(simple(one).cmp(&simple(other)))
    });
}

/// Those of which none is both faster and smaller, the fastest first.
pub fn pareto(points: &[Point]) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sort(&mut sorted);
    let mut least = f64::INFINITY;
    sorted.retain(|point| {
        let is_smaller = point.memory_bytes < least;
        least = least.min(point.memory_bytes);
        is_smaller
    });
    sorted
}
