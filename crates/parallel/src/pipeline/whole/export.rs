//! A plan in the words of those who run it: Megatron's flags, DeepSpeed's settings, a mesh of devices for PyTorch, and the
//! table of actions that `torch.distributed.pipelining` reads.
//!
//! None of them knows stages of unlike width or unlike shares of a batch, so that such a plan is refused rather than
//! rounded. What each cannot express is said in the text as a comment.

use super::Plan;
use crate::pipeline::schedule::{Pipe, Schedule, Times, csv, order};
use std::fmt;

/// Why a plan cannot be written so.
#[derive(Clone, Debug, PartialEq)]
pub enum Misfit {
    /// Stages differ in replicas or in how many devices share a layer.
    Unlike {
        /// In whose form.
        form: &'static str,
    },
    /// The layers are not those of a transformer: an embedding, equal layers, a loss.
    NoTransformer,
    /// There is nothing to order where there is one stage.
    OneStage,
    /// A schedule that it does not have.
    Schedule {
        /// In whose form.
        form: &'static str,
        /// Which.
        schedule: String,
    },
}

impl fmt::Display for Misfit {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Unlike { form } => write!(
                to,
                "{form} needs as many replicas in every stage and this plan has not; take --json, or plan for \
                 devices that are alike"
            ),
            Misfit::NoTransformer => write!(
                to,
                "a layout for Megatron is for transformers and these layers are none; give --layers and --hidden \
                 in place of a profile"
            ),
            Misfit::OneStage => {
                write!(to, "a plan of one stage has no order to write; use data parallel as it is")
            }
            Misfit::Schedule { form, schedule } => {
                write!(to, "{form} has no schedule {schedule}; ask for another with --schedule")
            }
        }
    }
}

impl std::error::Error for Misfit {}

/// Replicas and devices that share a layer, the same in every stage.
fn widths(plan: &Plan, form: &'static str) -> Result<(usize, usize), Misfit> {
    let first = plan.stages.first().map_or((1, 1), |stage| (stage.replicas, stage.tensor));
    let is_even = plan.stages.iter().all(|stage| (stage.replicas, stage.tensor) == first);
    let is_shared = plan.stages.iter().all(|stage| stage.shares.len() <= 1);
    match is_even && is_shared {
        true => Ok(first),
        false => Err(Misfit::Unlike { form }),
    }
}

/// Parts in the order of the network, each with the indices of its layers.
fn parts(plan: &Plan) -> Vec<Vec<usize>> {
    let mut parts: Vec<(usize, Vec<usize>)> = plan
        .stages
        .iter()
        .flat_map(|stage| stage.parts.iter().map(|part| (part.number, part.indices.clone())))
        .collect();
    parts.sort();
    parts.into_iter().map(|(_, indices)| indices).collect()
}

/// Megatron's layout: `E` the embedding, `t` a layer, `L` the loss, `|` between parts, `t*3` for three layers and `(tt|)*4` for
/// four parts alike.
pub fn layout(parts: &[Vec<char>]) -> String {
    let word = |part: &Vec<char>| {
        let mut text = String::new();
        let mut at = 0;
        while at < part.len() {
            let many = part[at..].iter().take_while(|letter| **letter == part[at]).count();
            match many {
                1 | 2 => (0..many).for_each(|_| text.push(part[at])),
                _ => text += &format!("{}*{many}", part[at]),
            }
            at += many;
        }
        text
    };
    let words: Vec<String> = parts.iter().map(word).collect();
    let mut text = String::new();
    let mut at = 0;
    while at < words.len() {
        let many = words[at..].iter().take_while(|word| **word == words[at]).count();
        let is_end = at + many == words.len();
        // The last part has no bar behind it, so that it stays out of a repetition.
        let repeated = if is_end { many - 1 } else { many };
        match repeated {
            0 => (),
            1 | 2 => (0..repeated).for_each(|_| text += &format!("{}|", words[at])),
            _ => text += &format!("({}|)*{repeated}", words[at]),
        }
        if is_end {
            text += &words[at];
        }
        at += many;
    }
    text
}

/// Flags for Megatron. `letters` has one letter for each layer of the network: `E`, `t` or `L`.
pub fn megatron(plan: &Plan, letters: &[char], batch: Option<u64>) -> Result<String, Misfit> {
    let (replicas, tensor) = widths(plan, "Megatron")?;
    let is_known = letters.iter().all(|letter| matches!(letter, 'E' | 't' | 'L'));
    let parts = parts(plan);
    if !is_known || letters.is_empty() || parts.iter().flatten().any(|&layer| layer >= letters.len()) {
        return Err(Misfit::NoTransformer);
    }
    let known = [None, Some(Schedule::OneForwardOneBackward)];
    if !known.contains(&plan.order) && !matches!(plan.order, Some(Schedule::Interleaved { .. })) {
        let schedule = plan.schedule.clone();
        return Err(Misfit::Schedule { form: "Megatron", schedule });
    }
    let mut flags = vec![
        format!("--tensor-model-parallel-size {tensor}"),
        format!("--pipeline-model-parallel-size {}", plan.stages.len()),
    ];
    if plan.stages.len() > 1 {
        let words: Vec<Vec<char>> =
            parts.iter().map(|part| part.iter().map(|&layer| letters[layer]).collect()).collect();
        flags.push(format!("--pipeline-model-parallel-layout \"{}\"", layout(&words)));
    }
    if let Some(batch) = batch {
        let each = batch / (plan.microbatches as u64 * replicas as u64).max(1);
        flags.push(format!("--micro-batch-size {}", each.max(1)));
        flags.push(format!("--global-batch-size {batch}"));
    }
    if replicas > 1 {
        // The memory of the plan counts on it.
        flags.push("--use-distributed-optimizer".into());
    }
    if tensor > 1 {
        flags.push("--sequence-parallel".into());
    }
    if plan.stages.iter().any(|stage| stage.recompute) {
        // Megatron repeats in every stage or in none.
        flags.push("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1".into());
    }
    Ok(flags.join(" \\\n") + "\n")
}

/// Settings for DeepSpeed: batch sizes, and where stages begin in its list of layers.
pub fn deepspeed(plan: &Plan, batch: Option<u64>) -> Result<String, Misfit> {
    let (replicas, tensor) = widths(plan, "DeepSpeed")?;
    if plan.chunks > 1 || plan.order.is_some_and(Schedule::splits) {
        return Err(Misfit::Schedule { form: "DeepSpeed", schedule: plan.schedule.clone() });
    }
    let mut bounds = vec![0];
    for part in parts(plan) {
        bounds.push(bounds[bounds.len() - 1] + part.len());
    }
    let mut settings = serde_json::json!({
        "gradient_accumulation_steps": plan.microbatches,
        "pipeline": { "stages": plan.stages.len(), "partition_boundaries": bounds },
    });
    if replicas > 1 {
        settings["zero_optimization"] = serde_json::json!({ "stage": 1 });
    }
    if tensor > 1 {
        settings["tensor_parallel"] = serde_json::json!({ "autotp_size": tensor });
    }
    if plan.stages.iter().any(|stage| stage.recompute) {
        settings["pipeline"]["activation_checkpoint_interval"] = 1.into();
    }
    if let Some(batch) = batch {
        let each = (batch / (plan.microbatches * replicas).max(1) as u64).max(1);
        settings["train_batch_size"] = batch.into();
        settings["train_micro_batch_size_per_gpu"] = each.into();
    }
    // Plain data cannot fail to be written.
    Ok(serde_json::to_string_pretty(&settings).unwrap_or_default() + "\n")
}

/// A mesh of devices for FSDP and tensor parallelism in PyTorch, outermost first.
pub fn mesh(plan: &Plan) -> Result<String, Misfit> {
    let (replicas, tensor) = widths(plan, "a device mesh")?;
    let sizes = (plan.stages.len(), replicas, tensor);
    let mut text = format!(
        "mesh = init_device_mesh(\"cuda\", ({}, {}, {}), mesh_dim_names=(\"pp\", \"dp\", \"tp\"))\n",
        sizes.0, sizes.1, sizes.2
    );
    for (number, stage) in plan.stages.iter().enumerate() {
        // Long lists are for --json.
        let named = match &stage.devices[..] {
            [first, .., last] if stage.devices.len() > 16 => format!("{first} ... {last}"),
            all => all.join(" "),
        };
        text += &format!("# pp={number}: {named}\n");
    }
    Ok(text)
}

/// The table of actions for `torch.distributed.pipelining`.
pub fn torch_csv(plan: &Plan) -> Result<String, Misfit> {
    let schedule = plan.order.ok_or(Misfit::OneStage)?;
    // A fitted order is what was simulated, and that is in the spans.
    if plan.spans.len() == plan.stages.len() {
        let actions = plan.spans.iter().map(|spans| spans.iter().map(|span| span.action).collect());
        return Ok(csv::write(&actions.collect::<Vec<_>>()));
    }
    let pipe = Pipe::even(plan.stages.len(), plan.microbatches, schedule.chunks(), Times::default(), 0.0);
    order(schedule, &pipe).map(|orders| csv::write(&orders)).map_err(|_| Misfit::OneStage)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{chain, fabric, kind};
    use super::super::{Microbatches, Request, plan};
    use super::*;

    #[test]
    fn a_layout_repeats_what_is_alike() {
        let parts = |words: &[&str]| words.iter().map(|word| word.chars().collect()).collect::<Vec<_>>();
        assert_eq!(layout(&parts(&["Ettt", "tt", "tt", "tt", "tt", "L"])), "Et*3|(tt|)*4L");
        assert_eq!(layout(&parts(&["Et", "tL"])), "Et|tL");
        assert_eq!(layout(&parts(&["t", "t", "t", "t"])), "(t|)*3t");
        assert_eq!(layout(&parts(&["EttttL"])), "Et*4L");
    }

    fn piped(schedule: Schedule) -> super::super::Plan {
        let request = Request {
            microbatches: Microbatches::Exactly(8),
            schedules: vec![schedule],
            most_tensor: 1,
            ..Request::new(
                chain(&[(1.0, 1.0, 1000.0); 8]),
                fabric(&[(4, "a")], 100.0, 1.0),
                vec![kind("a", 1.0, 1e9)],
            )
        };
        plan(&request).unwrap().plan
    }

    #[test]
    fn flags_name_every_size() {
        let plan = piped(Schedule::OneForwardOneBackward);
        let letters: Vec<char> = "EttttttL".chars().collect();
        let flags = megatron(&plan, &letters, Some(16)).unwrap();
        assert!(flags.contains("--pipeline-model-parallel-size 4"), "{flags}");
        assert!(flags.contains("--pipeline-model-parallel-layout \"Et|tt|tt|tL\""), "{flags}");
        assert!(flags.contains("--micro-batch-size 2"), "{flags}");
        assert!(deepspeed(&plan, Some(16)).unwrap().contains("\"train_micro_batch_size_per_gpu\": 2"));
        assert!(mesh(&plan).unwrap().starts_with("mesh = init_device_mesh(\"cuda\", (4, 1, 1)"));
        assert_eq!(torch_csv(&plan).unwrap().lines().count(), 4);
        assert_eq!(megatron(&plan, &[], None), Err(Misfit::NoTransformer));
    }

    #[test]
    fn schedules_that_others_do_not_have_are_refused() {
        let plan = piped(Schedule::ZeroBubbleH1);
        let letters: Vec<char> = "EttttttL".chars().collect();
        assert!(megatron(&plan, &letters, None).unwrap_err().to_string().contains("no schedule zb-h1"));
        assert!(torch_csv(&plan).unwrap().contains('W'));
    }
}
