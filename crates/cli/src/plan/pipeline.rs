//! `consort plan pipeline`: a network cut into stages, or a transformer by its sizes alone.

mod devices;
mod network;
mod picture;
mod text;

use crate::failure::{Failure, note};
use crate::names;
use crate::plan::shown::Shown;
use crate::screen::print;
use consort_parallel::Answer;
use consort_parallel::pipeline::schedule::Schedule;
use consort_parallel::pipeline::whole::{self, export};
use consort_parallel::pipeline::{layers, transformer};
use consort_types::file::read_error::InFile;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  consort plan pipeline vgg16.graph.txt --devices 8xv100 --bandwidth 10Gb/s
  consort plan pipeline vgg16.graph.txt --devices 4xa100,4xv100 --kind v100:speed=0.4 --batch 512 --minibatch 64
  consort plan pipeline vgg16.graph.txt --topology topology.yaml --picture plan.svg
  consort plan pipeline --layers 32 --hidden 4096 --heads 32 --sequence 4096 --batch 1024 \\
    --devices 64xh100
  consort plan pipeline --layers 80 --hidden 8192 --heads 64 --sequence 4096 --batch 512 \\
    --devices 128xa100 --as megatron

A profile has a line for every layer and for every edge, as PipeDream writes them:
  node1 -- Linear(4096, 4096) -- forward_compute_time=1.5, backward_compute_time=3.0, activation_size=8388608, parameter_size=67108864
  \tnode1 -- node2
Times are milliseconds of one minibatch on the first kind of device, sizes are bytes.";

/// Partition a network into pipeline stages: cuts, replication, schedule
///
/// Plans the training of a network on many devices: where to cut it into stages, how many replicas each stage has, how many
/// devices share a layer, what to recompute, and in which order stages run. Devices, memories and links may differ. Every
/// candidate is simulated; if data parallelism is best, that is the answer.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Profile of the network
    #[arg(value_name = "PROFILE", required_unless_present = "layers", conflicts_with = "layers")]
    profile: Option<PathBuf>,
    #[command(flatten)]
    sizes: network::Sizes,
    #[command(flatten)]
    devices: devices::Devices,
    /// Samples of one iteration; sequences for a transformer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
    /// Samples of one minibatch of the profile [default: the whole batch]
    #[arg(long, value_name = "N", requires_all = ["batch", "profile"], value_parser = clap::value_parser!(u64).range(1..))]
    minibatch: Option<u64>,
    /// Microbatches of one iteration [default: up to 64, as suits]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(whole::MOST_MICROBATCHES)))]
    microbatches: Option<u32>,
    /// gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, or best of all
    #[arg(long, value_name = "NAME", default_value = "best")]
    schedule: String,
    /// The most devices that share each layer; 1 for none
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    tensor: u32,
    /// Never compute forward again to save memory
    #[arg(long)]
    no_recompute: bool,
    /// Fit the order of the schedule to uneven stages; for `--as torch-csv`
    #[arg(long)]
    fit: bool,
    /// Plan data parallelism only
    #[arg(long)]
    data_parallel: bool,
    /// Bytes of weights, gradients and optimizer for a parameter, on every device that has it [default: 16; on devices that
    /// are alike, transformers share the optimizer among replicas]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    state: Option<f64>,
    /// Print for a framework: megatron, torch-csv, deepspeed or mesh
    #[arg(long = "as", value_name = "FORM", conflicts_with_all = ["picture", "json"])]
    form: Option<String>,
    #[command(flatten)]
    shown: Shown,
}

const FORMS: [&str; 4] = ["megatron", "torch-csv", "deepspeed", "mesh"];

/// Devices up to which arithmetic is held against the search over everything.
const SEARCHED: u32 = 256;

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.shown.check()?;
    if let Some(form) = &args.form
        && !FORMS.contains(&form.as_str())
    {
        return Err(names::unknown("form", form, FORMS));
    }
    let schedules = schedules(&args.schedule)?;
    let found = args.devices.found()?;
    match &args.profile {
        Some(path) => profiled(args, path, found, schedules),
        None => match found.alike() {
            // Devices that are alike: the arithmetic of every factorisation.
            Some(alike) if args.is_for_arithmetic(&schedules) => sized(args, found, &alike, schedules),
            _ => {
                let (answer, letters) = spread(args, found, schedules)?;
                shown(args, &answer, &letters)
            }
        },
    }
}

impl Args {
    /// Megatron's schedules, and nothing that only the search over everything knows.
    fn is_for_arithmetic(&self, schedules: &[Schedule]) -> bool {
        let known = |schedule: &Schedule| {
            matches!(schedule, Schedule::OneForwardOneBackward | Schedule::Interleaved { .. })
        };
        let is_best = schedules.len() == whole::SCHEDULES.len();
        let is_free = !self.fit && !self.no_recompute && self.state.is_none();
        (is_best || schedules.iter().all(known)) && is_free
    }

    /// Bytes for a parameter.
    fn state(&self) -> f64 {
        self.state.unwrap_or(16.0)
    }
}

/// Bytes for a parameter: a number from 0.
fn bytes(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| (0.0..=1e6).contains(number));
    number.ok_or_else(|| "expected a number of bytes, like 16".into())
}

fn schedules(name: &str) -> Result<Vec<Schedule>, Failure> {
    let known = whole::SCHEDULES.map(|schedule| (schedule.to_string(), schedule));
    match known.iter().find(|(known, _)| known == name) {
        Some((_, schedule)) => Ok(vec![*schedule]),
        None if name == "best" => Ok(whole::SCHEDULES.to_vec()),
        None => {
            Err(names::unknown("schedule", name, known.iter().map(|(name, _)| name.as_str()).chain(["best"])))
        }
    }
}

/// A network from a profile.
fn profiled(
    args: &Args,
    path: &std::path::Path,
    found: devices::Found,
    schedules: Vec<Schedule>,
) -> Result<(), Failure> {
    let name = path.display().to_string();
    let layers = layers::read(&super::shown::read(path)?).in_file(&name).map_err(crate::inputs::malformed)?;
    let mut request = whole::Request::new(layers, found.fabric, found.kinds);
    request.samples = args.batch;
    if let (Some(batch), Some(minibatch)) = (args.batch, args.minibatch) {
        request.minibatches = batch as f64 / minibatch as f64;
    }
    // A profile counts four bytes for a parameter.
    request.state_ratio = args.state() / 4.0;
    let refused = |refusal: whole::Refusal| Failure::Request(format!("{name}: {refusal}"));
    shown(args, &searched(args, request, schedules, found.assumed, refused)?, &[])
}

/// A transformer on unlike devices, or with what only the search over everything knows.
fn spread(
    args: &Args,
    found: devices::Found,
    schedules: Vec<Schedule>,
) -> Result<(Answer<whole::Plan>, Vec<char>), Failure> {
    let shape = args.sizes.shape()?;
    let batch = batch(args)?;
    let speed = args.sizes.speed(&found)?;
    let (layers, kept_bytes, letters) = shape.network(speed.operations_per_s);
    let mut request = whole::Request::new(layers, found.fabric, found.kinds);
    request.kept_bytes = kept_bytes;
    request.minibatches = batch as f64;
    request.samples = Some(batch);
    request.state_ratio = args.state() / f64::from(shape.number_bytes);
    let assumed = found.assumed.into_iter().chain(speed.assumed).collect();
    let refused = |refusal: whole::Refusal| Failure::Request(refusal.to_string());
    Ok((searched(args, request, schedules, assumed, refused)?, letters))
}

fn batch(args: &Args) -> Result<u64, Failure> {
    args.batch.ok_or_else(|| {
        Failure::request("missing argument: the sequences of one iteration", "give it with --batch")
    })
}

/// Searches over everything.
fn searched(
    args: &Args,
    mut request: whole::Request,
    schedules: Vec<Schedule>,
    assumed: Vec<String>,
    refused: impl Fn(whole::Refusal) -> Failure,
) -> Result<Answer<whole::Plan>, Failure> {
    request.schedules = schedules;
    // What a framework cannot run is not looked for.
    match args.form.as_deref() {
        Some("megatron") => request.schedules.retain(|it| !it.splits() && *it != Schedule::GPipe),
        Some("deepspeed") => request.schedules.retain(|it| !it.splits() && it.chunks() == 1),
        _ => (),
    }
    if let (true, Some(form)) = (request.schedules.is_empty(), &args.form) {
        return Err(Failure::request(
            format_args!("{form} does not run the schedule {}", args.schedule),
            "leave out --schedule, or choose another form",
        ));
    }
    if let Some(many) = args.microbatches {
        request.microbatches = whole::Microbatches::Exactly(many);
    }
    request.most_tensor = args.tensor;
    request.may_recompute = !args.no_recompute;
    request.may_fit = args.fit;
    request.only_data_parallel = args.data_parallel;
    let mut answer = whole::plan(&request).map_err(refused)?;
    answer.assumed.splice(0..0, assumed);
    Ok(answer)
}

/// Shows what was found, or prints it in the words of a framework.
fn shown(args: &Args, answer: &Answer<whole::Plan>, letters: &[char]) -> Result<(), Failure> {
    if let Some(form) = &args.form {
        advised(&answer.plan);
        return exported(form, &answer.plan, letters, args.batch);
    }
    let text = |screen: &_| text::plan(answer, &answer.plan, screen);
    args.shown.show("pipeline", answer, text, || picture::drawn(&answer.plan, answer.bound))
}

/// A transformer on devices that are alike: by arithmetic, and where any schedule will do also by the search, which knows
/// more of them. The faster is shown.
fn sized(
    args: &Args,
    found: devices::Found,
    alike: &devices::Alike,
    schedules: Vec<Schedule>,
) -> Result<(), Failure> {
    let shape = args.sizes.shape()?;
    let speed = args.sizes.speed(&found)?;
    let request = transformer::Request {
        shape,
        batch: batch(args)?,
        devices: alike.devices,
        per_host: alike.per_host,
        inside: found.fabric.island,
        between: found.fabric.levels[0].link,
        operations_per_s: speed.operations_per_s,
        memory_bytes: alike.memory_bytes,
        microbatches: args.microbatches,
        most_tensor: args.tensor,
        only_data_parallel: args.data_parallel,
        chunks: match (args.schedule.as_str(), args.form.as_deref()) {
            ("interleaved", _) => (2, 8),
            ("1f1b", _) | (_, Some("deepspeed")) => (1, 1),
            _ => (1, 8),
        },
    };
    let mut answer = transformer::plan(&request).map_err(|refusal| Failure::Request(refusal.to_string()))?;
    answer.assumed.splice(0..0, found.assumed.iter().cloned().chain(speed.assumed));
    let is_any = args.schedule == "best" && !matches!(args.form.as_deref(), Some("megatron" | "deepspeed"));
    // The search is for fleets that it gets through in a moment.
    if is_any
        && alike.devices <= SEARCHED
        && let Ok((mut other, letters)) = spread(args, found, schedules)
        && other.objective < answer.objective
    {
        // Both bounds hold for both.
        if answer.bound > other.bound {
            (other.bound, other.bound_by) = (answer.bound.min(other.objective), answer.bound_by);
        }
        return shown(args, &other, &letters);
    }
    let letters = shape.network(speed.operations_per_s).2;
    if let Some(form) = &args.form {
        advised(&answer.plan.whole);
        return exported(form, &answer.plan.whole, &letters, args.batch);
    }
    let text = |screen: &_| text::sized(&answer, screen);
    args.shown.show("pipeline", &answer, text, || picture::drawn(&answer.plan.whole, answer.bound))
}

/// What is printed for a framework has no room for advice; it goes to standard error.
fn advised(plan: &whole::Plan) {
    if plan.advice.contains("--data-parallel") {
        note(&format!("consort: {}", plan.advice));
    }
}

fn exported(form: &str, plan: &whole::Plan, letters: &[char], batch: Option<u64>) -> Result<(), Failure> {
    let written = match form {
        "megatron" => export::megatron(plan, letters, batch),
        "torch-csv" => export::torch_csv(plan),
        "deepspeed" => export::deepspeed(plan, batch),
        _ => export::mesh(plan),
    };
    print(&written.map_err(|misfit| Failure::Request(misfit.to_string()))?)
}
