//! `consort plan split`: a global batch over unlike devices.

use crate::failure::Failure;
use crate::inputs::malformed;
use crate::numbers::{decimal, percent, thousands};
use crate::plan::shown::{Shown, read};
use crate::plan::sync::flags::{part, whole};
use crate::screen::{Screen, print_json};
use crate::table::Table;
use consort_parallel::Answer;
use consort_parallel::split::{self, Idle, Part, Plan, Previous, Request};
use consort_report::numbers::brief;
use consort_report::picture::{self, Stacks};
use consort_types::file::read_error::InFile;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  consort plan split --batch 256 --device a100:fixed=6.8ms,sample=0.49ms --device t4:sample=2.1ms
  consort plan split --batch 256 --device a100:sample=0.5ms,max=128 --device t4:sample=2ms,count=2
  consort plan split devices.yaml --tail --picture split.svg
  consort plan split devices.yaml --as weights

A device is NAME:KEY=VALUE,... with the keys sample (time per sample), fixed (time per micro-batch of any size), max or
memory, base and per-sample (the largest micro-batch), efficient (the largest one that pays off), spread (variation of its
time, like 5%) and count. A file has the same: `batch: 256` and `devices:`, a list of {name: ..., ...}.";

/// Split a global batch over heterogeneous devices, with the weight of each device's gradients
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Batch file (.yaml) with batch and devices
    file: Option<PathBuf>,
    /// Samples of one update, over all devices
    #[arg(long, value_name = "SAMPLES", value_parser = whole::<u64>)]
    batch: Option<u64>,
    /// Device, or several of a kind; may be repeated
    #[arg(long, value_name = "NAME:KEY=VALUE,...")]
    device: Vec<String>,
    /// Micro-batches that a device may accumulate per update
    #[arg(long, value_name = "TIMES", value_parser = whole::<u32>)]
    accumulate: Option<u32>,
    /// Whether devices may go without samples
    #[arg(long, value_enum)]
    idle: Option<Wish>,
    /// Minimize the expected time of the slowest device, if times vary
    #[arg(long)]
    tail: bool,
    /// Current samples of each device, to stay close to: 40,60,28
    #[arg(long, value_delimiter = ',', value_name = "SAMPLES,...", value_parser = whole::<u64>)]
    previous: Vec<u64>,
    /// Largest change of a device's samples in one step, as a share; with --previous
    #[arg(long, value_name = "PART", default_value = "10%", value_parser = part)]
    most_change: f64,
    /// Print for a program: batch and weight of each rank as JSON
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: Option<Form>,
    #[command(flatten)]
    shown: Shown,
}

/// Whether devices may go without samples.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Wish {
    /// Every device gets at least one
    Never,
    /// A device gets none where the others are faster without it
    Faster,
    /// As above, even if there are fewer samples than devices
    Allowed,
}

/// Forms for programs.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Form {
    /// Batch and weight of each rank
    Weights,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.shown.check()?;
    let request = request(args)?;
    let answer = split::plan(&request).map_err(|refusal| Failure::Request(refusal.to_string()))?;
    if let Some(Form::Weights) = args.form {
        return print_json(&weights(&answer.plan));
    }
    args.shown.show("split", &answer, |screen| text(screen, &answer), || drawn(&request, &answer))
}

fn request(args: &Args) -> Result<Request, Failure> {
    let mut request = match &args.file {
        Some(path) => split::read(&read(path)?).in_file(&path.display().to_string()).map_err(malformed)?,
        None => Request {
            batch: 0,
            devices: vec![],
            idle: Idle::default(),
            accumulate: 1,
            tail: false,
            previous: None,
        },
    };
    for device in &args.device {
        request.devices.extend(split::device(device).in_file("--device").map_err(malformed)?);
    }
    match args.batch {
        Some(batch) => request.batch = batch,
        None if request.batch == 0 => {
            return Err(Failure::request("missing batch", "give it with --batch, such as --batch 256"));
        }
        None => {}
    }
    request.accumulate = args.accumulate.unwrap_or(request.accumulate);
    request.tail |= args.tail;
    request.idle = match args.idle {
        Some(Wish::Never) => Idle::Never,
        Some(Wish::Faster) => Idle::WhenFaster,
        Some(Wish::Allowed) => Idle::Freely,
        None => request.idle,
    };
    if !args.previous.is_empty() {
        let batches = args.previous.clone();
        request.previous = Some(Previous { batches, most_change: args.most_change, least_gain: 0.02 });
    }
    Ok(request)
}

/// What a sampler and a loss need, by rank.
#[derive(Serialize)]
struct Weights<'a> {
    batch: u64,
    ranks: Vec<Rank<'a>>,
}

#[derive(Serialize)]
struct Rank<'a> {
    rank: usize,
    device: &'a str,
    batch: u64,
    micro_batch: u64,
    times: u64,
    /// Multiply the mean loss by it where gradients are averaged over ranks.
    weight: f64,
    /// Multiply the mean loss by it where gradients are added up.
    share: f64,
}

fn weights(plan: &Plan) -> Weights<'_> {
    let ranks = plan.parts.iter().enumerate().map(|(rank, part)| Rank {
        rank,
        device: &part.device,
        batch: part.batch,
        micro_batch: part.micro_batch,
        times: part.times,
        weight: part.weight,
        share: part.share,
    });
    Weights { batch: plan.batch, ranks: ranks.collect() }
}

fn text(screen: &Screen, answer: &Answer<Plan>) -> String {
    let plan = &answer.plan;
    let parts = &plan.parts;
    let mut table = Table::default();
    table.long_text("device", 8, parts.iter().map(|part| part.device.clone()));
    table.numbers("batch", 0, parts.iter().map(|part| thousands(part.batch)));
    table.numbers("weight", 0, parts.iter().map(|part| decimal(part.weight, 4)));
    if parts.iter().any(|part| part.times > 1) {
        let taken = |part: &Part| format!("{} x {}", part.times, thousands(part.micro_batch));
        table.numbers("accumulation", 1, parts.iter().map(taken));
    }
    table.numbers("time", 1, parts.iter().map(|part| brief(part.time_s)));
    table.numbers("idle", 2, parts.iter().map(|part| brief(part.idle_s)));
    let mut text = table.show(screen) + "\n";
    text += &format!("step      {}, the slowest of {}\n", brief(plan.step_s), parts.len());
    if plan.expected_s > plan.step_s * (1.0 + 1e-9) {
        text += &format!("expected  {} until the last is done, as devices vary\n", brief(plan.expected_s));
    }
    text += &format!(
        "bound     {}, {}: at most {} away from the best\n",
        brief(answer.bound),
        answer.bound_by,
        percent(answer.gap())
    );
    text += &match plan.gain {
        Some(gain) if gain > 0.0005 => {
            format!("even      {}: this split is {} faster\n", brief(plan.even.step_s), percent(gain))
        }
        Some(_) => format!("even      {}: an even split does as well\n", brief(plan.even.step_s)),
        None => "even      an even split does not fit\n".into(),
    };
    text + "weight    multiply each device's mean loss by it: gradients are averaged over all devices\n"
}

fn drawn(request: &Request, answer: &Answer<Plan>) -> String {
    let bar = |(device, part): (&split::Device, &Part)| {
        let fixed = device.fixed_s * part.times as f64;
        (part.device.clone(), vec![(0, fixed), (1, (part.time_s - fixed).max(0.0)), (2, part.idle_s)])
    };
    picture::stacks(&Stacks {
        title: format!(
            "A batch of {} over {} devices",
            thousands(answer.plan.batch),
            answer.plan.parts.len()
        ),
        bars: request.devices.iter().zip(&answer.plan.parts).map(bar).collect(),
        groups: ["fixed", "samples", "waiting"].map(String::from).to_vec(),
        mark: Some((answer.bound, "bound".into())),
    })
}
