//! A plan for a transformer of which only sizes are known: data, tensor and pipeline parallelism for devices that are all
//! alike.
//!
//! Every factorisation `data * tensor * pipeline` of the devices is looked at, with every number of parts on each stage, every
//! size of a microbatch and with and without recomputation: a few thousand points. Each is judged by the arithmetic that
//! Megatron's authors published (2021, 2022), and what may be best is simulated to the last microbatch. What comes back is
//! the fastest that fits, and all points of which none is both faster and smaller.
//!
//! **Simplifies.** A device reaches the same part of its printed speed in every layer and for every microbatch; gradients are
//! exchanged after the last backward; the optimizer is shared by replicas and takes no time. **Does badly** for short sequences
//! and narrow layers, which do not reach that part, and for experts, which it does not know.

mod figures;
mod points;
mod refusal;
mod told;

pub use figures::{Figures, Shape, known, names};
pub use points::Point;
pub use refusal::Refusal;

use crate::Answer;
use crate::fabric::Link;
use crate::pipeline::whole;
use serde::Serialize;

/// What is to be planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// The transformer.
    pub shape: Shape,
    /// Sequences in one iteration.
    pub batch: u64,
    /// Devices.
    pub devices: u32,
    /// Devices of one host, which the inner link joins.
    pub per_host: u32,
    /// Inside a host.
    pub inside: Link,
    /// Between hosts, for a host in all.
    pub between: Link,
    /// Operations a second that a device reaches.
    pub operations_per_s: f64,
    /// Memory of a device.
    pub memory_bytes: f64,
    /// So many microbatches and no others.
    pub microbatches: Option<u32>,
    /// The most devices that share a layer.
    pub most_tensor: u32,
    /// Plan data parallelism and nothing else.
    pub only_data_parallel: bool,
    /// The fewest and the most parts on each stage, where there is more than one stage.
    pub chunks: (u32, u32),
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The fastest that fits.
    pub best: Point,
    /// One for each part, in the order of the network: how many layers it has.
    pub layers: Vec<u32>,
    /// The part of the reached speed that is not lost to communication and waiting.
    pub efficiency: f64,
    /// Points of which none is both faster and smaller, the fastest first.
    pub pareto: Vec<Point>,
    /// The fastest that fits, as every other plan.
    #[serde(flatten)]
    pub whole: whole::Plan,
}

/// Plans.
pub fn plan(request: &Request) -> Result<Answer<Plan>, Refusal> {
    refusal::check(request)?;
    let points = points::all(request);
    let tried = points.len() as u64;
    let mut fitting: Vec<Point> =
        points.iter().filter(|point| point.memory_bytes <= request.memory_bytes).copied().collect();
    if fitting.is_empty() {
        let least = points.iter().map(|point| point.memory_bytes).fold(f64::INFINITY, f64::min);
        return Err(match least.is_finite() {
            true => Refusal::Memory { needed: least, has: request.memory_bytes },
            false => match request.microbatches {
                Some(asked) if request.only_data_parallel => {
                    Refusal::Replicas { asked, batch: request.batch, devices: request.devices }
                }
                Some(asked) => Refusal::Microbatches { asked, batch: request.batch },
                None => Refusal::NoFactors { devices: request.devices, batch: request.batch },
            },
        });
    }
    points::sort(&mut fitting);
    // By the arithmetic first; what is near the best is then simulated.
    let near = fitting.iter().position(|point| point.iteration_s > fitting[0].iteration_s * NEAR);
    let mut first: Vec<Point> = fitting[..near.unwrap_or(fitting.len()).min(SIMULATED)].to_vec();
    first.iter_mut().for_each(|point| point.iteration_s = points::simulated(request, point));
    points::sort(&mut first);
    let best = first[0];
    let mut pareto = points::pareto(&points);
    pareto.iter_mut().for_each(|point| point.iteration_s = points::simulated(request, point));
    pareto.push(best);
    let pareto = points::pareto(&pareto);
    let alone = fitting.iter().find(|point| point.tensor == 1 && point.pipeline == 1);
    let data_parallel_s = alone.map(|point| points::simulated(request, point));
    let one_s = request.shape.operations() / request.operations_per_s;
    let work_s = one_s * request.batch as f64 / f64::from(request.devices);
    // A sequence passes through all layers, forward and back, and at each no more devices share it than may.
    let path_s = one_s / f64::from(request.most_tensor.min(request.per_host).max(1));
    let (bound, bound_by) = match work_s >= path_s {
        true => (work_s, "operations over speed"),
        false => (path_s, "the way of one sequence"),
    };
    let plan = Plan {
        best,
        layers: points::parts(request, &best).unwrap_or_default(),
        efficiency: work_s / best.iteration_s,
        pareto,
        whole: told::whole(request, &best, data_parallel_s),
    };
    Ok(Answer {
        plan,
        objective: best.iteration_s,
        unit: "s",
        bound: bound.min(best.iteration_s),
        bound_by: bound_by.into(),
        assumed: assumed(),
        tried,
    })
}

/// Points within so much of the best by arithmetic are simulated.
const NEAR: f64 = 1.25;

/// No more than so many.
const SIMULATED: usize = 64;

fn assumed() -> Vec<String> {
    vec![
        "weights and gradients take 2 bytes for a parameter each (4 in fp32), the optimizer 12, shared by replicas".into(),
        "a layer keeps 34 bytes for each word and unit of width at 2 bytes a number; the attention matrix is not kept".into(),
        "gradients are exchanged after the last backward; a device is as fast in every layer".into(),
    ]
}

#[cfg(test)]
mod tests;
