//! `consort plan sync`: how often to exchange gradients, and in what form.

pub mod flags;
mod said;

use crate::failure::Failure;
use crate::inputs::malformed;
use crate::plan::shown::{Shown, read};
use crate::screen::print;
use consort_parallel::Answer;
use consort_parallel::fabric::Link;
use consort_parallel::straggler::{self, Prices, Verdict, Watched, Worker};
use consort_parallel::sync::{self, Plan, Situation, local::Loss};
use consort_types::file::read_error::InFile;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  consort plan sync --workers 16 --compute 120ms --gradients 400MB --bandwidth 10Gb/s
  consort plan sync --workers 64 --compute 300ms --gradients 2.6GB --bandwidth 400Gb/s --spread 10%
  consort plan sync --times times.csv --gradients 400MB --bandwidth 25Gb/s --spares 1
  consort plan sync --workers 16 --compute 120ms --gradients 400MB --bandwidth 1Gb/s --as torch

A table of times has a column for each worker and a row for each round, or the columns worker, own_s and, where known, round,
communication_s, temperature_c, clock and throttled. Own time is that without waiting for others.";

/// Choose how often and in what form to exchange gradients; find stragglers
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number of workers [default: those of --times]
    #[arg(long, value_parser = flags::whole::<u32>)]
    workers: Option<u32>,
    /// Time of forward and backward in one round, without waiting [default: mean of the slowest of --times]
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    compute: Option<f64>,
    /// Backward part of it [default: two thirds]
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    backward: Option<f64>,
    /// Size of all gradients, at four bytes per entry: 400MB
    #[arg(long, value_name = "SIZE", value_parser = flags::size)]
    gradients: u64,
    /// Rows, columns and count of gradients: 1024x4096x24; may be repeated
    #[arg(long, value_name = "ROWSxCOLUMNS[xCOUNT]", value_parser = flags::shape)]
    shape: Vec<(u64, u64, u32)>,
    /// Bandwidth between any two workers: 10Gb/s, 50GB/s
    #[arg(long, value_name = "SPEED", value_parser = flags::speed)]
    bandwidth: f64,
    /// Latency between any two workers
    #[arg(long, value_name = "TIME", value_parser = flags::time, default_value = "20us")]
    latency: f64,
    /// Parameter servers that could be used
    #[arg(long, default_value_t = 0, value_parser = flags::whole::<u32>)]
    servers: u32,
    /// Variation of a worker's time from round to round: 10% [default: that of --times]
    #[arg(long, value_name = "PART", value_parser = flags::part)]
    spread: Option<f64>,
    /// CSV table of the workers' own times; also finds stragglers
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// The gradient noise scale over the global batch, if measured
    #[arg(long, value_name = "RATIO", value_parser = flags::ratio)]
    noise_scale: Option<f64>,
    /// Loss at the start and now, for the number of local rounds: 2.3,0.6
    #[arg(long, value_name = "FIRST,NOW", value_parser = flags::two)]
    loss: Option<(f64, f64)>,
    /// Local rounds at the start; with --loss
    #[arg(long, value_name = "ROUNDS", default_value_t = 16, value_parser = flags::whole::<u64>)]
    first_rounds: u64,
    /// Measured error of a method: powersgd-4=0.6; may be repeated
    #[arg(long, value_name = "WAY=ERROR", value_parser = flags::measured)]
    error: Vec<(String, f64)>,
    /// Speed at which a device reads all its gradients once
    #[arg(long, value_name = "SPEED", value_parser = flags::speed, default_value = "500GB/s")]
    coding: f64,
    /// Rounds left; with --times
    #[arg(long, value_name = "ROUNDS", default_value_t = 10_000, value_parser = flags::whole::<u64>)]
    rounds_left: u64,
    /// Spare nodes; with --times
    #[arg(long, default_value_t = 0, value_parser = flags::whole::<u32>)]
    spares: u32,
    /// Show all options, not only the best of each kind
    #[arg(long)]
    all: bool,
    /// Print for a framework
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: Option<Form>,
    #[command(flatten)]
    shown: Shown,
}

/// Frameworks.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Form {
    /// PyTorch
    Torch,
}

/// The plan, and who holds up the others where times were given.
#[derive(Serialize)]
struct Both {
    #[serde(flatten)]
    plan: Plan,
    #[serde(skip_serializing_if = "Option::is_none")]
    stragglers: Option<Answer<Verdict>>,
}

/// The command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.shown.check()?;
    let workers = match &args.times {
        Some(path) => {
            straggler::read(&read(path)?).in_file(&path.display().to_string()).map_err(malformed)?
        }
        None => vec![],
    };
    let situation = situation(args, &workers)?;
    let mut answer = sync::plan(&situation).map_err(|refusal| Failure::Request(refusal.to_string()))?;
    if args.times.is_some() {
        // The table of workers stands above what was assumed.
        let sentence =
            "workers stay as fast as they were; what moving or rebalancing would gain is shown above";
        answer.assumed.insert(0, sentence.into());
    }
    let stragglers = match &args.times {
        Some(path) => Some(
            judge(args, workers)
                .map_err(|refusal| Failure::Request(format!("{}: {refusal}", path.display())))?,
        ),
        None => None,
    };
    if let Some(Form::Torch) = args.form {
        let option = answer.plan.options.iter().find(|option| option.option == answer.plan.chosen);
        return print(&(said::comment(&answer.plan, option) + &sync::torch(answer.plan.way)));
    }
    let both = answer.map(|plan| Both { plan, stragglers });
    args.shown.show(
        "sync",
        &both,
        |screen| said::text(screen, &both, args.all),
        || said::drawn(&both, args.all),
    )
}

fn situation(args: &Args, workers: &[Worker]) -> Result<Situation, Failure> {
    let habits = straggler::habits(workers);
    if let (Some(path), None) = (&args.times, &habits) {
        return Err(Failure::Request(format!("{}: {}", path.display(), straggler::Refusal::NothingMeasured)));
    }
    let slowest_s = habits.as_ref().map(|habits| habits.slowest_s);
    let count = args.workers.or((!workers.is_empty()).then_some(workers.len() as u32));
    let missing = |what: &str, like: &str| {
        Failure::request(
            format_args!("missing argument: {what}"),
            format_args!("give {like}, or a table with --times"),
        )
    };
    let count = count.ok_or_else(|| missing("the number of workers", "it with --workers 16"))?;
    let compute = args.compute.or(slowest_s);
    let compute = compute.ok_or_else(|| missing("the time of a round", "it with --compute 120ms"))?;
    let link = Link { bandwidth: args.bandwidth, latency_s: args.latency };
    let backward = args.backward.unwrap_or(compute * 2.0 / 3.0);
    let mut situation = Situation::new(count, compute, backward, args.gradients as f64, link);
    situation.shapes = args
        .shape
        .iter()
        .flat_map(|&(rows, columns, count)| std::iter::repeat_n((rows, columns), count as usize))
        .collect();
    situation.servers = args.servers;
    situation.spread = args.spread.unwrap_or(0.0);
    // Where a spread is given, it stands for what was measured.
    situation.times = habits.filter(|_| args.spread.is_none()).map_or(vec![], |habits| habits.variation);
    situation.noise = args.noise_scale;
    situation.coding = args.coding;
    situation.measured = args.error.clone();
    situation.loss =
        args.loss.map(|(first, now)| Loss { first, now, first_rounds: args.first_rounds, rate: 1.0 });
    Ok(situation)
}

fn judge(args: &Args, workers: Vec<Worker>) -> Result<Answer<Verdict>, straggler::Refusal> {
    let prices = Prices { spares: args.spares, ..Prices::default() };
    straggler::judge(&Watched { workers, rounds_left: args.rounds_left, prices })
}
